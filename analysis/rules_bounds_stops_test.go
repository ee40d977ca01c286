package analysis

import (
	"testing"
	"time"
)

func TestStopTimeoutTooShortBounds(t *testing.T) {
	// api-1 was asked to stop at 100 and began to shut down at 101.
	began := func(b *table) *stopping {
		b.logs()
		b.stoppings = []stopping{{target: "api-1", asked: b.at(100), began: b.at(101)}}
		return &b.stoppings[0]
	}
	const killed = "api-1 101–110 after_s=10 asked_at=100 began_at=101 by=kill cut_at=110"
	tryRule(t, stopTimeoutTooShort, []tableCase{
		{"no target stopped", func(*table) {}, whyNoStop},
		{"no rule that would tell a shutdown", func(b *table) { began(b).began = time.Time{} }, whySignals},
		{"others told their shutdown", func(b *table) {
			began(b).began = time.Time{}
			b.tell("api-2", 20, EventShutdownBegan, "")
		}, whyNoShutdown},
		{"nothing ended it", func(b *table) { began(b) }, "clear"},
		{"it finished, and then it was killed", func(b *table) { s := began(b); s.ended, s.killed = b.at(109.9), b.at(110) }, "clear"},
		{"it finished as it was killed", func(b *table) { s := began(b); s.ended, s.killed = b.at(110), b.at(110) }, "clear"},
		{"it was killed before it could finish", func(b *table) { s := began(b); s.ended, s.killed = b.at(110.1), b.at(110) }, killed},
		{"killed", func(b *table) { began(b).killed = b.at(110) }, killed},
		{"killed as it began", func(b *table) { began(b).killed = b.at(101) }, "api-1 101–101 after_s=1 asked_at=100 began_at=101 by=kill cut_at=101"},
		{"killed before it began", func(b *table) { began(b).killed = b.at(100.9) }, "clear"},
		{"nobody saw who asked", func(b *table) { s := began(b); s.asked, s.killed = time.Time{}, b.at(110) },
			"api-1 101–110 after_s=9 asked_at=- began_at=101 by=kill cut_at=110"},
		{"it gave up by itself", func(b *table) { began(b).aborted = b.at(106) }, "api-1 101–106 after_s=6 asked_at=100 began_at=101 by=application cut_at=106"},
		{"it gave up, and was killed then", func(b *table) { s := began(b); s.aborted, s.killed = b.at(106), b.at(110) },
			"api-1 101–106 after_s=6 asked_at=100 began_at=101 by=application cut_at=106"},
		{"it gave up as it was killed", func(b *table) { s := began(b); s.aborted, s.killed = b.at(110), b.at(110) }, killed},
		{"it was killed before it gave up", func(b *table) { s := began(b); s.aborted, s.killed = b.at(110.1), b.at(110) }, killed},
		{"its log was blind when it may have finished", func(b *table) { began(b).killed = b.at(110); b.blind("api-1.log", 109, 120) }, whyAppLogBlind},
		{"its log was blind from the kill on", func(b *table) { began(b).killed = b.at(110); b.blind("api-1.log", 110, 120) }, killed},
		{"it said itself that it gave up, whatever nobody read before", func(b *table) {
			began(b).aborted = b.at(106)
			b.blind("api-1.log", 102, 103)
		}, "api-1 101–106 after_s=6 asked_at=100 began_at=101 by=application cut_at=106"},
		{"one in time, one that nobody saw finish", func(b *table) {
			began(b).killed = b.at(110)
			b.blind("api-1.log", 109, 120)
			b.stoppings = append(b.stoppings, stopping{target: "api-2", began: b.at(150), ended: b.at(151)})
		}, whyAppLogBlind},
		{"one killed, one that nobody saw finish", func(b *table) {
			began(b).killed = b.at(110)
			b.blind("api-2.log", 151, 152)
			b.stoppings = append(b.stoppings, stopping{target: "api-2", began: b.at(150), killed: b.at(160)})
		}, killed},
	})
}

func TestStopSignalIgnoredBounds(t *testing.T) {
	// api-1 was asked to stop at 100 and was gone at 110; its log was read and had a line
	// at 90, and it has told of a shutdown before. Two witnesses may be 2 s apart.
	asked := func(b *table) *stopping {
		b.logs()
		b.lines("api-1.log", 90)
		b.tell("api-1", 20, EventShutdownBegan, "")
		b.stoppings = []stopping{{target: "api-1", asked: b.at(100), exited: b.at(110)}}
		return &b.stoppings[0]
	}
	const ignored = "api-1 100–110 after_s=10 asked_at=100 killed=false lines=1 over_at=110"
	tryRule(t, stopSignalIgnored, []tableCase{
		{"no target stopped", func(*table) {}, whyNoStop},
		{"gone without a word", func(b *table) { asked(b) }, ignored},
		{"killed", func(b *table) { s := asked(b); s.killed, s.exited = s.exited, time.Time{} },
			"api-1 100–110 after_s=10 asked_at=100 killed=true lines=1 over_at=110"},
		{"nobody asked it", func(b *table) { asked(b).asked = time.Time{} }, whyNoStop},
		{"nobody saw it go", func(b *table) { asked(b).exited = time.Time{} }, whyNoStop},
		{"gone before it was asked", func(b *table) { asked(b).exited = b.at(99.9) }, whyNoStop},
		{"gone as it was asked", func(b *table) { asked(b).exited = b.at(100) }, "api-1 100–100 after_s=0 asked_at=100 killed=false lines=1 over_at=100"},
		{"it said that it begins", func(b *table) { asked(b).began = b.at(101) }, "clear"},
		{"it said that it has finished", func(b *table) { asked(b).ended = b.at(101) }, "clear"},
		{"it said that it gave up", func(b *table) { asked(b).aborted = b.at(101) }, "clear"},
		{"blind until 2 s before it was asked", func(b *table) { asked(b); b.blind("api-1.log", 90, 98) }, ignored},
		{"blind less than 2 s before it was asked", func(b *table) { asked(b); b.blind("api-1.log", 90, 98.1) }, whyAppLogBlind},
		{"blind from 2 s after it was gone", func(b *table) { asked(b); b.blind("api-1.log", 112, 120) }, ignored},
		{"blind less than 2 s after it was gone", func(b *table) { asked(b); b.blind("api-1.log", 111.9, 120) }, whyAppLogBlind},
		{"another target's log was blind", func(b *table) { asked(b); b.blind("api-2.log", 90, 120) }, ignored},
		{"its last line was more than a minute before", func(b *table) { asked(b); b.obs.Counts[0].Second = b.at(39) }, whyNoLines},
		{"its last line was a minute before", func(b *table) { asked(b); b.obs.Counts[0].Second = b.at(40) }, ignored},
		{"its last line was before the window", func(b *table) {
			s := asked(b)
			s.asked, s.exited = b.at(59), b.at(69)
			b.obs.Counts[0].Second = b.at(-1)
		}, whyNoLines},
		{"a line within 2 s after it was gone", func(b *table) { asked(b); b.obs.Counts[0].Second = b.at(111) }, ignored},
		{"a line 2 s after it was gone", func(b *table) { asked(b); b.obs.Counts[0].Second = b.at(112) }, whyNoLines},
		{"no rule tells of shutdowns", func(b *table) { asked(b); b.obs.Signals = nil; b.readSignals() }, whySignals},
		{"only another target's rule is known to fit", func(b *table) { asked(b); b.obs.Signals[0].Target = "api-2" }, whyNeverMatched},
		{"one said that it stops, of another nobody knows", func(b *table) {
			asked(b).began = b.at(101)
			b.stoppings = append(b.stoppings, stopping{target: "api-2", asked: b.at(150), exited: b.at(160)})
		}, whyNoLines},
		{"one without a word, of another nobody knows", func(b *table) {
			asked(b)
			b.stoppings = append(b.stoppings, stopping{target: "api-2", asked: b.at(150), exited: b.at(160)})
		}, ignored},
	})
}

func TestTornWriteBounds(t *testing.T) {
	// api-1 was gone at 110. It had begun o-2 at 99 and ended o-1, so that ends are told.
	work := func(b *table, target string, at float64, event Event, key string) {
		b.tell(target, at, event, "").Key = key
	}
	gone := func(b *table) *stopping {
		b.logs()
		b.stoppings = []stopping{{target: "api-1", asked: b.at(100), exited: b.at(110)}}
		work(b, "api-1", 90, EventWorkBegan, "o-1")
		work(b, "api-1", 91, EventWorkEnded, "o-1")
		work(b, "api-1", 99, EventWorkBegan, "o-2")
		return &b.stoppings[0]
	}
	request := func(b *table, target string, at float64, seq int, begun bool) {
		h := HandledRequest{Source: target + ".log", Target: target, Run: "r", Seq: seq, At: b.at(at), Begun: begun}
		b.obs.Handled = append(b.obs.Handled, h)
		b.handled[probeID{"r", seq}] = append(b.handled[probeID{"r", seq}], h)
	}
	const torn = "api-1 99–110 keys=[o-2] killed=false over_at=110 received=0 works=1 (1)"
	const both = "api-1 98–110 keys=[o-2] killed=false over_at=110 received=1 works=1 (1)"
	tryRule(t, tornWrite, []tableCase{
		{"no target stopped", func(*table) {}, whyNoStop},
		{"work that nobody ended", func(b *table) { gone(b) }, torn},
		{"nobody saw it go", func(b *table) { gone(b).exited = time.Time{} }, whyNoStop},
		{"killed", func(b *table) { s := gone(b); s.killed, s.exited = s.exited, time.Time{} },
			"api-1 99–110 keys=[o-2] killed=true over_at=110 received=0 works=1 (1)"},
		{"ended as it went", func(b *table) { gone(b); work(b, "api-1", 110, EventWorkEnded, "o-2") }, "clear"},
		{"ended by another target", func(b *table) { gone(b); work(b, "api-2", 200, EventWorkEnded, "o-2") }, "clear"},
		{"ended 2 s before it began, by two clocks", func(b *table) { gone(b); work(b, "api-2", 97, EventWorkEnded, "o-2") }, "clear"},
		{"ended longer before: another piece of the same name", func(b *table) { gone(b); work(b, "api-2", 96.9, EventWorkEnded, "o-2") }, torn},
		{"ended before, and again", func(b *table) {
			gone(b)
			work(b, "api-2", 96, EventWorkEnded, "o-2")
			work(b, "api-2", 109, EventWorkEnded, "o-2")
		}, "clear"},
		{"told twice that it began", func(b *table) { gone(b); work(b, "api-1", 100, EventWorkBegan, "o-2") },
			"api-1 99–110 keys=[o-2] killed=false over_at=110 received=0 works=1 (1)"},
		{"a line without an identifier", func(b *table) { gone(b); work(b, "api-1", 105, EventWorkBegan, "") }, torn},
		{"another target's work", func(b *table) { gone(b); work(b, "api-2", 105, EventWorkBegan, "o-3") }, torn},
		{"work of the process after it", func(b *table) { gone(b); work(b, "api-1", 110, EventWorkBegan, "o-3") }, torn},
		{"work of the process before it", func(b *table) {
			gone(b)
			b.stoppings = append(b.stoppings, stopping{target: "api-1", killed: b.at(80)})
			work(b, "api-1", 79.9, EventWorkBegan, "o-0")
			work(b, "api-1", 70, EventWorkBegan, "o-00")
			work(b, "api-1", 71, EventWorkEnded, "o-00")
		}, "api-1 99–110 keys=[o-2] killed=false over_at=110 received=0 works=1 (1); api-1 79.9–80 keys=[o-0] killed=true over_at=80 received=0 works=1 (1)"},
		{"of no other work it told the end", func(b *table) { gone(b); b.obs.Signals[1].Key = "o-9" }, whyNeverMatched},
		{"of no work an end is told", func(b *table) { gone(b); b.obs.Signals = b.obs.Signals[:1]; b.readSignals() }, whySignals},
		{"blind between its beginning and the process's end", func(b *table) { gone(b); b.blind("api-1.log", 109, 120) }, whyAppLogBlind},
		{"blind before it began", func(b *table) { gone(b); b.blind("api-1.log", 80, 99) }, torn},
		{"blind after the process was gone", func(b *table) { gone(b); b.blind("api-1.log", 110, 120) }, torn},
		{"begun before the window, whose end may stand where nobody read", func(b *table) { gone(b); work(b, "api-1", -30, EventWorkBegan, "o-0") }, whyAppLogBlind},
		{"one torn, of another nobody knows", func(b *table) {
			gone(b)
			b.stoppings = append(b.stoppings, stopping{target: "api-2", exited: b.at(150)})
		}, torn},
		{"one clear, of another nobody knows", func(b *table) {
			gone(b)
			work(b, "api-1", 100, EventWorkEnded, "o-2")
			b.stoppings = append(b.stoppings, stopping{target: "api-2", exited: b.at(150)})
		}, whyNeverMatched},
		{"a request that nobody answered", func(b *table) {
			gone(b)
			request(b, "api-1", 95, 1, true)
			request(b, "api-1", 96, 1, false)
			request(b, "api-1", 98, 2, true)
		}, both},
		{"a request that another target received", func(b *table) {
			gone(b)
			request(b, "api-1", 95, 1, true)
			request(b, "api-1", 96, 1, false)
			request(b, "api-2", 98, 2, true)
		}, torn},
		{"requests only, each answered", func(b *table) {
			b.logs()
			b.stoppings = []stopping{{target: "api-1", exited: b.at(110)}}
			request(b, "api-1", 95, 1, true)
			request(b, "api-2", 120, 1, false)
		}, "clear"},
		{"requests only, of which none is known to be answered", func(b *table) {
			b.logs()
			b.stoppings = []stopping{{target: "api-1", exited: b.at(110)}}
			request(b, "api-1", 95, 1, true)
		}, whyNeverMatched},
		{"answers only: nothing tells what was received", func(b *table) {
			b.logs()
			b.stoppings = []stopping{{target: "api-1", exited: b.at(110)}}
			request(b, "api-1", 95, 1, false)
		}, whySignals},
	})
}

// A silence is evidence where the rule that would break it is known to fit what this
// very target writes.
func TestShutdownUntoldBy(t *testing.T) {
	rule := func(b *table, name string, event Event) {
		b.obs.Service.LogRules = append(b.obs.Service.LogRules, LogRule{Name: name, Event: event})
	}
	tried := func(b *table, name, source string, lines, matched int) {
		b.report.Controls = append(b.report.Controls, Control{Rule: name, Source: source, Lines: lines, Matched: matched})
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"no rule", func(*table) {}, whySignals},
		{"it told of another beginning", func(b *table) { b.tell("api-1", 20, EventShutdownBegan, "") }, ""},
		{"it told of another end", func(b *table) { b.tell("api-1", 20, EventShutdownEnded, "") }, ""},
		{"another target told of its beginning", func(b *table) { b.tell("api-2", 20, EventShutdownBegan, "") }, whyNeverMatched},
		{"another target told of its end", func(b *table) { b.tell("api-2", 20, EventShutdownEnded, "") }, whyNeverMatched},
		{"its service manager told that it gave up", func(b *table) { b.tell("api-1", 20, EventShutdownAborted, "") }, whySignals},
		{"it told something else", func(b *table) { b.tell("api-1", 20, EventProcessStarting, "") }, whySignals},
		{"tried, and it fits nothing", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/stop", "api-1.log", 1, 0) }, whyNeverMatched},
		{"tried on no line", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/stop", "api-1.log", 0, 0) }, whySignals},
		{"tried on another log", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/stop", "api-2.log", 1, 0) }, whySignals},
		{"tried, and then others were", func(b *table) {
			rule(b, "a/stop", EventShutdownBegan)
			tried(b, "a/stop", "api-1.log", 1, 0)
			tried(b, "b/start", "api-1.log", 1, 1)
		}, whyNeverMatched},
		{"only others were tried", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "b/start", "api-1.log", 1, 1) }, whySignals},
		{"another of its set fits", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/start", "api-1.log", 1, 1) }, ""},
		{"another of the set of a rule for the end fits", func(b *table) { rule(b, "a/end", EventShutdownEnded); tried(b, "a/start", "api-1.log", 1, 1) }, ""},
		{"another of its set fits in another log", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/start", "api-2.log", 1, 1) }, whySignals},
		{"another of its set fits nothing", func(b *table) { rule(b, "a/stop", EventShutdownBegan); tried(b, "a/start", "api-1.log", 1, 0) }, whySignals},
		{"another of its set fits lines of all targets", func(b *table) {
			rule(b, "a/stop", EventShutdownBegan)
			b.obs.Service.AppLogs = append(b.obs.Service.AppLogs, AppLog{Name: "all.log"})
			tried(b, "a/start", "all.log", 1, 1)
		}, whySignals},
		{"another of its set fits a line that names it", func(b *table) {
			rule(b, "a/stop", EventShutdownBegan)
			s := b.tell("api-1", 20, EventProcessStarting, "")
			s.Source, s.Rule = "all.log", "a/start"
		}, ""},
		{"another of its set fits a line that names another", func(b *table) {
			rule(b, "a/stop", EventShutdownBegan)
			b.tell("api-2", 20, EventProcessStarting, "").Rule = "a/start"
		}, whySignals},
		{"a rule of its own fits a line that names it", func(b *table) { rule(b, "a/stop", EventShutdownBegan); b.tell("api-1", 20, EventProcessStarting, "") }, whySignals},
		{"a set without a rule for shutdowns fits", func(b *table) { rule(b, "a/job", EventJobBegan); tried(b, "a/start", "api-1.log", 1, 1) }, whySignals},
		{"own rules are no set", func(b *table) {
			rule(b, "stop", EventShutdownBegan)
			tried(b, "stop", "api-1.log", 1, 0)
			tried(b, "start", "api-1.log", 1, 1)
		}, whyNeverMatched},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.logs()
			c.lay(b)
			if got := b.shutdownUntoldBy("api-1"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The lines about a stop are its evidence; where only steps tell it, its time.
func TestStopEvidence(t *testing.T) {
	b := newTable()
	s := stopping{target: "api-1", asked: b.at(100), exited: b.at(110)}
	if list := stopEvidence(&s); len(list) != 1 || list[0].Kind != "steps" || !list[0].From.Equal(b.at(100)) || !list[0].To.Equal(b.at(110)) {
		t.Errorf("by steps: %+v", list)
	}
	s.told = []*Signal{b.tell("api-1", 101, EventShutdownBegan, "")}
	if list := stopEvidence(&s); len(list) != 1 || list[0].Kind != "signals" || list[0].Source != "api-1.log" || list[0].Count != 1 {
		t.Errorf("by a line: %+v", list)
	}
}

// Helpers.

// logs makes the application logs of both targets known, which were read throughout.
func (b *table) logs() {
	for _, target := range []string{"api-1", "api-2"} {
		b.obs.Service.AppLogs = append(b.obs.Service.AppLogs, AppLog{Name: target + ".log", Target: target})
		b.coverage[target+".log"] = &Coverage{Source: target + ".log"}
	}
}

// blind takes a stretch out of what is known of a source.
func (b *table) blind(source string, from, to float64) {
	b.coverage[source].Blind = append(b.coverage[source].Blind, Blind{From: Time{b.at(from)}, To: Time{b.at(to)}})
}

// lines lays down seconds of an application log with one line each.
func (b *table) lines(source string, at ...float64) {
	for _, s := range at {
		b.obs.Counts = append(b.obs.Counts, RuleCount{Source: source, Rule: "own", Second: b.at(s), Lines: 1})
	}
}
