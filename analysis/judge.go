package analysis

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Judge turns what was observed of one window into a report. It is pure: the same
// observations give the same report, whatever the order in which they arrived.
// Sentences and provenance are left for the caller to fill.
func Judge(obs Observations) Report {
	b := newBench(obs)
	b.readSignals()
	b.findAmbiguous()
	b.offsets = b.clocks()
	b.doubt = b.clockDoubt()
	b.readServing()
	b.readSteps()
	b.findArrivals()
	b.findSwitch()
	b.followTargets()
	b.findDepartures()
	b.readChecks()
	b.findEmpty()
	b.findForeignStops()
	b.inferCycles()
	b.findDips()
	b.cutPhases()
	b.findDrains()
	b.collectFailures()
	b.countTraffic()
	b.cover()
	b.attribute()
	b.counted = b.countMetrics()
	b.checkServing()
	b.findEjections()
	b.findCauses()

	r := &b.report
	r.Schema = 1
	r.Deploy = deployReport(obs.Deploy, obs.Service.Name)
	r.Window = WindowReport{
		From: Time{obs.From}, To: Time{obs.To}, Revision: obs.Revision, SealedAt: Time{obs.SealedAt},
		State: WindowStateAt(obs.To, obs.Service.Window, obs.At),
	}
	b.findStoppings()
	r.Steps = b.stepReports()
	r.Failures = b.failedRequests()
	r.Targets = b.targetReports()
	r.SingleTarget, r.ZeroTargets = b.single, b.zero
	r.Detection = b.detect()
	r.Completeness = b.complete()
	r.Controls = b.controls()
	r.Clocks = b.offsets
	b.followSignals()
	b.runRules()
	if !obs.Part.IsZero() {
		b.narrow(obs.Part)
	}
	b.judgeClaims()
	r.Verdict = b.verdict()
	return *r
}

// bench is the judge's table: the observations and everything derived from them so
// far. Each step of [Judge] reads what the ones before it have put there.
type bench struct {
	obs      Observations
	from, to time.Time
	seenTo   time.Time // how far the window has been reached: the earlier of its end and At
	started  time.Time // deploy.started, or the window's start without a deploy
	report   Report

	steps    []step
	cuts     map[string]time.Duration // to what the moments of a source are cut; see cutsOf
	lives    []*life                  // one per target, in the order of the configuration
	byName   map[string]*life
	counting map[string]bool            // access logs that count users
	byNginx  map[string]bool            // those of them that nginx writes
	named    map[string]map[string]bool // target groups that each of them names
	switched map[string]string          // by the group that traffic was switched to, the one that it came from
	failures []failure
	unkept   []unkept
	handled  map[probeID][]HandledRequest
	sent     map[probeID]*ProbeRequest
	logged   map[probeID]*Request // single log rows of known probe requests
	// ambiguous are the requests, and doubtfulLines the application's records by their
	// place, whose join the clocks make doubtful.
	ambiguous     map[probeID]bool
	doubtfulLines map[int]bool
	drains        []drain
	foreign       []drain // stops by other deploys, until the target was ready, with slack
	coverage      map[string]*Coverage
	passed        map[string]passing // by access log, as far as it was asked
	surges        []surge
	offsets       []ClockOffset
	doubt         time.Duration         // how far two clocks may be apart of which nothing more is known
	spreads       map[cycleClock]spread // of clocks against others, as far as they were asked about
	aheads        map[[2]string]spread
	doubtful      bool // steps contradict each other, or what traffic shows
	// servedThrough are the stops through which the target is known to have served.
	servedThrough []TargetSpan
	counted       []countedSum   // by the load balancer's own monitoring
	prober        map[Class]bool // classes that are counted in our own records
	single        []TargetSpan
	zero          []TargetGroupSpan
	// empty are the stretches in which, by the load balancer's refusals, no target of a
	// group was in rotation, and open those of which nobody can say; by group.
	empty, open      map[string][]span
	maybeZero        []TargetGroupSpan // nobody served, whether or not something shows that nobody could
	undecided        bool              // a target may have been out of rotation, or another in it, and whether it served does not tell
	worse            map[routeKey]*worse
	versionsCompared bool // requests of both versions were seen on some route
	// servedFrom and servedTo are the first and last moment at which any target served.
	servedFrom, servedTo time.Time
	servingClock         string          // by which it is told when targets served
	skewed               map[string]bool // clocks whose bounds contradict each other within a minute

	signals   map[Event][]*Signal
	stoppings []stopping
	ends      func() map[string][]time.Time // of processes, by target: found when first asked for, once stoppings are
	called    []call                        // to every dependency, also a little around the window
	skipped   map[string][]skipped          // by journey
}

// followSignals counts what lines, records and endpoints told besides requests.
func (b *bench) followSignals() {
	b.countJourneys()
	b.countDependencies()
	b.followBreakers()
	b.readGauges()
}

// probeID names one probe request.
type probeID struct {
	run string
	seq int
}

func newBench(obs Observations) *bench {
	sortInputs(&obs)
	b := &bench{
		obs: obs, from: obs.From, to: obs.To, seenTo: earliest(obs.At, obs.To),
		byName: map[string]*life{}, counting: map[string]bool{}, byNginx: map[string]bool{}, named: map[string]map[string]bool{},
		handled: map[probeID][]HandledRequest{}, logged: map[probeID]*Request{}, sent: map[probeID]*ProbeRequest{},
		ambiguous: map[probeID]bool{}, doubtfulLines: map[int]bool{},
		coverage: map[string]*Coverage{}, passed: map[string]passing{}, prober: map[Class]bool{}, skewed: map[string]bool{}, spreads: map[cycleClock]spread{}, aheads: map[[2]string]spread{},
	}
	b.cuts = cutsOf(&obs)
	b.started = obs.Deploy.StartedAt
	if b.started.IsZero() {
		b.started = obs.From
	}
	for _, balancer := range obs.Service.LoadBalancers {
		for _, log := range balancer.AccessLogs {
			if log.Counts {
				b.counting[log.Name] = true
				b.byNginx[log.Name] = strings.HasPrefix(log.Kind, "nginx")
			}
		}
	}
	for i := range obs.Probes {
		p := &obs.Probes[i]
		if b.inWindow(p.Sent) {
			b.sent[probeID{p.Run, p.Seq}] = p
		}
		if b.inWindow(p.Sent) || b.inWindow(p.Done) {
			b.prober[p.Class] = true
		}
	}
	for _, h := range obs.Handled {
		id := probeID{h.Run, h.Seq}
		b.handled[id] = append(b.handled[id], h)
	}
	for i := range obs.Requests {
		if r := &obs.Requests[i]; b.counting[r.Source] {
			b.logged[probeID{r.ProbeRun, r.ProbeSeq}] = r
		}
	}
	b.ends = sync.OnceValue(b.endsByTarget)
	b.findUnkept()
	b.nameTargets()
	return b
}

// sortInputs gives single records an order of their own, so that no rule depends on
// the order in which they arrived. It is the store's order, and what is in order
// already is not copied. Cells are only ever summed.
func sortInputs(o *Observations) {
	sortSignals(o)
	inOrder(&o.Handled, func(x, y HandledRequest) int {
		return cmp.Or(strings.Compare(x.Source, y.Source), x.At.Compare(y.At), strings.Compare(x.Target, y.Target), strings.Compare(x.Run, y.Run),
			cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Status, y.Status))
	})
	inOrder(&o.Requests, func(x, y Request) int {
		return cmp.Or(x.End.Compare(y.End), strings.Compare(x.Source, y.Source), strings.Compare(x.Object, y.Object), cmp.Compare(x.Line, y.Line),
			x.Start.Compare(y.Start), strings.Compare(x.URL, y.URL))
	})
	inOrder(&o.Runs, func(x, y Run) int {
		return cmp.Or(strings.Compare(x.Source, y.Source), x.At.Compare(y.At), x.From.Compare(y.From), x.To.Compare(y.To), strings.Compare(x.Error, y.Error))
	})
	inOrder(&o.Steps, func(x, y Step) int {
		return cmp.Or(x.At.Compare(y.At), strings.Compare(x.Deploy, y.Deploy), cmp.Compare(x.Kind, y.Kind), strings.Compare(x.Target, y.Target), strings.Compare(x.Source, y.Source))
	})
}

// inOrder replaces a list that is not sorted by a sorted copy.
func inOrder[T any](list *[]T, compare func(x, y T) int) {
	if !slices.IsSortedFunc(*list, compare) {
		*list = slices.Clone(*list)
		slices.SortStableFunc(*list, compare)
	}
}

// nameTargets lists the targets: the configured ones first, then any other that a
// log or a poll mentions. A configured target that no observation and no step
// mentions stays listed: its silence is information. A row that names no target group is
// of the only one that its load balancer has.
func (b *bench) nameTargets() {
	add := func(name, group string) {
		if name == "" {
			return
		}
		l, ok := b.byName[name]
		if !ok {
			l = &life{name: name, groups: map[string]bool{}, witnesses: map[string]bool{}}
			b.byName[name] = l
			b.lives = append(b.lives, l)
		}
		if group != "" {
			l.groups[group] = true
		}
	}
	for _, t := range b.obs.Service.Targets {
		add(t.Name, "")
	}
	listed := len(b.lives)
	for _, s := range b.obs.States {
		add(s.Target, s.TargetGroup)
	}
	configured := b.configuredGroups()
	for i := range b.obs.Checks {
		c := &b.obs.Checks[i]
		switch {
		case !b.inWindow(c.At):
		case slices.Contains(configured, c.TargetGroup):
			add(c.Target, c.TargetGroup)
		default:
			add(c.Target, "")
		}
	}
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !b.counting[c.Source] {
			continue
		}
		add(c.Target, cmp.Or(c.TargetGroup, b.onlyGroup(c.Source)))
		if b.named[c.Source] == nil {
			b.named[c.Source] = map[string]bool{}
		}
		b.named[c.Source][c.TargetGroup] = true
	}
	for _, h := range b.obs.Handled {
		add(h.Target, "")
	}
	for _, s := range b.obs.Steps {
		if s.Deploy == b.obs.Deploy.ID {
			add(s.of(), "")
		}
	}
	slices.SortStableFunc(b.lives[listed:], func(x, y *life) int { return strings.Compare(x.name, y.name) })
	for _, l := range b.lives {
		l.memberOf(configured)
	}
}

// health is the health check of a target group: as the load balancer told it, else
// as configured. An API that tells whole seconds only does not contradict a
// configuration that is finer and agrees with it when rounded up.
func (b *bench) health(group string) HealthCheck {
	var told, configured HealthCheck
	for _, g := range b.obs.Groups {
		if g.TargetGroup == group && g.Health.Known() {
			told = g.Health
		}
	}
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, g := range balancer.TargetGroups {
			if g.Name == group && g.Health.Known() {
				configured = g.Health
			}
		}
	}
	wholeSeconds := func(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
	agrees := wholeSeconds(configured.Interval) == told.Interval && wholeSeconds(configured.Timeout) == told.Timeout &&
		configured.Unhealthy == told.Unhealthy && configured.Healthy == told.Healthy
	if !told.Known() || agrees {
		return configured
	}
	return told
}

// slack is the health-check timeout, the ± around the moments of stop and return
// in which a failure is put down to them; a second where no check is known.
func (b *bench) slack(group string) time.Duration {
	if h := b.health(group); h.Timeout > 0 {
		return h.Timeout
	}
	return time.Second
}

func (b *bench) inWindow(t time.Time) bool { return within(t, b.from, b.to) }

func deployReport(d Deploy, service string) DeployReport {
	return DeployReport{
		ID: d.ID, Service: service, Kind: d.Kind, VersionBefore: known(d.VersionBefore), VersionAfter: known(d.VersionAfter),
		RollbackOf: known(d.RollbackOf), Environment: known(d.Environment), Actor: known(d.Actor), URL: known(d.URL),
		StartedAt: Time{d.StartedAt}, ReportedAt: Time{d.ReportedAt}, Result: known(d.Result), SeenUntil: Time{d.SeenUntil}, Source: d.Source,
	}
}

// known is nil for a string that nobody told.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
