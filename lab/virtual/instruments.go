package virtual

import (
	"math"
	"time"

	"gapless/analysis"
)

// objectSeconds is the span of one log object.
const objectSeconds = 10

// Seen says what of a world its instruments lost.
type Seen struct {
	LostObjects    []int // by number: never arrived, and nothing says so
	BrokenObjects  []int // arrived and could not be read
	ListingFailed  [2]float64
	ProberDead     [2]float64
	AppClock       float64 // seconds that the applications' clocks are ahead
	UserFailures   int     // failures of users that reached the evidence: sent in scope, or ended in it
	CausedFailures int     // of them, those that the deploy truly caused
	UserBlind      bool    // a part of the access log in scope is known to be missing
}

// Observe lets imperfect instruments watch a world.
func (w *World) Observe() (analysis.Observations, Seen) {
	seen := Seen{ListingFailed: [2]float64{-1, -1}, ProberDead: [2]float64{-1, -1}}
	objects := int(math.Ceil(w.Seconds/objectSeconds)) + 1
	if w.random.IntN(5) == 0 {
		for i := range objects {
			switch w.random.IntN(20) {
			case 0:
				seen.LostObjects = append(seen.LostObjects, i)
			case 1:
				seen.BrokenObjects = append(seen.BrokenObjects, i)
			}
		}
	}
	dead := func() [2]float64 {
		from := w.Seconds * w.random.Float64()
		return [2]float64{from, from + 20*w.random.Float64()}
	}
	if w.random.IntN(8) == 0 {
		seen.ListingFailed = dead()
	}
	if w.random.IntN(6) == 0 {
		seen.ProberDead = dead()
	}
	if w.random.IntN(3) == 0 {
		seen.AppClock = 0.2 * w.random.NormFloat64()
	}
	o := w.frame()
	w.readLogs(&o, &seen, objects)
	w.readProbes(&o, &seen)
	return o, seen
}

func (w *World) frame() analysis.Observations {
	o := analysis.Observations{
		Service: analysis.Service{
			Name: "virtual", Window: analysis.WindowSettings{Baseline: time.Minute, Tail: time.Minute, Settle: time.Minute, Max: time.Hour},
			LoadBalancers: []analysis.LoadBalancer{{
				Name: "lb", AccessLogs: []analysis.AccessLog{{Name: "alb", Kind: "alb", Counts: true}},
				TargetGroups: []analysis.TargetGroup{{Name: "api", Health: w.Health}},
			}},
			AppLogs: []analysis.AppLog{{Name: "app"}},
			Probes:  []analysis.Probe{{Name: "store", Class: analysis.ClassProbe, Every: 200 * time.Millisecond, Timeout: 5 * time.Second}},
		},
		Deploy: analysis.Deploy{
			ID: "virtual", Service: "virtual", Kind: analysis.KindRolling, StartedAt: w.time(w.Start), ReportedAt: w.time(w.Reported), Result: "succeeded",
		},
		From: w.Zero, To: w.time(w.Seconds), At: w.time(w.Seconds).Add(time.Hour),
	}
	step := func(kind analysis.StepKind, at float64, target string) {
		if !math.IsNaN(at) {
			o.Steps = append(o.Steps, analysis.Step{Deploy: "virtual", Kind: kind, At: w.time(at), Target: target, Source: "workflow"})
		}
	}
	step(analysis.StepDeployStarted, w.Start, "")
	for _, t := range w.Targets {
		o.Service.Targets = append(o.Service.Targets, analysis.TargetName{Name: t.name})
		step(analysis.StepDrainMarked, t.marked, t.name)
		step(analysis.StepRestartBegan, t.stop, t.name)
		step(analysis.StepAppReady, t.ready, t.name)
	}
	step(analysis.StepDeployReported, w.Reported, "")
	return o
}

// readLogs rolls the access log up, without the objects that were lost or broken.
func (w *World) readLogs(o *analysis.Observations, seen *Seen, objects int) {
	gone := map[int]bool{}
	for _, i := range append(append([]int{}, seen.LostObjects...), seen.BrokenObjects...) {
		gone[i] = true
	}
	from, to := w.time(-1), w.time(w.Seconds+60)
	o.Runs = append(o.Runs, analysis.Run{Source: "alb", Kind: "alb", From: from, To: to, At: to}, analysis.Run{Source: "app", Kind: "file", From: from, To: to, At: to})
	if f := seen.ListingFailed; f[0] >= 0 {
		o.Runs = append(o.Runs, analysis.Run{Source: "alb", Kind: "alb", From: w.time(f[0]), To: w.time(f[1]), At: to.Add(time.Second), Code: "forbidden", Error: "AccessDenied"})
		seen.UserBlind = seen.UserBlind || f[1] > w.Start && f[0] < w.Seconds
	}
	broken := map[int]bool{}
	for _, i := range seen.BrokenObjects {
		broken[i] = true
		seen.UserBlind = seen.UserBlind || float64((i+1)*objectSeconds) > w.Start && float64(i*objectSeconds) < w.Seconds
	}
	for i := range objects {
		if gone[i] && !broken[i] {
			continue
		}
		object := analysis.Object{Source: "alb", Node: "10.0.0.9", Key: string(rune('a'+i%26)) + time.Duration(i).String(), From: w.time(float64(i * objectSeconds)), To: w.time(float64((i + 1) * objectSeconds))}
		if broken[i] {
			object.Error = "connection reset"
		}
		o.Objects = append(o.Objects, object)
	}
	cells := map[analysis.CellKey]*analysis.Cell{}
	known := analysis.KnownRequests{Source: "alb", Node: "10.0.0.9", Run: "run"}
	for i := range w.Requests {
		r := &w.Requests[i]
		end := r.at + r.took
		object := int(end / objectSeconds)
		listed := seen.ListingFailed[0] < 0 || end < seen.ListingFailed[0] || end >= seen.ListingFailed[1]
		if gone[object] || !listed {
			continue
		}
		w.logRow(o, cells, r)
		if r.class == analysis.ClassProbe {
			known.Seqs = append(known.Seqs, uint32(r.seq))
		} else if r.outcome.Failure() && end >= w.Start && r.at < w.Seconds {
			seen.UserFailures++
			if r.byDeploy {
				seen.CausedFailures++
			}
		}
	}
	for _, c := range cells {
		o.Cells = append(o.Cells, *c)
	}
	o.Known = []analysis.KnownRequests{known}
}

func (w *World) logRow(o *analysis.Observations, cells map[analysis.CellKey]*analysis.Cell, r *request) {
	start, end := w.time(r.at), w.time(r.at+r.took)
	key := analysis.CellKey{
		Second: start.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: w.Targets[r.target].name, Class: r.class,
		Outcome: r.outcome, Route: analysis.OtherRoute, Status: 200, TargetStatus: 200,
	}
	switch r.outcome {
	case analysis.OutcomeLB5xx:
		key.Status, key.TargetStatus = 502, 0
	case analysis.OutcomeTarget5xx:
		key.Status, key.TargetStatus = 500, 500
	}
	c := cells[key]
	if c == nil {
		c = &analysis.Cell{CellKey: key, First: start, Last: end}
		cells[key] = c
	}
	c.Count++
	if end.After(c.Last) {
		c.Last = end
	}
	if r.outcome.Failure() {
		row := analysis.Request{CellKey: key, Start: start, End: end}
		if r.class == analysis.ClassProbe {
			row.ProbeRun, row.ProbeSeq = "run", r.seq
		}
		o.Requests = append(o.Requests, row)
	}
}

// readProbes gives the prober's own records and what the applications logged of them.
func (w *World) readProbes(o *analysis.Observations, seen *Seen) {
	for i := range w.Requests {
		r := &w.Requests[i]
		if r.class != analysis.ClassProbe || r.at >= seen.ProberDead[0] && r.at < seen.ProberDead[1] {
			continue
		}
		p := analysis.ProbeRequest{
			Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "run", Seq: r.seq,
			Sent: w.time(r.at - 0.001), Done: w.time(r.at + r.took + 0.001), Status: 200, Outcome: r.outcome,
		}
		if r.outcome != analysis.OutcomeOK {
			p.Status = 502
		}
		o.Probes = append(o.Probes, p)
		if r.outcome != analysis.OutcomeLB5xx {
			o.Handled = append(o.Handled, analysis.HandledRequest{Source: "app", Target: w.Targets[r.target].name, Run: "run", Seq: r.seq, At: w.time(r.at + r.took/2 + seen.AppClock), Status: p.Status})
		}
	}
}
