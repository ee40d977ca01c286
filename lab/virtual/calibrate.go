package virtual

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

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
}

// Decile compares predicted and observed chances of missing a failure window.
type Decile struct {
	Windows, Missed int
	Predicted       float64 // sum
	Variance        float64 // sum of p(1−p)
}

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

// place puts total outages of each stated length at random into the time in which a
// target was in rotation, and sees whether any probe request met them.
func (c *Calibration) place(w *World, o analysis.Observations, r analysis.Report, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for _, d := range r.Detection {
		if d.Phase != "" || d.Requests < 2 {
			continue
		}
		served := map[int]bool{}
		for _, h := range o.Handled {
			if h.Target == d.Target {
				served[h.Seq] = true
			}
		}
		for _, m := range d.Miss {
			length := m.WindowMS / 1e3
			from, ok := w.inRotation(random, d.Target, length)
			if !ok {
				continue
			}
			missed := 1
			for _, p := range o.Probes {
				if at := p.Sent.Sub(w.Zero).Seconds(); served[p.Seq] && at >= from && at < from+length {
					missed = 0
					break
				}
			}
			i := min(int(m.Probability*10), 9)
			c.Deciles[i].Windows++
			c.Deciles[i].Missed += missed
			c.Deciles[i].Predicted += m.Probability
			c.Deciles[i].Variance += m.Probability * (1 - m.Probability)
		}
	}
}

// inRotation draws a place for an outage that lies wholly in a target's time in
// rotation, which is known by traffic alone: until the last request that it served
// before its stop, and from the first one after; ok is false where fifty draws found
// none.
func (w *World) inRotation(random *rand.Rand, name string, length float64) (float64, bool) {
	for i, t := range w.Targets {
		if t.name != name {
			continue
		}
		gone, back := t.stop, math.NaN()
		for _, r := range w.Requests {
			if r.target != i || r.outcome == analysis.OutcomeLB5xx {
				continue
			}
			if end := r.at + r.took; end < t.ready {
				gone = math.Min(end, t.stop)
			} else if r.at >= t.ready && math.IsNaN(back) {
				back = r.at
			}
		}
		if math.IsNaN(back) {
			back = w.Seconds
		}
		for range 50 {
			from := (w.Seconds - length) * random.Float64()
			if from >= 0 && (math.IsNaN(t.stop) || from+length <= gone || from >= back) {
				return from, true
			}
		}
	}
	return 0, false
}

// Print writes the table that stands in the README.
func (c *Calibration) Print(out io.Writer) {
	fmt.Fprintf(out, "%d deploys: %d disproved, %d supported, %d inconclusive, %d untested; %d wrong; %d disproved by failures that only lay beside a stop; %d supported though failures were lost with their log object\n\n",
		c.Deploys, c.Verdicts[analysis.Disproved], c.Verdicts[analysis.Supported], c.Verdicts[analysis.Inconclusive], c.Verdicts[analysis.Untested], len(c.Wrong), c.Misjudged, c.Unnoticed)
	fmt.Fprintln(out, "| predicted to be missed | windows | mean prediction | missed | off by |")
	fmt.Fprintln(out, "| --- | --- | --- | --- | --- |")
	for i, d := range c.Deciles {
		if d.Windows == 0 {
			continue
		}
		n := float64(d.Windows)
		fmt.Fprintf(out, "| %d–%d %% | %d | %.2f %% | %.2f %% | %.1f standard errors |\n", i*10, i*10+10, d.Windows, 100*d.Predicted/n, 100*float64(d.Missed)/n, d.Off())
	}
}

// Off is how many standard errors the observed number lies from the predicted one.
func (d Decile) Off() float64 {
	if d.Variance == 0 {
		return 0
	}
	return (float64(d.Missed) - d.Predicted) / math.Sqrt(d.Variance)
}
