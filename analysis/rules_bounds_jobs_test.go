package analysis

import (
	"testing"
	"time"
)

func TestJobStoppedBounds(t *testing.T) {
	// The job invoice is to run every 20 s: 44 s without a run are allowed, two periods, a
	// tenth of one and 2 s. The window ends at 300.
	every := func(b *table, seconds float64) {
		b.logs()
		b.obs.Service.Jobs = []Job{{Name: "invoice", Every: time.Duration(seconds * float64(time.Second))}}
	}
	ran := func(b *table, at ...float64) {
		for _, s := range at {
			b.tell("api-1", s, EventJobBegan, "invoice")
		}
	}
	const stopped = "100–300 declared=true every_s=20 job=invoice last_at=100 last_on=api-1 quiet_s=200 skipped=0 (1)"
	tryRule(t, jobStopped, []tableCase{
		{"no deploy", func(b *table) { b.obs.Deploy.ID = "" }, whyNoDeploy},
		{"no rule tells of jobs", func(b *table) { every(b, 20) }, whySignals},
		{"no job, and no rule", func(*table) {}, whySignals},
		{"only other jobs ran", func(b *table) { every(b, 20); b.tell("api-1", 20, EventJobBegan, "cleanup") }, whyNeverMatched},
		{"one that is not configured, seen too seldom to know its period", func(b *table) {
			b.logs()
			b.lines("api-1.log", 200)
			ran(b, 10, 30)
		}, whyNoPeriod},
		{"one that is not configured, seen three times before the deploy", func(b *table) {
			b.logs()
			b.lines("api-1.log", 200)
			ran(b, 10, 30, 50)
		}, "60–300 declared=false every_s=20 job=invoice last_at=50 last_on=api-1 quiet_s=240 skipped=0 (1)"},
		{"quiet from 100 on", func(b *table) { every(b, 20); ran(b, 80, 100); b.lines("api-1.log", 200) }, stopped},
		{"quiet as long as is allowed", func(b *table) { every(b, 20); ran(b, 100, 256); b.lines("api-1.log", 299) }, "clear"},
		{"quiet for longer", func(b *table) { every(b, 20); ran(b, 100, 255.9); b.lines("api-1.log", 299) },
			"255.9–300 declared=true every_s=20 job=invoice last_at=255.9 last_on=api-1 quiet_s=44.1 skipped=0 (1)"},
		{"a run after the window", func(b *table) { every(b, 20); ran(b, 80, 100, 300); b.lines("api-1.log", 200) }, stopped},
		{"a long period, and a run as the deploy began", func(b *table) { every(b, 200); ran(b, 60) }, "clear"},
		{"a long period, and no run since the deploy began", func(b *table) { every(b, 200); ran(b, 59.9) }, whyWindowShort},
		{"a long period, and the next run after the window", func(b *table) { every(b, 200); ran(b, 50, 300) }, whyWindowShort},
		{"no line but that of its last run", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 100) }, whyNoLines},
		{"a line a second after its last run", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 101) }, stopped},
		{"a line of the other target only, which never told of a job", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-2.log", 200) }, whyNeverMatched},
		{"a line of the other target only, which told of another job", func(b *table) {
			every(b, 20)
			ran(b, 100)
			b.tell("api-2", 90, EventJobBegan, "cleanup")
			b.lines("api-2.log", 200)
		}, stopped},
		{"a line of the other target only, which told that it ended", func(b *table) {
			every(b, 20)
			ran(b, 100)
			b.tell("api-2", 90, EventJobEnded, "invoice")
			b.lines("api-2.log", 200)
		}, stopped},
		{"a line of the other target only, which told that it skipped", func(b *table) {
			every(b, 20)
			ran(b, 100)
			b.tell("api-2", 90, EventJobSkipped, "invoice")
			b.lines("api-2.log", 200)
		}, stopped},
		{"no line but that of its last run in a log that told of jobs", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 100); b.lines("api-2.log", 200) }, whyNeverMatched},
		{"a line a second after it in a log that told of jobs", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 101); b.lines("api-2.log", 200) }, stopped},
		{"a line of a log that is not configured and told a run", func(b *table) {
			every(b, 20)
			b.obs.Service.AppLogs = nil
			ran(b, 100)
			b.lines("api-1.log", 200)
		}, stopped},
		{"the other target's log was blind", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 200); b.blind("api-2.log", 110, 111) }, whyAppLogBlind},
		{"blind until its last run", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-1.log", 200); b.blind("api-1.log", 90, 100) }, stopped},
		{"a lock kept others from it", func(b *table) {
			every(b, 20)
			ran(b, 100)
			b.lines("api-1.log", 200)
			b.tell("api-2", 120, EventJobSkipped, "invoice")
		}, "100–300 declared=true every_s=20 job=invoice last_at=100 last_on=api-1 quiet_s=200 skipped=1 (1)"},
		{"one stopped, of another nothing is known", func(b *table) {
			every(b, 20)
			b.obs.Service.Jobs = append(b.obs.Service.Jobs, Job{Name: "cleanup", Every: 20 * time.Second})
			ran(b, 100)
			b.lines("api-1.log", 200)
		}, stopped},
		{"one goes on, of another nothing is known", func(b *table) {
			every(b, 20)
			b.obs.Service.Jobs = append(b.obs.Service.Jobs, Job{Name: "cleanup", Every: 20 * time.Second})
			ran(b, 290)
		}, whyNeverMatched},
	})
}

func TestOverlapDoubleRunBounds(t *testing.T) {
	// The job invoice is to run every 20 s, so that runs less than 18 s apart are of one
	// period. The deploy began at 60, and the window ends at 300. It ran on api-1 at 70 and
	// on api-2 at 75.
	every := func(b *table, seconds int) {
		b.obs.Service.Jobs = []Job{{Name: "invoice", Every: time.Duration(seconds) * time.Second}}
	}
	run := func(b *table, target string, at ...float64) {
		for _, s := range at {
			b.tell(target, s, EventJobBegan, "invoice")
		}
	}
	both := func(lay ...func(*table)) func(*table) {
		return func(b *table) {
			every(b, 20)
			run(b, "api-1", 70)
			run(b, "api-2", 75)
			for _, more := range lay {
				more(b)
			}
		}
	}
	stop := func(from, next float64) func(*table) {
		return func(b *table) {
			s := stopping{target: "api-1", began: b.at(from)}
			if next > 0 {
				s.next = b.at(next)
			}
			b.stoppings = append(b.stoppings, s)
		}
	}
	const twice = "api-2 70–75 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=0 skipped=0 targets=[api-1,api-2] (1) (1)"
	tryRule(t, overlapDoubleRun, []tableCase{
		{"no rule tells of jobs", func(b *table) { every(b, 20) }, whySignals},
		{"no job, and no rule", func(*table) {}, whySignals},
		{"a configured job never ran, of another nobody knows the period", func(b *table) { every(b, 20); b.tell("api-1", 70, EventJobBegan, "cleanup") }, whyNoPeriod},
		{"seen too seldom to know its period", func(b *table) { run(b, "api-1", 20, 40) }, whyNoPeriod},
		{"on both within its period", both(), twice},
		{"a period apart", func(b *table) { every(b, 20); run(b, "api-1", 70); run(b, "api-2", 88) }, "clear"},
		{"a little less than a period apart", func(b *table) { every(b, 20); run(b, "api-1", 70); run(b, "api-2", 87.9) },
			"api-2 70–87.9 every_s=20 job=invoice nearest_s=17.9 pairs=1 pairs_before=0 skipped=0 targets=[api-1,api-2] (1) (1)"},
		{"twice on one", func(b *table) { every(b, 20); run(b, "api-1", 70, 75) }, "clear"},
		{"lines that name no job", func(b *table) {
			every(b, 20)
			b.tell("api-1", 70, EventJobBegan, "")
			b.tell("api-2", 75, EventJobBegan, "")
		}, whyNoPeriod},
		{"two jobs, one on each", func(b *table) {
			every(b, 20)
			b.obs.Service.Jobs = append(b.obs.Service.Jobs, Job{Name: "cleanup", Every: 20 * time.Second})
			run(b, "api-1", 70)
			b.tell("api-2", 75, EventJobBegan, "cleanup")
		}, "clear"},

		{"the second before the deploy", func(b *table) { every(b, 20); run(b, "api-1", 50); run(b, "api-2", 55) }, "clear"},
		{"the second as the deploy began", func(b *table) { every(b, 20); run(b, "api-1", 55); run(b, "api-2", 60) },
			"api-2 55–60 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=0 skipped=0 targets=[api-1,api-2] (1) (1)"},
		{"before the deploy too", func(b *table) {
			every(b, 20)
			run(b, "api-1", 10)
			run(b, "api-2", 13)
			run(b, "api-1", 70)
			run(b, "api-2", 75)
		}, "api-2 70–75 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=1 skipped=0 targets=[api-1,api-2] (1) (1)"},
		{"before the window too", func(b *table) {
			every(b, 20)
			run(b, "api-1", -15)
			run(b, "api-2", -10)
			run(b, "api-1", 70)
			run(b, "api-2", 75)
		}, twice},
		{"the first before the window", func(b *table) { every(b, 200); run(b, "api-1", -10); run(b, "api-2", 65) },
			"api-2 0–65 every_s=200 job=invoice nearest_s=75 pairs=1 pairs_before=0 skipped=0 targets=[api-1,api-2] (1) (1)"},
		{"the second after the window", func(b *table) { every(b, 20); run(b, "api-1", 299); run(b, "api-2", 300) }, "clear"},

		{"nobody says where the first ran", func(b *table) { every(b, 20); run(b, "", 70); run(b, "api-2", 75) }, "clear"},
		{"nobody says where the second ran", func(b *table) { every(b, 20); run(b, "api-1", 70); run(b, "", 75) }, "clear"},
		{"nobody says where one between ran", func(b *table) { every(b, 20); run(b, "api-1", 70); run(b, "", 72); run(b, "api-2", 75) }, twice},

		{"the first was told to stop before the second", both(stop(72, 0)), "clear"},
		{"the first was told to stop as the second began", both(stop(75, 0)), "clear"},
		{"the first was told to stop after the second", both(stop(75.1, 0)), twice},
		{"the first was up again", both(stop(72, 74)), twice},
		{"the first was up again as the second began", both(stop(72, 75)), twice},
		{"the first was up again after the second began", both(stop(72, 75.1)), "clear"},
		{"the first was up again, and was told to stop once more", both(stop(71, 72), stop(74, 0)), "clear"},
		{"the first stopped before and after", both(stop(71, 72), stop(76, 0)), twice},
		{"the second was told to stop", both(func(b *table) { b.stoppings = []stopping{{target: "api-2", began: b.at(72)}} }), twice},

		// Each run makes a pair with the next one elsewhere; a run in two pairs is one line.
		{"in turn", both(func(b *table) { run(b, "api-1", 80) }),
			"api-1 70–80 every_s=20 job=invoice nearest_s=5 pairs=2 pairs_before=0 skipped=0 targets=[api-1,api-2] (2) (1)"},
		{"twice on the first, once on the second", func(b *table) { every(b, 20); run(b, "api-1", 70, 72); run(b, "api-2", 75) },
			"api-2 70–75 every_s=20 job=invoice nearest_s=3 pairs=2 pairs_before=0 skipped=0 targets=[api-1,api-2] (2) (1)"},
		{"again and again, the second time nearest", both(func(b *table) {
			run(b, "api-1", 100)
			run(b, "api-2", 102)
			run(b, "api-1", 130)
			run(b, "api-2", 134)
		}), "api-2 70–134 every_s=20 job=invoice nearest_s=2 pairs=3 pairs_before=0 skipped=0 targets=[api-1,api-2] (3) (3)"},
		// api-1 was away from 71 to 79, so that its pair is with 80; api-3 from 74 on.
		{"a pair within another", func(b *table) {
			every(b, 20)
			run(b, "api-1", 70)
			run(b, "api-2", 72)
			run(b, "api-3", 73)
			run(b, "api-2", 80)
			stop(71, 79)(b)
			b.stoppings = append(b.stoppings, stopping{target: "api-3", began: b.at(74)})
		}, "api-2 70–80 every_s=20 job=invoice nearest_s=1 pairs=2 pairs_before=0 skipped=0 targets=[api-1,api-2,api-3] (1) (2) (1)"},

		// The lock's lines from a period before the first until a period after the last: 50 to 95.
		{"some were skipped around", both(func(b *table) {
			for _, at := range []float64{49.9, 50, 94.9, 95} {
				b.tell("api-3", at, EventJobSkipped, "invoice")
			}
		}), "api-2 70–75 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=0 skipped=2 targets=[api-1,api-2] (1) (1)"},

		{"not configured: on one target before the deploy", func(b *table) { run(b, "api-1", 0, 20, 40, 55); run(b, "api-2", 60) },
			"api-2 55–60 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=0 skipped=0 targets=[api-1,api-2] (1) (1)"},
		{"not configured: its third run as the deploy began", func(b *table) { run(b, "api-1", 20, 40, 60); run(b, "api-2", 65) }, whyNoPeriod},
		{"not configured: on two targets before the deploy", func(b *table) { run(b, "api-1", 0, 20); run(b, "api-2", 40); run(b, "api-1", 60); run(b, "api-2", 65) }, whyNoPeriod},
		{"not configured: nobody says where it ran first", func(b *table) { run(b, "", 0); run(b, "api-1", 20, 40, 55); run(b, "api-2", 60) }, whyNoPeriod},
		{"not configured: nobody says where it ran last", func(b *table) { run(b, "api-1", 0, 20, 40); run(b, "", 55); run(b, "api-2", 60) }, whyNoPeriod},
		{"not configured: nobody says where it ever ran", func(b *table) { run(b, "", 0, 20, 40, 55); run(b, "api-2", 60) }, whyNoPeriod},
	})
}

func TestSkippedRuns(t *testing.T) {
	// As above: on api-1 at 70, on api-2 at 75, by lines that name a run or none. A run that
	// its target skipped is none.
	type line struct {
		target    string
		at        float64
		event     Event
		name, key string
		rule      string
	}
	skip := func(at float64) line { return line{"api-2", at, EventJobSkipped, "invoice", "", "own"} }
	end := func(at float64) line { return line{"api-2", at, EventJobEnded, "invoice", "", "own"} }
	const none, twice = "clear", "api-2 70–75 every_s=20 job=invoice nearest_s=5 pairs=1 pairs_before=0 skipped=1 targets=[api-1,api-2] (1) (1)"
	for _, c := range []struct {
		name, key string // of the run on api-2
		lines     []line
		want      string
	}{
		{"skipped as it began", "", []line{skip(75)}, none},
		{"skipped before it began", "", []line{skip(74.9)}, twice},
		{"skipped within its period", "", []line{skip(92.9)}, none},
		{"skipped when it would try again", "", []line{skip(93)}, twice},
		{"another target skipped its own", "", []line{{"api-3", 76, EventJobSkipped, "invoice", "", "own"}}, twice},
		{"the run is named, the skipped one is not", "r1", []line{skip(76)}, none},
		{"the skipped run is named, this one is not", "", []line{{"api-2", 76, EventJobSkipped, "invoice", "r1", "own"}}, none},
		{"both are named, and the same", "r1", []line{{"api-2", 76, EventJobSkipped, "invoice", "r1", "own"}}, none},
		{"both are named, and two", "r1", []line{{"api-2", 76, EventJobSkipped, "invoice", "r2", "own"}}, twice},
		{"it ended, and the next was skipped", "", []line{end(76), skip(77)}, twice},
		{"the next was skipped as it ended", "", []line{end(77), skip(77)}, twice},
		{"the one before ended as it began", "", []line{end(75), skip(76)}, none},
		{"another target's ended", "", []line{{"api-3", 76, EventJobEnded, "invoice", "", "own"}, skip(77)}, none},
		{"another job ended", "", []line{{"api-2", 76, EventJobEnded, "cleanup", "", "own"}, skip(77)}, none},
		{"it began again, and that was skipped", "", []line{{"api-2", 80, EventJobBegan, "invoice", "", "own"}, skip(85)}, twice},
		{"another rule told of it again", "", []line{{"api-2", 80, EventJobBegan, "invoice", "", "lock"}, skip(85)}, none},
		{"another target began meanwhile", "", []line{{"api-1", 80, EventJobBegan, "invoice", "", "own"}, skip(85)}, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.obs.Service.Jobs = []Job{{Name: "invoice", Every: 20 * time.Second}}
			b.tell("api-1", 70, EventJobBegan, "invoice")
			b.tell("api-2", 75, EventJobBegan, "invoice").Key = c.key
			for _, l := range c.lines {
				s := b.tell(l.target, l.at, l.event, l.name)
				s.Key, s.Rule = l.key, l.rule
			}
			if got := b.try(overlapDoubleRun); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A job whose period nobody states may have been skipped too.
func TestSkippedRunsOfAnUnknownPeriod(t *testing.T) {
	b := newTable()
	for _, at := range []float64{0, 20, 40, 60} {
		b.tell("api-1", at, EventJobBegan, "invoice")
	}
	b.tell("api-2", 65, EventJobBegan, "invoice")
	b.tell("api-2", 65.1, EventJobSkipped, "invoice")
	if got := b.try(overlapDoubleRun); got != "clear" {
		t.Error(got)
	}
}

// One run may stand in two lines, by the job and by its lock: two rules that tell of the
// same target within a second tell of one run. It ran on api-1 at 70, on api-2 at 75 and
// on api-1 at 80.
func TestRunsThatTwoRulesTell(t *testing.T) {
	const once = "api-1 70–80 every_s=20 job=invoice nearest_s=5 pairs=2 pairs_before=0 skipped=0 targets=[api-1,api-2] (2) (1)"
	for _, c := range []struct {
		name, target, rule string
		at                 float64
		want               string
	}{
		{"within a second", "api-2", "lock", 75.9, once},
		{"at once", "api-2", "lock", 75, once},
		{"a second later", "api-2", "lock", 76, "api-1 70–80 every_s=20 job=invoice nearest_s=4 pairs=3 pairs_before=0 skipped=0 targets=[api-1,api-2] (2) (2)"},
		{"the same rule", "api-2", "own", 75.9, "api-1 70–80 every_s=20 job=invoice nearest_s=4.1 pairs=3 pairs_before=0 skipped=0 targets=[api-1,api-2] (2) (2)"},
		{"another target", "api-3", "lock", 75.5, "api-1 70–80 every_s=20 job=invoice nearest_s=0.5 pairs=3 pairs_before=0 skipped=0 targets=[api-1,api-2,api-3] (2) (1) (1)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.obs.Service.Jobs = []Job{{Name: "invoice", Every: 20 * time.Second}}
			b.tell("api-1", 70, EventJobBegan, "invoice")
			b.tell("api-2", 75, EventJobBegan, "invoice")
			b.tell(c.target, c.at, EventJobBegan, "invoice").Rule = c.rule
			b.tell("api-1", 80, EventJobBegan, "invoice")
			if got := b.try(overlapDoubleRun); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
