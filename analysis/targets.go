package analysis

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// life is one target's way through the window.
type life struct {
	name, group string
	points      []time.Time   // moments at which it is known to have served, ascending
	cycles      []cycle       // one for every time it stopped, or at least one
	usualPause  time.Duration // 99th percentile of the pauses between them
	changes     []change      // of its polled state, into and out of rotation
	polled      bool
	checked     *checked // by the health-check log; nil where there is none
	arrives     bool     // this deploy brought it into service
}

// cycle is one drain, stop and return of a target. Zero times did not happen or
// are not known.
type cycle struct {
	marked, deregistered, stop, restart, killed, ready time.Time
	registered                                         time.Time // of a target that arrives
	lastServed, firstServed                            time.Time
	onPurpose                                          bool      // it was told to stop
	arrives                                            bool      // it was started, not stopped: stop is zero, and restart the start
	leaves                                             bool      // nobody waits for its return
	until                                              time.Time // the next cycle's begin, or the window's end
}

// back is when the target was there again: ready, or, where nobody told that, serving.
func (c cycle) back(otherwise time.Time) time.Time {
	if back := earliest(c.ready, c.firstServed); !back.IsZero() {
		return back
	}
	return otherwise
}

// change is a polled state that went into or out of rotation between two polls.
type change struct {
	in           bool
	before, seen time.Time // last poll with the old state, first with the new
	source       string
}

// readServing finds when each target is known to have served: the first start and
// last end of every second's cell in the counting access logs in which it answered,
// and every probe request that its own log answers.
func (b *bench) readServing() {
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.TargetStatus == 0 || c.Target == "" || !b.counting[c.Source] {
			continue
		}
		l := b.byName[c.Target]
		if !c.First.IsZero() {
			l.points = append(l.points, c.First)
		}
		if !c.Last.IsZero() {
			l.points = append(l.points, c.Last)
		}
	}
	for i := range b.obs.Handled {
		if at, ok := b.servedAt(i); ok {
			l := b.byName[b.obs.Handled[i].Target]
			l.points = append(l.points, at)
		}
	}
	for _, l := range b.lives {
		slices.SortFunc(l.points, time.Time.Compare)
		if n := len(l.points); n > 0 {
			l.usualPause = percentilePause(l.points)
			b.servedFrom, b.servedTo = earliest(b.servedFrom, l.points[0]), latest(b.servedTo, l.points[n-1])
		}
	}
	b.readStates()
}

// percentilePause is the 99th percentile of the pauses between moments in order.
func percentilePause(points []time.Time) time.Duration {
	if len(points) < 2 {
		return 0
	}
	gaps := make([]time.Duration, 0, len(points)-1)
	for i := 1; i < len(points); i++ {
		gaps = append(gaps, points[i].Sub(points[i-1]))
	}
	slices.Sort(gaps)
	return gaps[nearestRank(.99, len(gaps))-1]
}

// readStates finds the moments between which each polled state changed.
func (b *bench) readStates() {
	samples := slices.Clone(b.obs.States)
	slices.SortStableFunc(samples, func(x, y StateSample) int {
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Source, y.Source), strings.Compare(x.Target, y.Target))
	})
	type key struct{ source, target string }
	last := map[key]StateSample{}
	for _, s := range samples {
		l := b.byName[s.Target]
		l.polled = true
		k := key{s.Source, s.Target}
		before, ok := last[k]
		last[k] = s
		if !ok || before.State.InRotation() == s.State.InRotation() {
			continue
		}
		l.changes = append(l.changes, change{in: s.State.InRotation(), before: before.At, seen: s.At, source: s.Source})
	}
}

// followTargets cuts each target's life into cycles by the steps, and finds the
// last request served before each stop and the first one after each return.
func (b *bench) followTargets() {
	for _, l := range b.lives {
		var c cycle
		begun := false
		flush := func() {
			if begun {
				l.cycles = append(l.cycles, c)
			}
			c, begun = cycle{}, false
		}
		for _, s := range b.steps {
			if !s.opens || s.Target != l.name {
				continue
			}
			if rank(s.Kind) <= 2 && !c.ready.IsZero() {
				flush()
			}
			begun = true
			switch s.Kind {
			case StepDrainMarked:
				c.marked = s.At
			case StepTargetDeregistered:
				c.deregistered = s.At
			case StepRestartBegan:
				c.restart = s.At
				c.onPurpose = c.onPurpose || c.killed.IsZero()
			case StepProcessKilled:
				c.killed = s.At
			case StepAppReady:
				c.ready = s.At
			case StepTargetRegistered:
				c.registered = s.At
			}
		}
		flush()
		if l.arrives && len(l.cycles) > 0 {
			l.cycles[0].arrives = true
		}
		for i := range l.cycles {
			c := &l.cycles[i]
			if !c.arrives {
				c.stop = earliest(c.restart, c.killed)
			}
			until := b.to
			if i+1 < len(l.cycles) {
				until = l.cycles[i+1].begin()
			}
			c.until = until
			l.serve(c, until)
		}
	}
}

func (c cycle) begin() time.Time {
	return earliest(c.marked, c.deregistered, c.restart, c.killed, c.ready, c.registered)
}

// serve fills the last request before the target was gone and the first after it
// was back. Requests in flight may end after the stop, so the dividing moment is
// readiness; without it, the widest gap in what it served after the stop.
func (l *life) serve(c *cycle, until time.Time) {
	if c.stop.IsZero() && c.ready.IsZero() && c.registered.IsZero() {
		return
	}
	divide := c.ready
	if c.arrives {
		divide = c.begin()
	}
	if divide.IsZero() {
		divide = l.widestGapAfter(c.stop, until)
	}
	for _, p := range l.points {
		switch {
		case p.Before(divide):
			c.lastServed = p
		case p.Before(until) && c.firstServed.IsZero():
			c.firstServed = p
		}
	}
}

// widestGapAfter is the end of the longest pause in serving that begins at or
// after a stop (or meets it); until when it never served again.
func (l *life) widestGapAfter(stop, until time.Time) time.Time {
	divide, widest := until, time.Duration(-1)
	before := stop
	for _, p := range l.points {
		if p.Before(stop) || !p.Before(until) {
			continue
		}
		if gap := p.Sub(before); gap > widest {
			divide, widest = p, gap
		}
		before = p
	}
	if until.Sub(before) > widest {
		return until
	}
	return divide
}

// down is the span in which the target may not have served around one stop: from
// the last request it served to the first after its return, half-open, within the
// window. ok is false when it did not stop.
func (b *bench) down(c cycle) (from, to time.Time, ok bool) {
	if c.stop.IsZero() {
		return from, to, false
	}
	from, to = c.lastServed, c.firstServed
	if from.IsZero() || from.After(c.stop) {
		from = c.stop
	}
	if to.IsZero() {
		to = b.to
	}
	return from, to, true
}

// targetReports prints each target's table.
func (b *bench) targetReports() []TargetReport {
	reports := []TargetReport{}
	for _, l := range b.lives {
		if len(l.cycles) == 0 {
			r := b.targetReport(l, cycle{})
			reports = append(reports, r)
			continue
		}
		for _, c := range l.cycles {
			reports = append(reports, b.targetReport(l, c))
		}
	}
	return reports
}

func (b *bench) targetReport(l *life, c cycle) TargetReport {
	d := b.obs.Deploy
	r := TargetReport{
		Target: l.name, TargetGroup: l.group,
		VersionBefore: known(d.VersionBefore), VersionAfter: known(d.VersionAfter),
		DrainMarkedAt: Time{c.marked}, DeregisteredAt: Time{c.deregistered}, LastServedAt: Time{c.lastServed},
		RestartAt: Time{c.restart}, KilledAt: Time{c.killed}, ReadyAt: Time{c.ready}, FirstServedAt: Time{c.firstServed},
		EjectedBasis: []string{}, FailureWindows: b.failureWindows(l, c),
	}
	if c.arrives { // it did not run before
		r.VersionBefore = nil
	} else if c.ready.IsZero() { // it still runs what it ran
		r.VersionAfter = nil
	}
	if mark := earliest(c.marked, c.deregistered); !c.lastServed.IsZero() && !mark.IsZero() {
		r.Eject = &Bounded{max(seconds(c.lastServed.Sub(mark)), 0), Lower}
	}
	restarted := c.restart
	if restarted.IsZero() {
		restarted = c.killed // whoever brought it up again told nobody when
	}
	r.LastServedToRestart = between(c.lastServed, restarted, Upper)
	if !c.killed.IsZero() && c.restart.After(c.killed) {
		r.KillToRestart = between(c.killed, c.restart, Exact)
	}
	r.Boot = between(latest(c.restart, c.killed), c.ready, Exact)
	r.RestartToFirstRequest = between(restarted, c.firstServed, Upper)
	r.ReadyToFirstRequest = between(c.ready, c.firstServed, Upper)
	r.ReportedToFirstServed = between(d.ReportedAt, c.firstServed, Upper)
	r.ReturnToNextDrain = b.returnToNextDrain(l, c)
	r.StateLagDown, r.StateLagUp = l.stateLags(c)
	h := b.health(l.group)
	if h.Known() {
		r.Predicted = predict(h)
		if !c.deregistered.IsZero() || c.arrives { // it comes back as a new target, after a single pass: within I + T
			r.Predicted.Return = Interval{0, seconds(h.Interval + h.Timeout)}
		}
		if !c.stop.IsZero() && c.onPurpose {
			// The first report measured twice the theory, so the margin is as much again.
			wait := 2 * r.Predicted.Eject.To
			if longest := b.longestEjection(); longest > 0 {
				wait = max(wait, 1.5*seconds(longest))
			}
			r.RecommendedDrainWait = new(math.Ceil(wait*10) / 10)
		}
	}
	r.InFlightAtStop, r.InFlightOf = b.inFlightAtStop(l, c)
	r.Checks = b.checksReport(l, c)
	r.Ejected, r.EjectedBasis = b.ejected(l, c, h, r)
	return r
}

// longestEjection is the longest that a target took to leave rotation in the service's
// own history, exactly or at most. What is known from below says nothing of how long to
// wait.
func (b *bench) longestEjection() time.Duration {
	longest := time.Duration(0)
	for _, e := range b.obs.Ejections {
		if e.Bound != Lower {
			longest = max(longest, e.Took)
		}
	}
	return longest
}

// predict is what the settings alone imply, with checks started every Interval:
// ejection between (U−1)·I and U·I+T after the first failing moment, return
// between (H−1)·I and H·I+T after ready (spec: domain facts §2, Transitions).
func predict(h HealthCheck) *Predicted {
	span := func(n int) Interval {
		n = max(n, 1)
		return Interval{seconds(time.Duration(n-1) * h.Interval), seconds(time.Duration(n)*h.Interval + h.Timeout)}
	}
	return &Predicted{Eject: span(h.Unhealthy), Return: span(h.Healthy)}
}

// predictedReturn is the longest time that the settings let a ready target wait.
func predictedReturn(h HealthCheck) time.Duration {
	return time.Duration(max(h.Healthy, 1))*h.Interval + h.Timeout
}

// ejected says whether the load balancer took the target out before or while it
// was down, with the grounds, strongest first.
func (b *bench) ejected(l *life, c cycle, h HealthCheck, r TargetReport) (string, []string) {
	if c.stop.IsZero() {
		return "unknown", []string{}
	}
	no, yes := []string{}, []string{}
	byChecks := b.ejectedByChecks(l, c)
	switch byChecks {
	case "yes":
		yes = append(yes, BasisHealthCheckLog)
	case "no":
		no = append(no, BasisHealthCheckLog)
	}
	// A target that was deregistered comes back as a new one, after a single pass.
	if h.Known() && h.Healthy > 1 && c.deregistered.IsZero() && !c.ready.IsZero() && !c.firstServed.IsZero() &&
		c.firstServed.Sub(c.ready) < time.Duration(h.Healthy-1)*h.Interval {
		no = append(no, "served-right-after-ready")
	}
	sent, lastSent := b.sentWhileDown(l, c)
	end := earliest(c.ready, c.firstServed)
	if sent.all() > 0 && h.Known() && !end.IsZero() && end.Sub(lastSent) < h.Interval {
		no = append(no, "failures-shared-to-the-end")
	}
	for _, w := range r.FailureWindows {
		meets := !w.To.Before(c.stop) && (end.IsZero() || w.From.Before(end))
		if meets && h.Known() && w.Upper != nil && *w.Upper < seconds(time.Duration(h.Unhealthy-1)*h.Interval) {
			no = append(no, "window-shorter-than-checks")
			break
		}
	}
	out := slices.ContainsFunc(l.changes, func(ch change) bool {
		return !ch.in && ch.seen.After(earliest(c.begin(), c.stop)) && ch.seen.Before(c.until)
	})
	if l.polled && !out {
		no = append(no, "state-never-changed")
	}
	quiet := c.stop.Sub(c.lastServed)
	if sent.all() == 0 && !c.lastServed.IsZero() && b.wouldHaveSeen(l, c) && (quiet > 0 && h.Known() && quiet >= h.Interval/2 || out) {
		yes = append(yes, "nothing-sent-before-stop")
	}
	if out {
		yes = append(yes, "state-changed")
	}
	switch {
	case sent.all() > 0 && b.openFor(l.group, c.stop, lastSent):
		return "no", append([]string{BasisFailOpen}, no...)
	case byChecks == "yes":
		return "yes", yes
	case byChecks == "no":
		return "no", no
	case len(no) > 0 && (len(no) > 1 || no[0] != "state-never-changed" || len(yes) == 0):
		return "no", no
	case len(yes) > 0:
		return "yes", yes
	}
	return "unknown", []string{}
}

// sentWhileDown counts the requests that the access logs say were sent to the
// target from its stop until it was ready again, of every class.
func (b *bench) sentWhileDown(l *life, c cycle) (n perClass, last time.Time) {
	n = perClass{}
	until := c.back(b.to)
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		if r.Target == l.name && b.counting[r.Source] && r.Outcome.Failure() && r.moment().After(c.stop.Add(b.doubt)) && r.moment().Before(until) {
			n.add(r.Class, 1)
			last = latest(last, r.End)
		}
		if b.maskedOn(r, l.name) && r.moment().After(c.stop.Add(b.doubt)) && r.moment().Before(until) {
			n.add(r.Class, 1) // it was sent there, and another target answered it
			last = latest(last, r.End)
		}
	}
	for _, cell := range b.unkept { // to the second: its failures of a second that meets the time
		if cell.Target == l.name && b.counting[cell.Source] && cell.Last.After(c.stop.Add(b.doubt)) && cell.First.Before(until) {
			n.add(cell.Class, cell.n)
			last = latest(last, cell.Last)
		}
	}
	return n, last
}

// maskedOn reports whether a request was answered after an attempt at a target had
// failed; "" asks for a target that the log does not name.
func (b *bench) maskedOn(r *Request, target string) bool {
	return len(r.FailedOn) > 0 && b.counting[r.Source] && !r.Outcome.Failure() && slices.Contains(r.FailedOn, target)
}

// maskedSomewhere reports whether, between two moments, attempts failed of which the
// log does not say where they were sent.
func (b *bench) maskedSomewhere(from, to time.Time) bool {
	for i := range b.obs.Requests {
		if r := &b.obs.Requests[i]; b.maskedOn(r, "") && !r.End.Before(from) && r.moment().Before(to) {
			return true
		}
	}
	return false
}

// moment is when a logged request began, or its end where the log has no start.
func (r *Request) moment() time.Time {
	if r.Start.IsZero() {
		return r.End
	}
	return r.Start
}

// wouldHaveSeen reports whether so many requests came from the last one that the
// target served until it was ready again that none of them going to it cannot be
// chance (5 %), had it been in rotation.
func (b *bench) wouldHaveSeen(l *life, c cycle) bool {
	since := latest(c.lastServed, b.from)
	until := c.back(b.to)
	if b.groupSize(l.group) < 2 || b.maskedSomewhere(since, until) {
		return false
	}
	n := 0
	for i := range b.obs.Cells {
		cell := &b.obs.Cells[i]
		if b.counting[cell.Source] && cell.Target != "" && b.byName[cell.Target].group == l.group && within(cell.First, since, until) {
			n += cell.Count
		}
	}
	return math.Pow(1-b.share(l, c.begin()), float64(n)) < 0.05
}

// returnToNextDrain is the time from this target's return until another one of its
// group was next taken down.
func (b *bench) returnToNextDrain(l *life, c cycle) *Bounded {
	if c.firstServed.IsZero() {
		return nil
	}
	var next time.Time
	for _, other := range b.lives {
		if other == l || other.group != l.group {
			continue
		}
		for _, oc := range other.cycles {
			if begin := oc.begin(); !c.stop.IsZero() && begin.After(c.stop) {
				next = earliest(next, begin)
			}
		}
	}
	return between(c.firstServed, next, Lower)
}

// stateLags are how far the displayed state trailed traffic: out of rotation after
// the last request served, into rotation after the first.
func (l *life) stateLags(c cycle) (down, up *Interval) {
	for _, ch := range l.changes {
		lag := func(from time.Time) *Interval {
			return &Interval{seconds(ch.before.Sub(from)), seconds(ch.seen.Sub(from))}
		}
		switch {
		case !ch.seen.Before(c.until):
		case !ch.in && down == nil && !c.lastServed.IsZero() && !ch.seen.Before(c.begin()):
			down = lag(c.lastServed)
		case ch.in && down != nil && up == nil && !c.firstServed.IsZero():
			up = lag(c.firstServed)
		}
	}
	return down, up
}

// between is the time from one moment to another, nil where one is missing.
func between(from, to time.Time, bound Bound) *Bounded {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	return &Bounded{seconds(to.Sub(from)), bound}
}

// seconds is a duration in seconds, to the microsecond.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// earliest is the earliest of the moments that are known; zero when none is.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// latest is the latest of the moments.
func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
