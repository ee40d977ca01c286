package analysis

import (
	"slices"
	"testing"
	"time"
)

// api-1 served until 99.9 s, was told to stop at 115 and served again from 130. Three
// requests that the balancer failed at 120 without a target were sent to nobody: api-2
// was there for whoever was sent anywhere.
func TestSentToNobodyIsNotSentToAnEjectedTarget(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-1", 10, 0, 100, false)
	s.serve("alb", "api", "api-1", 10, 130, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.step(StepDrainMarked, "api-1", 85)
	s.restart("api-1", 115, 118)
	s.serve("alb", "api", "", 3, 120, 121, true)
	r := Judge(s.obs)
	if causes := r.Totals[ClassUser].Causes; causes[CauseUnexplained] != 3 || len(causes) != 1 {
		t.Errorf("causes %v, want 3 unexplained", causes)
	}
	s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonUnexplained)
	s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
	s.fired(r, "blind-spot", "single-target")
	if w := r.Targets[0].FailureWindows; len(w) != 0 {
		t.Errorf("failure windows %+v", w)
	}
}

// The same three where api-1 was in rotation until it stopped: one of the two failed
// them, and the log does not say which.
func TestSentToNobodyKnownWhileATargetWasInRotation(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-1", 10, 0, 115, false)
	s.serve("alb", "api", "api-1", 10, 130, 300, false)
	s.serve("alb", "api", "api-2", 10, 0, 300, false)
	s.restart("api-1", 115, 118)
	s.serve("alb", "api", "", 3, 117, 118, true)
	r := Judge(s.obs)
	s.claim(r, ClaimNoUserFailureCaused, Disproved, ReasonCausedByDeploy)
	s.fired(r, "blind-spot", "restart-before-eject", "single-target")
}

// api-1 is out of rotation from 125 to 170 s; from 150 to 160 api-2 is as well, and
// nobody told why. With api-1 there nobody had been refused, so that the deploy is to
// blame; but nothing was sent to api-1 after its stop.
func TestNobodyLeftToSendTo(t *testing.T) {
	s := newScene(t)
	s.stop("api-1", 140, 150, true)
	s.out["api-2"] = []span{{s.at(150), s.at(160)}}
	r := s.judge()
	if users := r.Totals[ClassUser]; users.Failures != 200 || users.Causes[CauseDeploy] != 200 {
		t.Errorf("%d failures, causes %v, want 200 by the deploy", users.Failures, users.Causes)
	}
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == "restart-before-eject" }) {
		t.Errorf("nothing was sent to api-1 after its stop: %+v", r.Findings)
	}
	s.claim(r, ClaimEjectedBeforeStop, Supported, ReasonNoFailure)
}

func TestWhenATargetWasOut(t *testing.T) {
	quiet := func(b *table) { b.life("api-1").cycles[0].lastServed = b.at(90) }
	out := func(at float64) func(*table) {
		return func(b *table) {
			l := b.life("api-1")
			l.changes = append(l.changes, change{before: b.at(at - 1), seen: b.at(at)})
		}
	}
	back := func(b *table, at float64) {
		l := b.life("api-1")
		l.changes = append(l.changes, change{in: true, before: b.at(at - 1), seen: b.at(at)})
	}
	sent := func(b *table, source, target string, outcome Outcome, at float64) *Request {
		b.obs.Requests = append(b.obs.Requests, Request{CellKey: CellKey{Source: source, Target: target, Outcome: outcome}, Start: b.at(at), End: b.at(at + 1)})
		return &b.obs.Requests[len(b.obs.Requests)-1]
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing tells", func(*table) {}, "-"},
		// Half of the requests are its own: .5^5 = 3 %, .5^4 = 6 %.
		{"quiet for five requests", func(b *table) { quiet(b); b.cell("alb", "api-2", 90, 99, 5) }, "90"},
		{"quiet for four", func(b *table) { quiet(b); b.cell("alb", "api-2", 90, 99, 4) }, "-"},
		{"quiet for others that do not count", func(b *table) { quiet(b); b.cell("edge", "api-2", 90, 99, 5) }, "-"},
		{"quiet while nobody was chosen", func(b *table) { quiet(b); b.cell("alb", "", 90, 99, 5) }, "-"},
		{"quiet only once it was stopped", func(b *table) { quiet(b); b.cell("alb", "api-2", 100, 109, 50) }, "-"},
		{"quiet since before the window", func(b *table) {
			b.life("api-1").cycles[0].lastServed = time.Time{}
			b.cell("alb", "api-2", 100, 109, 5)
		}, "-"},
		{"quiet, and alone", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			b.life("api-2").group = "web"
		}, "-"},
		{"quiet, displayed out later", func(b *table) { quiet(b); out(104)(b); b.cell("alb", "api-2", 90, 99, 5) }, "90"},
		{"its own last request", func(b *table) { quiet(b); b.cell("alb", "api-1", 90, 90, 50) }, "-"},
		{"quiet, and yet asked", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			sent(b, "alb", "api-1", OutcomeLB5xx, 105)
		}, "-"},
		{"quiet, and the other asked", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			sent(b, "alb", "api-2", OutcomeLB5xx, 105)
			sent(b, "edge", "api-1", OutcomeLB5xx, 105)
			sent(b, "alb", "api-1", OutcomeOK, 105)
			sent(b, "alb", "api-1", OutcomeLB5xx, 90)  // as it served for the last time
			sent(b, "alb", "api-1", OutcomeLB5xx, 115) // as it served again
		}, "90"},
		{"quiet, and asked by one that another target answered", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			sent(b, "alb", "api-2", OutcomeOK, 105).FailedOn = []string{"api-1"}
		}, "-"},
		{"quiet, and asked by one that was only counted", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			b.unkept = []unkept{{Cell: b.cell("alb", "api-1", 105, 106, 2), n: 1}}
		}, "-"},
		{"quiet, and the other asked by one that was only counted", func(b *table) {
			quiet(b)
			b.cell("alb", "api-2", 90, 99, 5)
			for _, cell := range []*Cell{b.cell("alb", "api-2", 105, 106, 1), b.cell("edge", "api-1", 105, 106, 1), b.cell("alb", "api-1", 90, 91, 1), b.cell("alb", "api-1", 115, 116, 1)} {
				b.unkept = append(b.unkept, unkept{Cell: cell, n: 1})
			}
		}, "90"},
		{"displayed so", out(104), "104"},
		{"displayed so before it served for the last time", out(93), "95"},
		{"displayed so, and asked later", func(b *table) { out(104)(b); sent(b, "alb", "api-1", OutcomeLB5xx, 107) }, "107"},
		{"displayed so, and asked later by one that was only counted", func(b *table) {
			out(104)(b)
			b.unkept = []unkept{{Cell: b.cell("alb", "api-1", 107, 108, 2), n: 1}}
		}, "107.999999"},
		{"displayed so, and asked later by one that was only counted, which took long", func(b *table) {
			out(104)(b)
			b.unkept = []unkept{{Cell: b.cell("alb", "api-1", 107, 112, 1), n: 1}}
		}, "107"},
		{"displayed so when it was back", out(115), "-"},
		{"displayed so before, and in again", func(b *table) { out(80)(b); back(b, 109) }, "-"},
		{"displayed in again once it was ready", func(b *table) { out(104)(b); back(b, 110) }, "104"},
		{"displayed so, in again, and so once more", func(b *table) { out(80)(b); back(b, 90); out(105)(b) }, "105"},
		{"never ready, and in again after the stop", func(b *table) {
			b.life("api-1").cycles[0].ready = time.Time{}
			out(99)(b)
			back(b, 100)
		}, "99"},
		{"no step tells, and never asked", func(b *table) {
			b.life("api-1").cycles[0] = cycle{inferred: inferredFromTraffic, lastServed: b.at(95), firstServed: b.at(115)}
		}, "95"},
		{"no step tells, and asked", func(b *table) {
			b.life("api-1").cycles[0] = cycle{inferred: inferredFromTraffic, lastServed: b.at(95), firstServed: b.at(115)}
			sent(b, "alb", "api-1", OutcomeLB5xx, 105)
		}, "-"},
		{"no step tells, and served last in a whole second", func(b *table) {
			b.life("api-1").cycles[0] = cycle{inferred: inferredFromTraffic, lastServed: b.at(95), lastServedBy: b.at(96), firstServed: b.at(115)}
		}, "96"},
		{"quiet, and served last in a whole second", func(b *table) {
			quiet(b)
			b.life("api-1").cycles[0].lastServedBy = b.at(91)
			b.cell("alb", "api-2", 90, 99, 5)
		}, "91"},
		{"quiet, and served last in the second of its stop", func(b *table) {
			quiet(b)
			b.life("api-1").cycles[0].lastServedBy = b.at(100.5)
			b.cell("alb", "api-2", 90, 99, 5)
		}, "100"},
		{"no step tells of its stop, asked, and displayed so", func(b *table) { untold(b); out(104)(b); sent(b, "alb", "api-1", OutcomeLB5xx, 102) }, "104"},
		{"no step tells of its stop, and never asked", untold, "95"},
		{"no step tells of its stop, and asked", func(b *table) { untold(b); sent(b, "alb", "api-1", OutcomeLB5xx, 105) }, "-"},
		{"no step tells of its stop, nor that it was ready", func(b *table) {
			untold(b)
			b.life("api-1").cycles[0].ready = time.Time{}
			out(104)(b)
		}, "-"},
	} {
		b := newTable()
		b.cut("api-1")
		c.lay(b)
		b.findEjections()
		if got := b.seconds(b.life("api-1").cycles[0].out); got != c.want {
			t.Errorf("%s: out from %s, want %s", c.name, got, c.want)
		}
	}
}

// The slack is 2 s; it left at 95 and served again at 115.
func TestOutUntilItServedAgain(t *testing.T) {
	for _, c := range []struct {
		at         float64
		out, first float64
		want       bool
	}{
		{97, 95, 115, false}, {97.1, 95, 115, true}, {114.9, 95, 115, true}, {115, 95, 115, false}, {299, 95, 0, true}, {105, 0, 115, false},
	} {
		b := newTable()
		l, cut := b.life("api-1"), b.cut("api-1")
		cut.out, cut.firstServed = b.at(c.out), b.at(c.first)
		if c.out == 0 {
			cut.out = time.Time{}
		}
		if c.first == 0 {
			cut.firstServed = time.Time{}
		}
		if got := b.isOut(l, *cut, b.at(c.at)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// A target usually pauses for 2 s: it surely is in rotation where it served before and
// after, no more than 6 s apart; 3 s where it hardly pauses.
func TestOthersThatServe(t *testing.T) {
	for _, c := range []struct {
		name          string
		pause         time.Duration
		before, after float64
		want          bool
	}{
		{"at both", time.Second, 100, 103, true}, {"too far apart", time.Second, 100, 103.1, false},
		{"hardly pauses", time.Millisecond, 100, 103, true}, {"hardly pauses, and did", time.Millisecond, 100, 103.1, false},
		{"usually pauses", 2 * time.Second, 100, 106, true}, {"longer than usual", 2 * time.Second, 100, 106.1, false},
		{"not after", time.Second, 98, 100, false}, {"not before", time.Second, 102, 103, false},
		{"to the moment", time.Second, 98, 101, true}, {"from the moment on", time.Second, 101, 104, true},
	} {
		b := newTable()
		b.life("api-2", c.before, c.after).usualPause = c.pause
		if got := b.othersServe(b.life("api-1"), b.at(101)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
		if b.othersServe(b.life("api-2"), b.at(101)) {
			t.Errorf("%s: api-2 is no other", c.name)
		}
		b.life("api-2").group = "web"
		if b.othersServe(b.life("api-1"), b.at(101)) {
			t.Errorf("%s: another group's", c.name)
		}
	}
}

// Two requests of a target were left by their clients, sent at 80 and 80.5.
func TestLastSentIsOneThatAClientLeft(t *testing.T) {
	for _, c := range []struct{ from, to, want float64 }{{70, 90, 80.5}, {80.4, 90, 80.5}, {80.5, 90, 0}, {70, 80.1, 80.5}, {70, 80, 0}} {
		b := newTable()
		left := b.cell("alb", "api-1", 80, 80.5, 2)
		left.Outcome, left.Status, left.TargetStatus = OutcomeClientAbort, 460, 0
		want := time.Time{}
		if c.want > 0 {
			want = b.at(c.want)
		}
		if got := b.lastSent("api-1", b.at(c.from), b.at(c.to)); !got.Equal(want) {
			t.Errorf("%+v: %s", c, b.seconds(got))
		}
	}
}

// api-1 was told to stop at 100 and was ready at 110; a request failed of which nobody says
// where it was sent.
func TestFailuresThatMayHaveBeenSentToAStoppedTarget(t *testing.T) {
	for _, c := range []struct {
		name       string
		start, end float64
		bend       func(*table, *failure)
		want       bool
	}{
		{"while it was stopped", 104, 105, nil, true},
		{"until it was", 98, 99.9, nil, false},
		{"as it was", 99, 100, nil, true},
		{"as it was ready", 110, 111, nil, false},
		{"before it was ready", 109.9, 111, nil, true},
		{"sent to another", 104, 105, func(_ *table, f *failure) { f.target = "api-2" }, false},
		{"meant for another group", 104, 105, func(_ *table, f *failure) { f.group = "web" }, false},
		{"for want of a target", 104, 105, func(_ *table, f *failure) { f.status = 503 }, false},
		{"when it was out", 104, 105, func(b *table, _ *failure) { b.life("api-1").cycles[0].out = b.at(101) }, false},
		{"before it was out", 101, 102, func(b *table, _ *failure) { b.life("api-1").cycles[0].out = b.at(101) }, true},
	} {
		b := newTable()
		l := b.life("api-1")
		l.group = "api"
		b.cut("api-1")
		f := b.lost("", c.start, c.end)
		if c.bend != nil {
			c.bend(b, f)
		}
		if got := b.failedSomewhere(l, l.cycles[0]); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// api-1 is killed at 100 and served until then; what is sent to it until 104 fails, and the
// log does not say where. Nobody can say that it had left before.
func TestKilledWhileFailuresNameNoTarget(t *testing.T) {
	s := newShape(t, "api-1", "api-2")
	s.serve("alb", "api", "api-1", 4, 0, 100, false)
	s.serve("alb", "api", "api-1", 4, 120, 300, false)
	s.serve("alb", "api", "api-2", 4, 0, 300, false)
	s.step(StepProcessKilled, "api-1", 100)
	s.step(StepAppReady, "api-1", 118)
	s.claim(Judge(s.obs), ClaimEjectedBeforeStop, Supported, ReasonNoFailure) // nothing shows otherwise
	s.serve("alb", "api", "", 4, 100, 104, true)
	for i := range s.obs.Requests {
		s.obs.Requests[i].Status = 502
	}
	s.claim(Judge(s.obs), ClaimEjectedBeforeStop, Inconclusive, ReasonServedUnknown)
}
