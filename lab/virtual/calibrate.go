package virtual

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"gapless/analysis"
)

// Calibration counts what the judge said of random deploys beside what was true.
type Calibration struct {
	Deploys  int
	Verdicts map[analysis.VerdictState]int // of no-user-failure-caused
	// Wrong lists statements that must never be made, by seed.
	Wrong []string
	// Misjudged counts disproved claims "caused by the deploy" where failures
	// happened, but none that the deploy caused: they lay where its stops were.
	Misjudged int
	// Unnoticed counts supported claims about users where a failure happened whose
	// log object was lost without a trace, and no probe was there to miss in it.
	Unnoticed int
	Deciles   [10]Decile
	// Shares are the same for every fourth deploy judged once more without any record of
	// which target served which request, so that targets' shares must do.
	Shares [10]Decile
	// Longest are the outages of just the length that was told as the longest to be missed
	// with a chance of 5 % or more, where there is room for a longer one.
	Longest Decile
}

// placements is how many outages of each length are placed at random into the time
// in rotation of each target.
const placements = 100

// Decile compares predicted and observed chances of missing a failure window.
//
// Two things are compared. Drawn placements are what would really happen, with the
// chance of the draw in it. The mean over all placements has no draw in it: what is
// left is how far the judge's idea of the gaps and of the time in rotation is from the
// truth. Windows of one deploy share their gaps and their edges, so they are no
// independent trials of either: both standard errors are taken between deploys.
type Decile struct {
	Windows       int     // each a target, a length of outage and a deploy
	Drawn, Missed int     // placements
	Predicted     float64 // sum over windows
	Exact         float64 // sum over windows of the share of all placements that are missed
	drawnSquares  float64 // sum over deploys of (Σ missed share − predicted)²
	exactSquares  float64 // sum over deploys of (Σ exact − predicted)²
}

// add counts what one deploy brought.
func (d *Decile) add(of Decile) {
	d.Windows += of.Windows
	d.Drawn += of.Drawn
	d.Missed += of.Missed
	d.Predicted += of.Predicted
	d.Exact += of.Exact
	drawn, exact := of.missed()-of.Predicted, of.Exact-of.Predicted
	d.drawnSquares += drawn * drawn
	d.exactSquares += exact * exact
}

// missed is the number of windows that were missed, as the drawn placements have it.
func (d *Decile) missed() float64 { return float64(d.Missed) / placements }

// Calibrate judges n random deploys from a seed on, each without knowing its truth.
func Calibrate(seed uint64, n int) *Calibration {
	c := &Calibration{Verdicts: map[analysis.VerdictState]int{}}
	for i := range n {
		c.judge(seed + uint64(i))
	}
	return c
}

func (c *Calibration) judge(seed uint64) {
	w := NewWorld(seed)
	o, seen := w.Observe()
	r := analysis.Judge(o)
	c.Deploys++
	claims := map[string]analysis.Claim{}
	for _, claim := range r.Claims {
		claims[claim.ID] = claim
	}
	caused, literal := claims[analysis.ClaimNoUserFailureCaused], claims[analysis.ClaimNoUserFailure]
	c.Verdicts[caused.State]++
	failures, byDeploy := w.Failures(analysis.ClassUser)
	wrong := func(format string, args ...any) {
		c.Wrong = append(c.Wrong, fmt.Sprintf("seed %d: ", seed)+fmt.Sprintf(format, args...))
	}
	if literal.State == analysis.Supported && seen.UserFailures > 0 {
		wrong("%s supported with %d failures in the evidence", literal.ID, seen.UserFailures)
	}
	if caused.State == analysis.Supported && seen.CausedFailures > 0 {
		wrong("%s supported with %d failures of the deploy in the evidence", caused.ID, seen.CausedFailures)
	}
	for _, claim := range []analysis.Claim{caused, literal} {
		if claim.State == analysis.Supported && seen.UserBlind {
			wrong("%s supported while the access log was blind", claim.ID)
		}
		if claim.State == analysis.Disproved && failures == 0 {
			wrong("%s disproved without a failure", claim.ID)
		}
	}
	probeFailures, _ := w.Failures(analysis.ClassProbe)
	if claim := claims[analysis.ClaimNoProbeFailure]; claim.State == analysis.Disproved && probeFailures == 0 {
		wrong("%s disproved without a failure", claim.ID)
	}
	if claim := claims[analysis.ClaimNoProbeFailure]; claim.State == analysis.Supported && math.Min(seen.ProberDead[1], w.Seconds)-math.Max(seen.ProberDead[0], w.Start) > 0.81 { // three intervals are allowed, one of them begun
		wrong("%s supported while the prober was dead", claim.ID)
	}
	if caused.State == analysis.Disproved && byDeploy == 0 && failures > 0 {
		c.Misjudged++
	}
	if literal.State == analysis.Supported && failures > 0 {
		c.Unnoticed++
	}
	c.place(w, o, r, seed)
}

// place puts total outages of each stated length into the time in which a target was
// in rotation, at random and everywhere, and sees whether any probe request met them.
func (c *Calibration) place(w *World, o analysis.Observations, r analysis.Report, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	sent := map[string][]float64{} // by the target that served it, in order
	served := map[int]string{}
	for _, h := range o.Handled {
		served[h.Seq] = h.Target
	}
	for _, p := range o.Probes {
		if target, ok := served[p.Seq]; ok {
			sent[target] = append(sent[target], p.Sent.Sub(w.Zero).Seconds())
		}
	}
	var longest Decile
	for _, d := range r.Detection {
		if d.Phase == "" && d.Requests >= 2 && d.LongestMissed != nil {
			longest.place(random, w.rotation(d.Target), sent[d.Target], *d.LongestMissed/1e3, 0.05)
		}
	}
	c.Longest.add(longest)
	own := placeAll(random, w, r, sent)
	for i := range own {
		c.Deciles[i].add(own[i])
	}
	if seed%4 > 0 {
		return
	}
	o.Service.AppLogs, o.Handled = nil, nil
	own = placeAll(random, w, analysis.Judge(o), sent)
	for i := range own {
		c.Shares[i].add(own[i])
	}
}

// placeAll places outages of each stated length, by the decile of their predicted chance.
func placeAll(random *rand.Rand, w *World, r analysis.Report, sent map[string][]float64) (own [10]Decile) {
	for _, d := range r.Detection {
		if d.Phase != "" || d.Requests < 2 {
			continue
		}
		for _, m := range d.Miss {
			own[min(int(m.Probability*10), 9)].place(random, w.rotation(d.Target), sent[d.Target], m.WindowMS/1e3, m.Probability)
		}
	}
	return own
}

// place counts what becomes of outages of one length that are missed with a predicted
// chance.
func (d *Decile) place(random *rand.Rand, spans []stretch, sent []float64, length, predicted float64) {
	exact, ok := missedShare(spans, sent, length)
	if !ok {
		return
	}
	d.Windows++
	d.Predicted += predicted
	d.Exact += exact
	for range placements {
		from := draw(random, spans, length)
		next, _ := slices.BinarySearch(sent, from)
		d.Drawn++
		if next == len(sent) || sent[next] >= from+length {
			d.Missed++
		}
	}
}

// stretch is a time in seconds after a world's beginning, half-open.
type stretch struct{ from, to float64 }

// rotation is a target's time in rotation, which is known by traffic alone: until
// the last request that it served before its stop, and from the first one after.
func (w *World) rotation(name string) []stretch {
	i := slices.IndexFunc(w.Targets, func(t target) bool { return t.name == name })
	if i < 0 {
		return nil
	}
	t := w.Targets[i]
	if math.IsNaN(t.stop) {
		return []stretch{{0, w.Seconds}}
	}
	gone, back := t.stop, w.Seconds
	for _, r := range w.Requests {
		if r.target != i || r.outcome == analysis.OutcomeLB5xx {
			continue
		}
		if end := r.at + r.took; end < t.ready {
			gone = math.Min(end, t.stop)
		} else if r.at >= t.ready {
			back = math.Min(back, r.at)
		}
	}
	return []stretch{{0, gone}, {back, w.Seconds}}
}

// draw places an outage of a length anywhere within one of the stretches.
func draw(random *rand.Rand, spans []stretch, length float64) float64 {
	room := 0.0
	for _, s := range spans {
		room += math.Max(0, s.to-s.from-length)
	}
	at := room * random.Float64()
	for _, s := range spans {
		own := math.Max(0, s.to-s.from-length)
		if at < own {
			return s.from + at
		}
		at -= own
	}
	return spans[len(spans)-1].to - length
}

// missedShare is the share of all places of an outage that no request met; ok is
// false where no stretch is long enough. It walks over the beginnings of the outage,
// not over gaps as the judge does: a request that was sent at t meets every outage
// that began in (t − length, t].
func missedShare(spans []stretch, sent []float64, length float64) (share float64, ok bool) {
	room, met := 0.0, 0.0
	for _, s := range spans {
		last := s.to - length // an outage begins before it
		if last <= s.from {
			continue
		}
		room += last - s.from
		until := s.from // beginnings up to here are counted
		for _, t := range sent {
			if t < s.from || t >= s.to {
				continue
			}
			from, to := math.Max(until, t-length), math.Min(t, last)
			if from < to {
				met += to - from
				until = to
			}
		}
	}
	if room == 0 {
		return 0, false
	}
	return 1 - met/room, true
}

// Print writes the table that stands in the README.
func (c *Calibration) Print(out io.Writer) {
	fmt.Fprintf(out, "%d deploys: %d disproved, %d supported, %d inconclusive, %d untested; %d wrong; %d disproved by failures that only lay beside a stop; %d supported though failures were lost with their log object\n\n",
		c.Deploys, c.Verdicts[analysis.Disproved], c.Verdicts[analysis.Supported], c.Verdicts[analysis.Inconclusive], c.Verdicts[analysis.Untested], len(c.Wrong), c.Misjudged, c.Unnoticed)
	printDeciles(out, c.Deciles[:])
	n := float64(c.Longest.Windows)
	fmt.Fprintf(out, "\nOf %d outages as long as is missed with 5 %%: %.3f %% of all places, %+.3f ± %.3f points; of those drawn %.2f %%, %+.1f standard errors\n\n",
		c.Longest.Windows, 100*c.Longest.Exact/n, 100*c.Longest.Bias(), 200*math.Sqrt(c.Longest.exactSquares)/n, 100*c.Longest.missed()/n, c.Longest.Off())
	fmt.Fprintln(out, "Without a record of which target served which request:")
	fmt.Fprintln(out)
	printDeciles(out, c.Shares[:])
}

func printDeciles(out io.Writer, deciles []Decile) {
	fmt.Fprintln(out, "| predicted to be missed | windows | mean prediction | missed of drawn | off by | missed of all places | bias |")
	fmt.Fprintln(out, "| --- | --: | --: | --: | --: | --: | --: |")
	for i := range deciles {
		d := &deciles[i]
		if d.Windows == 0 {
			continue
		}
		n := float64(d.Windows)
		fmt.Fprintf(out, "| %d–%d %% | %d | %.2f %% | %.2f %% | %+.1f standard errors | %.3f %% | %+.3f ± %.3f points |\n",
			i*10, i*10+10, d.Windows, 100*d.Predicted/n, 100*d.missed()/n, d.Off(), 100*d.Exact/n, 100*d.Bias(), 200*math.Sqrt(d.exactSquares)/n)
	}
}

// Off is how many standard errors the number missed lies from the predicted one. The
// standard error is that of a sum over deploys, whose windows may depend on each other.
func (d *Decile) Off() float64 {
	if d.drawnSquares == 0 {
		return 0
	}
	return (d.missed() - d.Predicted) / math.Sqrt(d.drawnSquares)
}

// Bias is how much more of all places were missed than predicted, as a share.
func (d *Decile) Bias() float64 {
	if d.Windows == 0 {
		return 0
	}
	return (d.Exact - d.Predicted) / float64(d.Windows)
}
