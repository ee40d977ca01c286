package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// proberAhead sets the prober's clock ahead of all others, which agree; the access log
// has some of its slow requests one by one, so that its clock is known too.
func (s *scene) proberAhead(by time.Duration) {
	s.prepare()
	for i := range s.obs.Probes {
		p := &s.obs.Probes[i]
		if i%50 == 0 && p.Class == ClassProbe && p.Outcome == OutcomeOK {
			k := CellKey{Second: p.Sent.Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-2", Class: ClassProbe, Outcome: OutcomeOK, Route: OtherRoute, Status: 200, TargetStatus: 200}
			s.obs.Requests = append(s.obs.Requests, Request{CellKey: k, Start: p.Sent.Add(time.Millisecond), End: p.Done.Add(-time.Millisecond), ProbeRun: p.Run, ProbeSeq: p.Seq})
		}
		p.Sent, p.Done = p.Sent.Add(by), p.Done.Add(by)
	}
}

// The prober is 30 s ahead. api-1 is out of rotation from 105 on, stopped at 120, ready at
// 130 and served again from 150. It answers a user with 500 every 20 s, all along, out of
// that time: at 3, 23, … 83, 163, … 283. By the log's and the application's clocks, which
// agree to 10 ms, none of that has to do with the restart.
func TestAKnownOffsetIsNoDoubt(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 120, 130, true)
	s.proberAhead(30 * time.Second)
	n := 0
	for at := 3.0; at < 300; at += 20 {
		if at > 100 && at < 155 {
			continue
		}
		k := CellKey{Second: s.at(at).Unix(), Source: "alb", Node: "10.0.0.9", TargetGroup: "api", Target: "api-1", Class: ClassUser, Outcome: OutcomeTarget5xx, Route: OtherRoute, Status: 500, TargetStatus: 500}
		s.obs.Cells = append(s.obs.Cells, Cell{CellKey: k, Count: 1, First: s.at(at), Last: s.at(at + .01)})
		s.obs.Requests = append(s.obs.Requests, Request{CellKey: k, Start: s.at(at), End: s.at(at + .01)})
		n++
	}
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseBackground] != n || len(causes) != 1 {
		t.Errorf("causes %v, want %d of the background", causes, n)
	}
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "restart-before-eject" }) {
		t.Errorf("%+v", r.Findings)
	}
}

// The same prober, and api-1 is stopped from 120 to 130 while it is in rotation. What the
// log names after the stop is known to have been sent after it, and what the prober lost
// at 150–160 by its clock is the deploy's.
func TestAStopByAKnownClock(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 120, 130, false)
	s.proberAhead(30 * time.Second)
	r := Judge(s.obs)
	s.claim(r, ClaimEjectedBeforeStop, Disproved, ReasonStoppedInUse)
	if probes := r.Totals[ClassProbe]; probes.Failures != s.failed[ClassProbe] || probes.Causes[CauseDeploy] != probes.Failures || probes.Failures == 0 {
		t.Errorf("%d probes failed, causes %v, want all %d by the deploy", probes.Failures, probes.Causes, s.failed[ClassProbe])
	}
	if users := r.Totals[ClassUser]; users.Causes[CauseDeploy] != s.failed[ClassUser] {
		t.Errorf("causes %v, want %d by the deploy", users.Causes, s.failed[ClassUser])
	}
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == "restart-before-eject" })
	if i < 0 || r.Findings[i].Values["sent_after_stop"].(perClass)[ClassUser] < s.failed[ClassUser]-2 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestOffsetsOfClocks(t *testing.T) {
	all := []ClockOffset{
		{"prober", "alb", Interval{-3, 1}}, {"prober", "api-1.log", Interval{10, 14}},
		{"prober@off", "alb", Interval{100, 110}}, {"prober@off", "edge", Interval{5, 6}},
	}
	for _, c := range []struct {
		of, than string
		skewed   string
		want     string
	}{
		{"alb", "alb", "", "0–0"},
		{"unknown", "unknown", "", "0–0"},
		{"alb", "prober", "", "-3–1"},
		{"prober", "alb", "", "-1–3"},
		{"api-1.log", "alb", "", "9–17"},
		{"alb", "api-1.log", "", "-17–-9"},
		{"prober", "prober@off", "", "99–113"},
		{"prober@off", "prober", "", "-113–-99"},
		{"edge", "alb", "", "-105–-94"},
		{"edge", "api-1.log", "", "?"}, // known over a third and a fourth only
		{"workflow", "alb", "", "?"},
		{"alb", "workflow", "", "?"},
		{"alb", "prober", "alb", "?"},
		{"prober", "alb", "alb", "?"},
		{"api-1.log", "alb", "api-1.log", "?"},
		{"api-1.log", "alb", "alb", "?"},
		{"prober", "prober@off", "alb", "?"},
		{"prober", "prober@off", "edge", "99–113"},
	} {
		b := newTable()
		b.offsets = all
		b.skewed[c.skewed] = true
		got := "?"
		if o, known := b.offset(c.of, c.than); known {
			got = fmt.Sprintf("%g–%g", o.From, o.To)
		}
		if got != c.want {
			t.Errorf("%s ahead of %s, %q skewed: %s, want %s", c.of, c.than, c.skewed, got, c.want)
		}
	}
	b := newTable()
	b.offsets = append(all, ClockOffset{"prober@off", "api-1.log", Interval{115, 121}})
	if o, known := b.offset("api-1.log", "alb"); !known || o != (Interval{9, 17}) { // 5–21 by the other
		t.Errorf("over two others: %+v %t", o, known)
	}
	b.offsets[4].Offset = Interval{200, 210}
	if o, known := b.offset("api-1.log", "alb"); known {
		t.Errorf("two others that contradict each other: %+v", o)
	}
}

// All clocks may be 20 s apart; the log is known to be within 10 ms of api-1's own.
func TestHowFarTheClockOfAStopIsAhead(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table, func(source, target string, kind StepKind, at float64))
		want string
	}{
		{"nobody told", func(*table, func(string, string, StepKind, float64)) {}, "-20s–20s false"},
		{"told by an unknown clock", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
		}, "-20s–20s false"},
		{"told by a known clock", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-1", StepRestartBegan, 100)
		}, "-5ms–10ms true"},
		{"of another target", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-2", StepRestartBegan, 100)
		}, "-20s–20s false"},
		{"told by both, 2 s apart", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			step("api-1.log", "api-1", StepRestartBegan, 102)
		}, "-2.005s–2.01s true"},
		{"told by both, 2 s apart, the known one first", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-1", StepProcessKilled, 98)
			step("workflow", "api-1", StepRestartBegan, 100)
		}, "-2.005s–2.01s true"},
		{"told by both, further apart than clocks may be", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			step("api-1.log", "api-1", StepRestartBegan, 120.1)
		}, "-20s–20s false"},
		{"readiness dates no stop", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			step("api-1.log", "api-1", StepAppReady, 102)
		}, "-20s–20s false"},
		{"the nearest of several", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-1", StepRestartBegan, 97)
			step("api-1.log", "api-1", StepRestartBegan, 101)
			step("api-1.log", "api-1", StepRestartBegan, 104)
		}, "-1.005s–1.01s true"},
		{"told by two unknown clocks", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			step("ci", "api-1", StepRestartBegan, 102)
		}, "-20s–20s false"},
		{"told by both, as far apart as clocks may be", func(_ *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			step("api-1.log", "api-1", StepRestartBegan, 120)
		}, "-20.005s–20.01s true"},
		{"what began it, though it is no stop", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-1", StepAppReady, 100)
		}, "-5ms–10ms true"},
		{"told by two known clocks that bound it as well: the first", func(_ *table, step func(string, string, StepKind, float64)) {
			step("api-1.log", "api-1", StepRestartBegan, 100)
			step("journal", "api-1", StepProcessKilled, 100)
		}, "-5ms–10ms true"},
		{"by a clock that the step names", func(b *table, step func(string, string, StepKind, float64)) {
			step("workflow", "api-1", StepRestartBegan, 100)
			b.steps[0].Clock = "api-1.log"
		}, "-5ms–10ms true"},
	} {
		b := newTable()
		b.doubt = 20 * time.Second
		b.offsets = []ClockOffset{{"alb", "api-1.log", Interval{-5, 10}}, {"alb", "journal", Interval{0, 15}}}
		c.lay(b, func(source, target string, kind StepKind, at float64) {
			b.steps = append(b.steps, step{Step: Step{Source: source, Target: target, Kind: kind, At: b.at(at)}})
		})
		s := b.stopAhead("api-1", b.at(100), "alb")
		if got := fmt.Sprintf("%v–%v %t", s.least, s.most, s.known); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The stop is dated by api-1's own clock, a second ahead of the log's, and what api-1
// served by the log itself: a failure may lie where either puts it.
func TestAFailureLiesWhereAnyClockPutsIt(t *testing.T) {
	lay := func() *table {
		b := newTable()
		b.cut("api-1")
		b.steps = append(b.steps, step{Step: Step{Source: "api-1.log", Target: "api-1", Kind: StepRestartBegan, At: b.at(100)}})
		b.offsets = []ClockOffset{{"prober", "alb", Interval{0, 0}}, {"prober", "api-1.log", Interval{1000, 1000}}}
		b.doubt = 20 * time.Second
		b.life("api-1").witnesses["alb"] = true
		b.life("api-2").witnesses["alb"] = true
		return b
	}
	for _, c := range []struct {
		target     string
		start, end float64
		want       bool
	}{
		{"api-1", 92, 93.9, false}, {"api-1", 93, 94, true}, {"api-1", 117, 118, true}, {"api-1", 117.1, 118, false},
		{"", 199, 199.9, true}, {"", 198, 198.9, false}, {"", 209.9, 211, true}, {"", 210, 211, false},
	} {
		b := lay()
		b.none("api")
		if got := b.meetsDeploy(b.lost(c.target, c.start, c.end)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
		// A witness of which nothing is known is in doubt by 20 s.
		b = lay()
		b.life("api-2").witnesses["edge"] = true
		b.none("api")
		if f := b.lost("", 228, 229); !b.meetsDeploy(f) {
			t.Error("an unknown witness's zero time ends sharply")
		}
		b.life("api-2").group = "web" // whose witnesses date nothing of the other group
		if f := b.lost("", 228, 229); b.meetsDeploy(f) {
			t.Error("another group's witness makes the zero time doubtful")
		}
	}
	b := lay()
	f := b.lost("", 94, 94.5)
	if got := b.failedTarget(*f); got != "api-1" {
		t.Errorf("failed by %q", got)
	}
	for at, want := range map[float64]bool{99: false, 99.1: true} { // a second ahead: 100.1 by api-1's clock
		if got := b.surelyAfter(b.life("api-1"), b.life("api-1").cycles[0], "alb", b.at(at)); got != want {
			t.Errorf("%g surely after the stop: %t", at, got)
		}
	}
	b.prober[ClassProbe] = true
	f = b.lost("api-1", 96, 97)
	f.class, f.source = ClassProbe, "store"
	if got := b.clock(f); got != "prober" {
		t.Errorf("a probe's clock is %q", got)
	}
	// At risk from its stop on, less 2 s; 97 by the log's clock is 98 by api-1's.
	if b.atRisk(b.lost("api-1", 95, 96.9)) || !b.atRisk(b.lost("api-1", 95, 97)) || !b.atRisk(b.lost("api-1", 117, 118)) || b.atRisk(b.lost("api-1", 117.1, 118)) {
		t.Error("the time at risk is not where the clocks put it")
	}
	b.foreign = []drain{{target: "api-2", clock: "api-1.log", from: b.at(200), to: b.at(210)}}
	if b.meetsNeighbor(b.lost("api-2", 198, 198.9)) || !b.meetsNeighbor(b.lost("api-2", 198, 199)) || !b.meetsNeighbor(b.lost("api-2", 209, 209.5)) || b.meetsNeighbor(b.lost("api-2", 209.1, 209.5)) {
		t.Error("another deploy's stop is not where the clocks put it")
	}
}

// What was asked as a target served for the last time, is not surely after that.
func TestSurelyAfterAnAbsenceBegan(t *testing.T) {
	b := newTable()
	c := cycle{inferred: inferredFromTraffic, lastServed: b.at(100)}
	for at, want := range map[float64]bool{99.9: false, 100: false, 100.1: true} {
		if got := b.surelyAfter(b.life("api-1"), c, "alb", b.at(at)); got != want {
			t.Errorf("%g surely after 100: %t", at, got)
		}
	}
}

// A stop that the workflow, whose clock nobody knows within 20 s, and the target's own line
// tell, which is known to be a second ahead of the log: what came after either, came after it.
func TestSurelyAfterAStopThatTwoClocksTell(t *testing.T) {
	for _, c := range []struct {
		stops []dated
		want  float64 // the last tenth of a second that may have been before it
	}{
		{nil, 120}, {[]dated{{clock: "workflow"}}, 120}, {[]dated{{clock: "workflow"}, {clock: "api-1.log"}}, 99}, {[]dated{{clock: "api-1.log"}, {clock: "workflow"}}, 99},
	} {
		b := newTable()
		b.offsets = []ClockOffset{{"prober", "alb", Interval{0, 0}}, {"prober", "api-1.log", Interval{1000, 1000}}}
		b.doubt = 20 * time.Second
		for i := range c.stops {
			c.stops[i].at = b.at(100)
		}
		for _, at := range []float64{90, c.want, c.want + .1, 121} {
			if got := b.surelyAfter(b.life("api-1"), cycle{stop: b.at(100), stops: c.stops}, "alb", b.at(at)); got != (at > c.want) {
				t.Errorf("%v: %g surely after: %t", c.stops, at, got)
			}
		}
	}
}

// The clock of the deploy's start is known as well as that of a stop which it told of.
func TestClockOfTheStart(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(func(source, target string, kind StepKind, at float64) *step)
		want string
	}{
		{"nobody told it", func(tell func(string, string, StepKind, float64) *step) {
			tell("api-1.log", "api-1", StepRestartBegan, 100)
		}, "-20s–20s false"},
		{"told by an unknown clock", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
		}, "-20s–20s false"},
		{"told by a known clock", func(tell func(string, string, StepKind, float64) *step) {
			tell("api-1.log", "", StepDeployStarted, 60)
		}, "-5ms–10ms true"},
		{"told by a clock that the step names", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60).Clock = "journal"
		}, "0s–15ms true"},
		{"told, and contradicted by a step before it", func(tell func(string, string, StepKind, float64) *step) {
			tell("api-1.log", "", StepDeployStarted, 60).ignored = true
		}, "-20s–20s false"},
		{"told by the clock of a stop that another dates to 2 s", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepRestartBegan, 100)
			tell("api-1.log", "api-1", StepRestartBegan, 102)
		}, "-2.005s–2.01s true"},
		{"told by another clock than the stop", func(tell func(string, string, StepKind, float64) *step) {
			tell("ci", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepRestartBegan, 100)
			tell("api-1.log", "api-1", StepRestartBegan, 102)
		}, "-20s–20s false"},
		{"told by the clock of what is no stop", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepAppReady, 100)
			tell("api-1.log", "api-1", StepAppReady, 100)
		}, "-20s–20s false"},
		{"told by the clock of two stops, of which the second is dated better", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepRestartBegan, 100)
			tell("api-1.log", "api-1", StepRestartBegan, 102)
			tell("workflow", "api-2", StepRestartBegan, 150)
			tell("api-1.log", "api-2", StepRestartBegan, 151)
		}, "-1.005s–1.01s true"},
		{"told by the clock of two stops, of which the first is dated better", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepRestartBegan, 100)
			tell("api-1.log", "api-1", StepRestartBegan, 101)
			tell("workflow", "api-2", StepRestartBegan, 150)
			tell("api-1.log", "api-2", StepRestartBegan, 152)
		}, "-1.005s–1.01s true"},
		{"told by the clock of two stops that are dated as well", func(tell func(string, string, StepKind, float64) *step) {
			tell("workflow", "", StepDeployStarted, 60)
			tell("workflow", "api-1", StepRestartBegan, 100)
			tell("api-1.log", "api-1", StepRestartBegan, 101)
			tell("workflow", "api-2", StepRestartBegan, 150)
			tell("journal", "api-2", StepRestartBegan, 151)
		}, "-1.005s–1.01s true"},
	} {
		b := newTable()
		b.doubt = 20 * time.Second
		b.offsets = []ClockOffset{{"alb", "api-1.log", Interval{-5, 10}}, {"alb", "journal", Interval{0, 15}}}
		c.lay(func(source, target string, kind StepKind, at float64) *step {
			b.steps = append(b.steps, step{Step: Step{Source: source, Target: target, Kind: kind, At: b.at(at)}})
			return &b.steps[len(b.steps)-1]
		})
		for range 2 { // it is remembered
			s := b.startAhead("alb")
			if got := fmt.Sprintf("%v–%v %t", s.least, s.most, s.known); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			b.steps = nil
		}
	}
}

// The prober is 3 s behind, which its own requests show. api-1 is stopped as it serves, at
// 61.05, a second after the start, and is back at 61.95: the probes at 61.213, 61.413 and
// so on that it failed are recorded before the start.
func TestAProberThatIsBehindFailsAfterTheStart(t *testing.T) {
	for _, behind := range []time.Duration{0, 3 * time.Second} {
		s := newScene(t)
		s.userEvery = time.Second
		s.stop("api-1", 61.05, 61.95, false)
		s.proberAhead(-behind)
		r := Judge(s.obs)
		failed := s.failed[ClassProbe]
		if causes := r.Totals[ClassProbe].Causes; failed == 0 || causes[CauseDeploy] != failed || len(causes) != 1 {
			t.Errorf("%s behind: causes %v, want the %d of the deploy", behind, causes, failed)
		}
		s.claim(r, ClaimNoProbeFailureCaused, Disproved, ReasonCausedByDeploy)
		s.claim(r, ClaimNoProbeFailure, Disproved, ReasonFailureInScope)
	}
}

// The prober is 3 s behind, and the start is by a clock of which nothing is known. A probe
// that failed 2 s before it by the prober's may have failed after it: nothing says whether.
func TestAFailureThatMayBeAfterTheStart(t *testing.T) {
	for _, c := range []struct {
		at     float64
		state  VerdictState
		reason string
		cause  Cause
	}{
		{40, Supported, ReasonNoFailure, CauseBackground},
		{58, Inconclusive, ReasonClocks, CauseUnexplained},
	} {
		s := newScene(t)
		s.stop("api-1", 120, 130, true)
		s.obs.Steps[0].Source = "ci"
		s.proberAhead(-3 * time.Second)
		for seq := 1500; seq < 1560; seq++ { // it goes on to the window's end
			at := s.at(.2*float64(seq) - 3)
			s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "more", Seq: seq, Sent: at, Done: at.Add(9 * time.Millisecond), Status: 200, Outcome: OutcomeOK})
		}
		s.obs.Probes = append(s.obs.Probes, ProbeRequest{Source: "store", Probe: "store", Class: ClassProbe, Run: "lost", Sent: s.at(c.at), Done: s.at(c.at + .01), Outcome: OutcomeTimeout})
		r := Judge(s.obs)
		if causes := r.Totals[ClassProbe].Causes; causes[c.cause] != 1 {
			t.Errorf("at %g: causes %v, want %s", c.at, causes, c.cause)
		}
		s.claim(r, ClaimNoProbeFailureCaused, c.state, c.reason)
		s.claim(r, ClaimNoProbeFailure, c.state, c.reason)
	}
}
