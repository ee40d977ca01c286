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
		{"a line of the other target", func(b *table) { every(b, 20); ran(b, 100); b.lines("api-2.log", 200) }, stopped},
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
