package analysis

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// cut gives a target a stop at 100, readiness at 110, and its last and first request at
// 95 and 115; the check's timeout, which is the slack, is 2 s.
func (b *table) cut(target string) *cycle {
	c := b.cycle(target, 100, 110, 115)
	c.lastServed = b.at(95)
	return c
}

func TestWhatMeetsTheDeploy(t *testing.T) {
	for _, c := range []struct {
		name       string
		target     string
		start, end float64
		bend       func(*table)
		want       bool
	}{
		{"after its last request", "api-1", 94, 95, nil, true},
		{"before it", "api-1", 93, 94.9, nil, false},
		{"before its first request", "api-1", 114.9, 115, nil, true},
		{"the timeout after that", "api-1", 117, 118, nil, true},
		{"later", "api-1", 117.1, 118, nil, false},
		{"the other target", "api-2", 105, 106, nil, false},
		{"nobody named", "", 105, 106, nil, true},
		{"clocks that leave a second open", "api-1", 93, 94, func(b *table) { b.doubt = time.Second }, true},
		{"clocks that leave a second open at the other end", "api-1", 118, 119, func(b *table) { b.doubt = time.Second }, true},
		{"clocks do not narrow it", "api-1", 105, 106, func(b *table) { b.doubt = 20 * time.Second }, true},
		{"nobody named, out since, and the other served", "", 105, 106, func(b *table) { b.out() }, false},
		{"named, out since, and the other served", "api-1", 105, 106, func(b *table) { b.out() }, true},
		{"nobody named, out since, and the other did not serve", "", 107, 108, func(b *table) { b.out() }, true},
		{"nobody named, out since, at its return", "", 113, 113.5, func(b *table) { b.out() }, true},
		{"nobody named, out since, at its stop", "", 101, 102, func(b *table) { b.out(); b.life("api-1").cycles[0].out = b.at(98) }, false},
		{"no deploy", "api-1", 105, 106, func(b *table) { b.obs.Deploy.ID = "" }, false},
		{"ready, and no step tells of its stop: after its last request", "api-1", 94, 95, untold, true},
		{"ready, and no step tells of its stop: before that", "api-1", 93, 94.9, untold, false},
		{"ready, and no step tells of its stop: at its return", "api-1", 115, 116, untold, true},
		{"neither stopped nor ready", "api-1", 115, 116, func(b *table) { untold(b); b.life("api-1").cycles[0].ready = time.Time{} }, false},
		{"it served on after the stop: the timeout before that", "api-1", 97, 98, func(b *table) { b.life("api-1").cycles[0].lastServed = b.at(101) }, true},
		{"still earlier", "api-1", 96, 97.9, func(b *table) { b.life("api-1").cycles[0].lastServed = b.at(101) }, false},
		{"gone for good, nobody named", "", 103, 104, func(b *table) { b.leave() }, false},
		{"gone for good, nobody named, at its stop", "", 102, 103, func(b *table) { b.leave() }, true},
		{"gone for good, and named", "api-1", 250, 251, func(b *table) { b.leave() }, true},
		{"new, and named before it served", "api-1", 100, 101, func(b *table) { b.arrive() }, true},
		{"new, and named as it began", "api-1", 98, 100, func(b *table) { b.arrive() }, true},
		{"new, and named before it began", "api-1", 98, 99.9, func(b *table) { b.arrive() }, false},
		{"new, and nobody named", "", 100, 101, func(b *table) { b.arrive() }, false},
		{"new, nobody named, the timeout before it served", "", 112, 113, func(b *table) { b.arrive() }, true},
		{"new, and long at work", "api-1", 117.1, 118, func(b *table) { b.arrive() }, false},
		{"new, and named as it served", "api-1", 115, 115.5, func(b *table) {
			b.arrive()
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health.Timeout = time.Nanosecond
			b.life("api-1").cycles[0].firstServed = b.at(114.9)
		}, false},
		{"new, and named as it first served, to the moment", "api-1", 115, 116, func(b *table) {
			b.arrive()
			b.obs.Service.LoadBalancers[0].TargetGroups[0].Health.Timeout = -time.Second
		}, true},
		{"new, and never at work", "api-1", 250, 251, func(b *table) { b.arrive(); b.life("api-1").cycles[0].firstServed = time.Time{} }, true},
		{"no target at all, nobody named", "", 199, 200, func(b *table) { b.none("api") }, true},
		{"just before that", "", 198, 199.9, func(b *table) { b.none("api") }, false},
		{"at its end", "", 210, 211, func(b *table) { b.none("api") }, false},
		{"no target at all in the failure's group", "", 205, 206, func(b *table) { b.none("api"); b.failures[0].group = "api" }, true},
		{"no target at all in another group", "", 205, 206, func(b *table) {
			b.none("api")
			b.life("api-2").group, b.life("api-2").groups = "web", map[string]bool{"web": true}
			b.failures[0].group = "web"
		}, false},
		{"nobody named, of the target's group", "", 105, 106, func(b *table) { b.failures[0].group = "api" }, true},
		{"nobody named, of another group that it is in too", "", 105, 106, func(b *table) { b.life("api-1").groups["web"] = true; b.failures[0].group = "web" }, true},
		{"nobody named, of another group", "", 105, 106, func(b *table) { b.life("api-2").groups["web"] = true; b.failures[0].group = "web" }, false},
		{"named, of another group", "api-1", 105, 106, func(b *table) { b.life("api-2").groups["web"] = true; b.failures[0].group = "web" }, true},
		{"nobody named, of a group that has no target", "", 105, 106, func(b *table) { b.failures[0].group = "web" }, true},
		{"no target at all, one named", "api-2", 205, 206, func(b *table) { b.none("api") }, false},
	} {
		b := newTable()
		b.cut("api-1")
		f := b.lost(c.target, c.start, c.end)
		if c.bend != nil {
			c.bend(b)
		}
		if got := b.meetsDeploy(f); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// untold leaves no word of when api-1 was stopped.
func untold(b *table) { c := &b.life("api-1").cycles[0]; c.restart, c.stop = time.Time{}, time.Time{} }

// out has api-1 out of rotation since its last request, while api-2 served until 106.
func (b *table) out() {
	b.life("api-1").cycles[0].out = b.at(95)
	b.life("api-2", 98, 99, 100, 101, 102, 103, 104, 105, 106, 113, 114)
}

// none has no target of a group in rotation from 200 to 210.
func (b *table) none(group string) {
	b.zero = []TargetGroupSpan{{group, b.span(200, 210)}}
}

// leave lets api-1 stop for good, arrive lets it begin for the first time.
func (b *table) leave() {
	c := &b.life("api-1").cycles[0]
	c.leaves, c.ready, c.firstServed = true, time.Time{}, time.Time{}
}

func (b *table) arrive() {
	c := &b.life("api-1").cycles[0]
	c.arrives, c.stop, c.lastServed = true, time.Time{}, time.Time{}
}

func TestWhoIsAtRisk(t *testing.T) {
	for _, c := range []struct {
		name       string
		target     string
		start, end float64
		bend       func(*table)
		want       bool
	}{
		{"the timeout before it began", "api-1", 97, 98, nil, true},
		{"earlier", "api-1", 97, 97.9, nil, false},
		{"the timeout after it was back", "api-1", 117, 118, nil, true},
		{"later", "api-1", 117.1, 118, nil, false},
		{"the other, of which nothing tells", "api-2", 105, 106, nil, true},
		{"the other, which served too closely around it", "api-2", 105, 106, func(b *table) { b.life("api-2", 104, 107) }, false},
		{"one that nothing else names", "gone", 200, 201, nil, true},
		{"from its mark on", "api-1", 80, 81, func(b *table) { b.life("api-1").cycles[0].marked = b.at(80) }, true},
		{"never back", "api-1", 299, 300, func(b *table) { b.leave() }, true},
		{"no step tells of its stop: the timeout before it last served", "api-1", 92, 93, untold, true},
		{"no step tells of its stop: earlier", "api-1", 92, 92.9, untold, false},
		{"marked, and no step tells of its stop: before the mark", "api-1", 94, 94.9, func(b *table) { untold(b); b.life("api-1").cycles[0].marked = b.at(97) }, false},
		{"of no target any stop is known", "api-2", 105, 106, func(b *table) { b.life("api-1").cycles = nil }, true},
		{"of no target any stop is known, nor of a deploy", "api-2", 105, 106, func(b *table) { b.life("api-1").cycles = nil; b.obs.Deploy.ID = "" }, false},
	} {
		b := newTable()
		b.cut("api-1")
		if c.bend != nil {
			c.bend(b)
		}
		if got := b.atRisk(b.lost(c.target, c.start, c.end)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestStopsOfOtherDeploys(t *testing.T) {
	step := func(b *table, deploy string, kind StepKind, target string, at float64) {
		b.obs.Steps = append(b.obs.Steps, Step{Deploy: deploy, Kind: kind, Target: target, At: b.at(at)})
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"ours", func(b *table) { step(b, "d1", StepRestartBegan, "api-1", 100) }, ""},
		{"nobody's", func(b *table) { step(b, "", StepRestartBegan, "api-1", 100) }, ""},
		{"nobody's, before any deploy", func(b *table) {
			b.obs.Neighbors = []Deploy{{ID: "d9", StartedAt: b.at(200)}}
			step(b, "", StepRestartBegan, "api-1", 10)
		}, ""},
		{"a mark is no stop", func(b *table) { step(b, "d0", StepDrainMarked, "api-1", 100) }, ""},
		{"until it was ready", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepAppReady, "api-1", 110)
		}, "api-1 98–112 false;"},
		{"never ready", func(b *table) { step(b, "d0", StepRestartBegan, "api-1", 100) }, "api-1 98–302 false;"},
		{"until it was said to serve", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepFirstRequest, "api-1", 115)
			step(b, "", StepTargetHealthy, "api-1", 112)
			step(b, "", StepTargetHealthy, "api-2", 105)
			step(b, "", StepTargetRegistered, "api-1", 103)
			step(b, "", StepAppReady, "api-1", 99)
		}, "api-1 98–114 false;"},
		{"until it served, after the longest pause", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			b.life("api-1", 99, 100.5, 120)
			for at := 121.0; at < 300; at += 15 {
				b.life("api-1", at)
			}
		}, "api-1 98–122 false;"},
		{"until it served, before this deploy took it in hand", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "d0", StepRestartBegan, "api-2", 105)
			step(b, "d1", StepDrainMarked, "api-2", 102)
			step(b, "d1", StepDrainMarked, "api-1", 120)
			step(b, "", StepAppReady, "api-1", 150)
			b.life("api-1", 99, 101, 103, 119, 155)
			for at := 104.0; at < 119; at++ {
				b.cell("alb", "api-1", at, at, 1).TargetStatus = 0
			}
		}, "api-1 98–121 false;api-2 103–302 false;"},
		{"until this deploy had it ready, since it did not serve before", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "d1", StepRestartBegan, "api-1", 120)
			step(b, "d1", StepAppReady, "api-1", 150)
			b.life("api-1", 99, 155)
		}, "api-1 98–152 false;"},
		{"told again by itself", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "d0", StepProcessKilled, "api-1", 101)
			step(b, "", StepFirstRequest, "api-1", 110)
		}, "api-1 98–112 false;api-1 99–112 false;"},
		{"ready, and served long after", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepAppReady, "api-1", 110)
			b.life("api-1", 99)
			for at := 120.0; at < 300; at += 15 {
				b.life("api-1", at)
			}
		}, "api-1 98–112 false;"},
		{"ready as it was stopped, and again", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepAppReady, "api-1", 100)
			step(b, "", StepAppReady, "api-1", 110)
		}, "api-1 98–112 false;"},
		{"until it served, before this deploy stopped it", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "d1", StepRestartBegan, "api-1", 120)
			step(b, "", StepAppReady, "api-1", 150)
			b.life("api-1", 99, 110, 115, 119)
		}, "api-1 98–112 false;"},
		{"after this deploy had stopped it", func(b *table) {
			step(b, "d1", StepRestartBegan, "api-1", 70)
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepFirstRequest, "api-1", 110)
		}, "api-1 98–112 false;"},
		{"as this deploy stopped it too", func(b *table) {
			step(b, "d1", StepRestartBegan, "api-1", 100)
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepFirstRequest, "api-1", 110)
		}, "api-1 98–112 false;"},
		// Whether it was back before this deploy took it is not known: it may never have been.
		{"said to serve as this deploy took it in hand", func(b *table) {
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "", StepFirstRequest, "api-1", 120)
			step(b, "d1", StepRestartBegan, "api-1", 120)
			step(b, "d1", StepAppReady, "api-1", 150)
		}, "api-1 98–152 false;"},
		{"a target that nothing else names has a slack of 1 s", func(b *table) { step(b, "d0", StepRestartBegan, "gone", 100) }, "gone 99–301 false;"},
		{"of blue and green, for good", func(b *table) {
			b.obs.Neighbors = []Deploy{{ID: "d0", Kind: KindBlueGreen}}
			step(b, "d0", StepRestartBegan, "api-1", 100)
		}, "api-1 98–102 false;api-1 98–302 true;"},
		{"of blue and green, and back", func(b *table) {
			b.obs.Neighbors = []Deploy{{ID: "d0", Kind: KindBlueGreen}}
			step(b, "d0", StepRestartBegan, "api-1", 100)
			step(b, "d0", StepAppReady, "api-1", 110)
		}, "api-1 98–112 true;"},
		{"another one is blue and green", func(b *table) {
			b.obs.Neighbors = []Deploy{{ID: "d9", Kind: KindBlueGreen}, {ID: "d0", Kind: KindRolling}}
			step(b, "d0", StepRestartBegan, "api-1", 100)
		}, "api-1 98–302 false;"},
	} {
		b := newTable()
		c.lay(b)
		b.findForeignStops()
		got := ""
		for _, d := range b.foreign {
			got += fmt.Sprintf("%s %s–%s %t;", d.target, b.seconds(d.from), b.seconds(d.to), d.named)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	b := newTable()
	b.foreign = []drain{{target: "gone", from: b.at(98), to: b.at(112)}} // of which nothing else is known
	if !b.meetsNeighbor(b.lost("", 105, 106)) || b.meetsNeighbor(b.lost("api-2", 105, 106)) {
		t.Error("what nobody says was sent elsewhere may have met the stop of an unknown target, what was sent to another has not")
	}
	for _, c := range []struct {
		target     string
		start, end float64
		widen      time.Duration
		named      bool
		want       bool
	}{
		{"api-1", 97, 98, 0, false, true},
		{"api-1", 96, 97.9, 0, false, false},
		{"api-1", 96, 97, time.Second, false, true},
		{"api-1", 112, 113, 0, false, true},
		{"api-1", 112.1, 113, 0, false, false},
		{"api-1", 113, 114, time.Second, false, true},
		{"api-2", 105, 106, 0, false, false},
		{"", 105, 106, 0, false, true},
		{"", 105, 106, 0, true, false},
		{"api-1", 105, 106, 0, true, true},
	} {
		b := newTable()
		b.foreign = []drain{{target: "api-1", from: b.at(98), to: b.at(112), named: c.named}}
		b.doubt = c.widen
		if got := b.meetsNeighbor(b.lost(c.target, c.start, c.end)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestOrderOfCauses(t *testing.T) {
	background := func(b *table) { // 60 s before the start had one of the kind, and 240 s after have no more
		b.life("api-2", 149, 152) // it was not restarted in between
		b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 1000}
		b.phase("build", 60, 300).Traffic[ClassUser] = &Counts{Requests: 4000}
		b.cell("alb", "api-1", 1, 1, 1)
		b.lost("api-2", 10, 11).request = "before"
	}
	version := func(b *table, after, before arm) {
		b.obs.Deploy.VersionBefore, b.obs.Deploy.VersionAfter = "1", "2"
		for _, side := range []struct {
			arm
			at float64
		}{{before, 90}, {after, 200}} {
			b.cell("alb", "api-1", side.at, side.at, side.all-side.failed)
			c := b.cell("alb", "api-1", side.at, side.at, side.failed)
			c.Outcome, c.Status, c.TargetStatus = OutcomeTarget5xx, 500, 500
		}
	}
	answered := func(f *failure) {
		f.outcome, f.status, f.targetAnswers = OutcomeTarget5xx, 500, true
	}
	for _, c := range []struct {
		name       string
		target     string
		start, end float64
		lay        func(*table, *failure)
		want       Cause
	}{
		{"before the start", "api-1", 58, 59.9, nil, CauseBackground},
		{"before the start, with another deploy's stop", "api-1", 58, 59.9, func(b *table, _ *failure) { b.other("api-1", 58) }, CauseShared},
		{"as it starts", "api-2", 59, 60, nil, CauseUnexplained},
		{"the deploy's", "api-1", 105, 106, nil, CauseDeploy},
		{"the deploy's and another's", "api-1", 105, 106, func(b *table, _ *failure) { b.other("api-1", 105) }, CauseDeploy},
		{"the deploy's, of a kind that was there before", "api-1", 96, 96.9, func(b *table, _ *failure) { background(b) }, CauseDeploy},
		{"the deploy's, by a worse version", "api-1", 112, 113, func(b *table, f *failure) { version(b, arm{20, 100}, arm{0, 100}); answered(f) }, CauseDeploy},
		{"the deploy's, not to be understood by any target", "", 105, 106, func(_ *table, f *failure) { f.status = 505 }, CauseDeploy},
		{"by a worse version, of a kind that was there before", "api-1", 200, 201, func(b *table, f *failure) {
			version(b, arm{20, 100}, arm{0, 100})
			background(b)
			answered(&b.failures[0])
			answered(f)
		}, CauseVersion},
		{"by a worse version, while another deploy had it", "api-1", 220, 221, func(b *table, f *failure) {
			version(b, arm{20, 100}, arm{0, 100})
			b.other("api-1", 220)
			answered(f)
		}, CauseVersion},
		{"worse only while another deploy had it", "api-1", 200, 201, func(b *table, f *failure) {
			version(b, arm{20, 100}, arm{0, 100})
			b.other("api-1", 200)
			answered(f)
		}, CauseShared},
		{"another's, of a kind that was there before", "api-2", 150, 151, func(b *table, _ *failure) { background(b); b.other("api-2", 150) }, CauseShared},
		{"another's, not to be understood by any target", "", 150, 151, func(b *table, f *failure) { b.other("api-2", 150); f.status = 505 }, CauseClient},
		{"down by another's stop, before this one took it", "api-1", 97, 97.5, func(b *table, _ *failure) { b.stopped("api-1", 96) }, CauseShared},
		{"down by both", "api-1", 105, 106, func(b *table, _ *failure) { b.stopped("api-1", 96) }, CauseDeploy},
		{"stopped by another before it served again", "api-1", 114, 114.5, func(b *table, _ *failure) {
			b.life("api-1").cycles[0].firstServed = b.at(130)
			b.other("api-1", 114)
		}, CauseShared},
		{"back from another's stop", "api-1", 129, 130, func(b *table, _ *failure) {
			b.life("api-1").cycles[0].firstServed = b.at(130)
			b.other("api-1", 114)
		}, CauseUnexplained},
		{"the deploy's, just before another stopped it too", "api-1", 96, 96.5, func(b *table, _ *failure) { b.other("api-1", 102) }, CauseDeploy},
		{"the deploy's, another's stop being over", "api-1", 96, 96.5, func(b *table, _ *failure) { b.other("api-1", 70) }, CauseDeploy},
		{"another's, which was over only as this one took it", "api-1", 96, 96.5, func(b *table, _ *failure) { b.other("api-1", 97) }, CauseShared},
		{"the deploy's, at its return, and another's", "api-1", 116, 116.5, func(b *table, _ *failure) { b.other("api-1", 117) }, CauseDeploy},
		{"long back, and stopped by another later", "api-1", 150, 151, func(b *table, _ *failure) { b.other("api-1", 200) }, CauseUnexplained},
		{"stopped by another as it was ready", "api-1", 114, 114.5, func(b *table, _ *failure) {
			b.life("api-1").cycles[0].firstServed = b.at(130)
			b.other("api-1", 112) // from 110 on, by the slack
		}, CauseDeploy},
		{"stopped by another before it was ready", "api-1", 116, 117, func(b *table, _ *failure) {
			c := &b.life("api-1").cycles[0]
			c.ready, c.firstServed = time.Time{}, b.at(130)
			b.other("api-1", 114)
		}, CauseDeploy},
		{"another's alone", "api-2", 105, 106, func(b *table, _ *failure) { b.other("api-2", 105) }, CauseShared},
		{"of a kind that was there before", "api-2", 150, 151, func(b *table, _ *failure) { background(b) }, CauseBackground},
		{"of another kind", "api-2", 150, 151, func(b *table, f *failure) { background(b); f.status = 504 }, CauseUnexplained},
		{"of that kind, in its target's own risk", "api-1", 93, 94, func(b *table, _ *failure) { background(b); b.life("api-1").cycles[0].marked = b.at(93) }, CauseUnexplained},
		{"of that kind, by clocks that disagree", "api-2", 150, 151, func(b *table, _ *failure) { background(b); b.doubtful = true }, CauseUnexplained},
		{"of that kind, nobody named", "", 150, 151, func(b *table, _ *failure) { background(b) }, CauseUnexplained},
		{"by a worse version", "api-1", 200, 201, func(b *table, f *failure) { version(b, arm{20, 100}, arm{0, 100}); answered(f) }, CauseVersion},
		{"on another route", "api-1", 200, 201, func(b *table, f *failure) { version(b, arm{20, 100}, arm{0, 100}); answered(f); f.route = "x" }, CauseUnexplained},
		{"not by the target itself", "api-1", 200, 201, func(b *table, f *failure) {
			version(b, arm{20, 100}, arm{0, 100})
			answered(f)
			f.targetAnswers = false
		}, CauseUnexplained},
		{"made by the load balancer", "api-1", 200, 201, func(b *table, f *failure) {
			version(b, arm{20, 100}, arm{0, 100})
			answered(f)
			f.outcome = OutcomeLB5xx
		}, CauseUnexplained},
		{"while it ran the old one", "api-1", 80, 81, func(b *table, f *failure) { version(b, arm{20, 100}, arm{0, 100}); answered(f) }, CauseUnexplained},
		{"by a version that is as good", "api-1", 200, 201, func(b *table, f *failure) { version(b, arm{20, 100}, arm{19, 100}); answered(f) }, CauseUnexplained},
		{"not to be understood by any target", "", 200, 201, func(_ *table, f *failure) { f.status = 505 }, CauseClient},
		{"nor this", "", 200, 201, func(_ *table, f *failure) { f.status = 501 }, CauseClient},
		{"said by a target", "api-2", 200, 201, func(_ *table, f *failure) { f.status = 501 }, CauseUnexplained},
		{"said by something else", "", 200, 201, func(_ *table, f *failure) { f.status, f.outcome = 501, OutcomeTarget5xx }, CauseUnexplained},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.cut("api-1")
			f := failure{class: ClassUser, target: c.target, start: b.at(c.start), end: b.at(c.end), outcome: OutcomeLB5xx, status: 502, route: OtherRoute, n: 1}
			if c.lay != nil {
				c.lay(b, &f)
			}
			b.failures = append(b.failures, f)
			b.findForeignStops()
			b.findCauses()
			if got := b.failures[len(b.failures)-1].cause; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// stopped lets another deploy stop a target that nobody says was ready again.
func (b *table) stopped(target string, at float64) {
	b.obs.Steps = append(b.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: target, At: b.at(at)})
}

// other lets another deploy stop a target.
func (b *table) other(target string, at float64) {
	b.obs.Steps = append(b.obs.Steps, Step{Deploy: "d0", Kind: StepRestartBegan, Target: target, At: b.at(at)}, Step{Deploy: "d0", Kind: StepAppReady, Target: target, At: b.at(at + 1)})
}

// taken is the same, as the judge has found it.
func (b *table) taken(target string, at float64) {
	b.foreign = append(b.foreign, drain{target: target, at: b.at(at), from: b.at(at - 2), to: b.at(at + 3)})
}

func TestWhoRunsTheNewVersion(t *testing.T) {
	unready := func(b *table) { b.life("api-1").cycles[0].ready = time.Time{} }
	for _, c := range []struct {
		name   string
		target string
		at     float64
		bend   func(*table)
		want   bool
	}{
		{"before it was ready", "api-1", 109.9, nil, false},
		{"from then on", "api-1", 110, nil, true},
		{"one that did not restart", "api-2", 200, nil, false},
		{"one that nothing else names", "gone", 200, nil, false},
		{"never told to be ready: before it served again", "api-1", 114.9, unready, false},
		{"never told to be ready: from then on", "api-1", 115, unready, true},
		{"never ready, and back after no more than three of its pauses", "api-1", 200, func(b *table) { unready(b); b.life("api-1").usualPause = 5 * time.Second }, false},
		{"never ready, and back after a little more", "api-1", 200, func(b *table) { unready(b); b.life("api-1").usualPause = 4999 * time.Millisecond }, true},
		{"never ready, and gone for 3 s", "api-1", 200, func(b *table) { unready(b); b.life("api-1").cycles[0].lastServed = b.at(112) }, false},
		{"never ready, and not known to have been stopped", "api-1", 200, func(b *table) {
			unready(b)
			c := &b.life("api-1").cycles[0]
			c.stop, c.restart, c.marked = time.Time{}, time.Time{}, c.stop
		}, false},
		{"neither ready nor served", "api-1", 200, func(b *table) { unready(b); b.life("api-1").cycles[0].firstServed = time.Time{} }, false},
		{"as another deploy stops it", "api-1", 220, func(b *table) { b.taken("api-1", 220) }, true},
		{"once it has", "api-1", 220.1, func(b *table) { b.taken("api-1", 220) }, false},
		{"once another deploy stopped another target", "api-1", 220.1, func(b *table) { b.taken("api-2", 220) }, true},
		{"another deploy stopped it before", "api-1", 200, func(b *table) { b.taken("api-1", 109.9) }, true},
		{"another deploy stopped it as it was ready", "api-1", 200, func(b *table) { b.taken("api-1", 110) }, false},
		{"back again from another deploy's", "api-1", 270, func(b *table) { b.taken("api-1", 220); b.cycle("api-1", 250, 260, 265) }, true},
		{"new, and never told to be ready", "api-1", 100, func(b *table) { b.arrive(); b.life("api-1").cycles[0].ready = time.Time{} }, true},
		{"new, and ready", "api-1", 109.9, func(b *table) { b.arrive() }, false},
		{"no version before", "api-1", 200, func(b *table) { b.obs.Deploy.VersionBefore = "" }, false},
		{"no version after", "api-1", 200, func(b *table) { b.obs.Deploy.VersionAfter = "" }, false},
		{"the same", "api-1", 200, func(b *table) { b.obs.Deploy.VersionAfter = "1" }, false},
	} {
		b := newTable()
		b.cut("api-1")
		b.obs.Deploy.VersionBefore, b.obs.Deploy.VersionAfter = "1", "2"
		if c.bend != nil {
			c.bend(b)
		}
		if got := b.runsNew(c.target, b.at(c.at)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestWhoRunsTheOldVersion(t *testing.T) {
	for _, c := range []struct {
		name   string
		target string
		at     float64
		bend   func(*table)
		want   bool
	}{
		{"before its stop", "api-1", 99.9, nil, true},
		{"from its stop on", "api-1", 100, nil, false},
		{"when it is back", "api-1", 200, nil, false},
		{"marked, and not yet stopped", "api-1", 99.9, func(b *table) { b.life("api-1").cycles[0].marked = b.at(80) }, true},
		{"marked, and nobody told of a stop", "api-1", 80, func(b *table) {
			c := &b.life("api-1").cycles[0]
			c.stop, c.restart, c.marked = time.Time{}, time.Time{}, b.at(80)
		}, false},
		{"one that did not restart", "api-2", 200, nil, true},
		{"one that nothing else names", "gone", 200, nil, false},
		{"one that is new", "api-1", 90, func(b *table) { b.arrive() }, false},
		{"as another deploy stops it", "api-2", 220, func(b *table) { b.taken("api-2", 220) }, true},
		{"once it has", "api-2", 220.1, func(b *table) { b.taken("api-2", 220) }, false},
		{"another one stopped it as this one began", "api-2", 90, func(b *table) { b.taken("api-2", 60) }, false},
		{"another one stopped it before", "api-2", 90, func(b *table) { b.taken("api-2", 59.9) }, true},
	} {
		b := newTable()
		b.cut("api-1")
		if c.bend != nil {
			c.bend(b)
		}
		if got := b.runsOld(c.target, b.at(c.at)); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestWorseRoutes(t *testing.T) {
	lay := func() *table {
		b := newTable()
		b.cut("api-1")
		b.obs.Deploy.VersionBefore, b.obs.Deploy.VersionAfter = "1", "2"
		b.cell("alb", "api-1", 90, 90, 100)
		b.cell("alb", "api-1", 200, 200, 80)
		return b
	}
	fail := func(b *table, source string, n int) *Cell {
		c := b.cell(source, "api-1", 200, 200, n)
		c.Outcome, c.Status, c.TargetStatus = OutcomeTarget5xx, 500, 500
		return c
	}
	key := routeKey{ClassUser, OtherRoute}
	b := lay()
	fail(b, "alb", 20)
	fail(b, "edge", 7)                  // does not count
	fail(b, "alb", 7).TargetStatus = 0  // the target did not answer
	fail(b, "alb", 7).Class = ClassTool // another class, and nothing before
	b.findWorseRoutes()
	if w := b.worse[key]; w == nil || w.new != (arm{20, 100}) || w.old != (arm{0, 100}) || w.p > 1e-6 {
		t.Errorf("%+v", w)
	}
	if len(b.worse) != 1 || !b.versionsCompared {
		t.Errorf("%+v", b.worse)
	}

	// A body that belies its status is the target's own failure too.
	b = lay()
	fail(b, "alb", 20).Outcome = OutcomeBadBody
	b.findWorseRoutes()
	if w := b.worse[key]; w == nil || w.new != (arm{20, 100}) {
		t.Errorf("bad bodies: %+v", w)
	}

	// What it answers from its stop on, before it is ready, is neither version's; nor is
	// what may be either's, of the second of its stop or its readiness.
	b = lay()
	c := &b.life("api-1").cycles[0]
	c.stop, c.ready = b.at(100.5), b.at(110.5)
	fail(b, "alb", 20)
	b.cell("alb", "api-1", 100, 100.4, 5)
	b.cell("alb", "api-1", 100.2, 100.8, 7)
	b.cell("alb", "api-1", 105, 105, 7)
	b.cell("alb", "api-1", 110.4, 110.9, 7)
	b.cell("alb", "api-1", 110.5, 110.9, 3)
	b.findWorseRoutes()
	if w := b.worse[key]; w == nil || w.new != (arm{20, 103}) || w.old != (arm{0, 105}) {
		t.Errorf("neither version's: %+v", w)
	}

	b = lay()
	b.obs.Cells = b.obs.Cells[1:]
	fail(b, "alb", 20)
	b.findWorseRoutes()
	if len(b.worse) != 0 || b.versionsCompared {
		t.Errorf("nothing of the old version: %+v", b.worse)
	}
	b = lay()
	b.obs.Deploy.VersionAfter = ""
	fail(b, "alb", 20)
	b.findWorseRoutes()
	if len(b.worse) != 0 || b.versionsCompared {
		t.Errorf("no versions: %+v", b.worse)
	}

	// One route compared, one that is new: what was compared stays so.
	b = lay()
	fail(b, "alb", 1).Route = "new"
	b.findWorseRoutes()
	if !b.versionsCompared {
		t.Error("a route without a past forgets the others")
	}

	// Probes are counted in their own records alone, and only where a target is known.
	b = lay()
	b.prober[ClassProbe] = true
	b.cell("alb", "api-1", 90, 90, 100).Class = ClassProbe
	fail(b, "alb", 20).Class = ClassProbe
	for i := range 40 {
		p := ProbeRequest{Probe: "store", Class: ClassProbe, Run: "r", Seq: i, Sent: b.at(90), Outcome: OutcomeOK, Target: "api-1"}
		if i >= 20 {
			p.Sent, p.Outcome = b.at(200), OutcomeTarget5xx
		}
		b.obs.Probes = append(b.obs.Probes, p)
		p.Target = ""
		p.Seq += 100
		b.obs.Probes = append(b.obs.Probes, p)
		p.Target, p.Sent = "api-1", b.at(300)
		b.obs.Probes = append(b.obs.Probes, p)
		p.Target, p.Sent, p.Seq = "", b.at(90), p.Seq+100 // received, and not answered
		b.obs.Probes = append(b.obs.Probes, p)
		b.handled[probeID{"r", p.Seq}] = []HandledRequest{{Target: "api-1", Run: "r", Seq: p.Seq, Begun: true}}
	}
	b.findWorseRoutes()
	if w := b.worse[routeKey{ClassProbe, "store"}]; w == nil || w.new != (arm{20, 20}) || w.old != (arm{0, 20}) || len(b.worse) != 1 {
		t.Errorf("probes %+v", b.worse)
	}

	// What they met while another deploy had stopped the target tells nothing of its version.
	b.foreign = []drain{{target: "api-1", from: b.at(199), to: b.at(201)}}
	for i := range b.obs.Probes {
		b.obs.Probes[i].Done = b.obs.Probes[i].Sent.Add(10 * time.Millisecond)
	}
	b.findWorseRoutes()
	if len(b.worse) != 0 {
		t.Errorf("probes while another deploy had it: %+v", b.worse)
	}
}

func TestBaselineOfAKind(t *testing.T) {
	lay := func() *table {
		b := newTable()
		b.phase("baseline", 0, 60).Traffic[ClassUser] = &Counts{Requests: 100}
		b.phase("build", 60, 100).Traffic[ClassUser] = &Counts{Requests: 50}
		b.phase("tail", 100, 300).Traffic[ClassUser] = &Counts{Requests: 250}
		return b
	}
	b := lay()
	if b.baselineTests() != nil {
		t.Error("nothing measured, and yet tested")
	}
	b.prober[ClassProbe] = true
	if tests := b.baselineTests(); tests == nil || len(tests) != 0 {
		t.Errorf("probes measured: %v", tests)
	}
	b = lay()
	b.cell("alb", "api-1", 1, 1, 1)
	if tests := b.baselineTests(); tests == nil || len(tests) != 0 {
		t.Errorf("users measured: %v", tests)
	}
	b.lost("api-1", 58, 59).n = 2
	b.lost("api-1", 59, 60) // the window's
	b.lost("api-1", 200, 201)
	b.lost("api-1", 150, 151).status = 504 // a kind that the baseline does not have
	b.lost("api-2", 200, 201)              // another deploy's
	b.foreign = []drain{{target: "api-2", from: b.at(199), to: b.at(202)}}
	tests := b.baselineTests()
	// Two before and two after, of which three quarters of the requests are the window's:
	// P(X ≥ 2) of 4 at .75 is 1 − .25⁴ − 4 · .75 · .25³ = .949.
	if len(tests) != 1 || tests[0].BaselineFailures != 2 || tests[0].WindowFailures != 2 || tests[0].BaselineRequests != 100 || tests[0].WindowRequests != 300 ||
		math.Abs(tests[0].P-.94921875) > 1e-9 || tests[0].Significant {
		t.Errorf("%+v", tests)
	}
	b.obs.Background = []BackgroundCount{{Source: "alb", Class: ClassUser, Count: 1000}} // days without any of the kind say nothing of it
	if again := b.baselineTests(); again[0].P != tests[0].P || again[0].BackgroundRequests != 0 {
		t.Errorf("with quiet days before: %+v", again)
	}
	// Half of the stretches of the days before had it: two in a row go without in a quarter.
	b.seenTo = b.started.Add(2 * BackgroundSpan)
	if p := b.meetingChance(BackgroundCount{Spans: 5, Of: 10}); p != .75 {
		t.Errorf("chance to meet it %g, want .75", p)
	}
}

func TestChanceOfACluster(t *testing.T) {
	kind := failure{class: ClassUser, outcome: OutcomeLB5xx, status: 502, route: OtherRoute}.kind()
	poisson3 := func(mean float64) float64 { return 1 - math.Exp(-mean)*(1+mean+mean*mean/2) }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want float64
	}{
		{"two say nothing", func(b *table) { b.lost("", 99, 100); b.lost("", 99, 101) }, 1},
		// 60 places of 5 s, and 3 of 300 s make .05 in each.
		{"three within 5 s", func(b *table) { b.lost("", 99, 100); b.lost("", 99, 101); b.lost("", 99, 105) }, 60 * poisson3(.05)},
		{"counted three at once", func(b *table) { b.lost("", 100, 100).n = 3 }, 60 * poisson3(.05)},
		{"three within 30 s: 10 places with .3", func(b *table) { b.lost("", 99, 100); b.lost("", 99, 101); b.lost("", 99, 105.1) }, 10 * poisson3(.3)},
		{"three far apart", func(b *table) { b.lost("", 99, 100); b.lost("", 99, 150); b.lost("", 99, 200) }, 1},
		{"one long before three", func(b *table) {
			b.lost("", 99, 100)
			b.lost("", 199, 200)
			b.lost("", 199, 201)
			b.lost("", 199, 205)
		}, 60 * poisson3(4./60)},
		{"those of the baseline make the rate, and are no cluster", func(b *table) {
			b.lost("", 50, 59.9).n = 3
			b.lost("", 59, 60)
			b.lost("", 59, 61)
			b.lost("", 59, 65)
		}, 60 * poisson3(.1)},
		{"another kind, and another deploy's", func(b *table) {
			b.lost("", 99, 100)
			b.lost("", 99, 101)
			b.lost("", 99, 102).status = 504
			b.lost("api-2", 102, 103)
			b.foreign = []drain{{target: "api-2", from: b.at(102.5), to: b.at(104)}}
		}, 1},
		{"a window of 30 s has places of 5 s only", func(b *table) {
			b.started, b.seenTo = b.from, b.at(30)
			b.lost("", 9, 10)
			b.lost("", 9, 11)
			b.lost("", 9, 15.1)
		}, 1},
	} {
		b := newTable()
		c.lay(b)
		if got := b.clusterChance(kind); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestFailureInAScope(t *testing.T) {
	b := newTable()
	scope := Scope{ClassUser, Time{b.at(100)}, Time{b.at(110)}}
	for _, c := range []struct {
		start, end float64
		n          int
		class      Class
		want       bool
	}{
		{99, 100, 1, ClassUser, true}, {98, 99.9, 1, ClassUser, false}, {109, 109.9, 1, ClassUser, true}, {109, 110, 1, ClassUser, false},
		{109, 111, 2, ClassUser, true}, {110, 111, 2, ClassUser, false}, {105, 106, 1, ClassProbe, false},
	} {
		f := b.lost("", c.start, c.end)
		f.n, f.unkept, f.class = c.n, c.n > 1, c.class
		if got := b.in(f, scope); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
