package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// stops prints the stops that were found: whose, what is known of each, and how many
// lines told it.
func (b *table) stops() string {
	var all []string
	for _, s := range b.stoppings {
		words := []string{s.target}
		for _, part := range []struct {
			name string
			at   time.Time
		}{{"asked", s.asked}, {"began", s.began}, {"ended", s.ended}, {"aborted", s.aborted}, {"killed", s.killed}, {"exited", s.exited}, {"next", s.next}} {
			if !part.at.IsZero() {
				words = append(words, part.name+"="+b.seconds(part.at))
			}
		}
		all = append(all, strings.Join(append(words, fmt.Sprintf("(%d)", len(s.told))), " "))
	}
	return strings.Join(all, "; ")
}

func TestFindStoppings(t *testing.T) {
	// The deploy began at 60, and the window ends at 300.
	told := func(at float64, event Event, values ...string) func(*table) {
		return func(b *table) { b.tell("api-1", at, event, "", values...) }
	}
	by := func(rule string, at float64, event Event) func(*table) {
		return func(b *table) { b.tell("api-1", at, event, "").Rule = rule }
	}
	reported := func(at float64, kind StepKind) func(*table) {
		return func(b *table) {
			b.steps = append(b.steps, step{Step: Step{Kind: kind, Target: "api-1", At: b.at(at), Source: "workflow"}})
		}
	}
	line := func(at float64, kind StepKind) func(*table) {
		return func(b *table) {
			b.steps = append(b.steps, step{Step: Step{Kind: kind, Target: "api-1", At: b.at(at), Source: "api-1.log", Inferred: true}})
		}
	}
	arrives := func(from, until float64) func(*table) {
		return func(b *table) {
			c := b.cycle("api-1", from, 0, 0)
			c.arrives, c.stop, c.until = true, time.Time{}, b.at(until)
		}
	}
	kill := []string{"code", "killed", "status", "9/KILL"}
	for _, c := range []struct {
		name string
		lay  []func(*table)
		want string
	}{
		{"nothing told", nil, ""},
		{"one stop, told in every way", []func(*table){told(100, EventStopRequested), told(101, EventShutdownBegan), told(102, EventShutdownEnded), told(103, EventProcessExited),
			told(110, EventProcessStarting)}, "api-1 asked=100 began=101 ended=102 exited=103 next=110 (4)"},
		{"the first word counts", []func(*table){told(100, EventStopRequested), told(101, EventStopRequested)}, "api-1 asked=100 (2)"},
		{"nobody says whose it is", []func(*table){func(b *table) { b.tell("", 100, EventStopRequested, "") }}, ""},
		{"two targets, in the order of their stops", []func(*table){told(110, EventProcessExited), func(b *table) { b.tell("api-2", 100, EventProcessExited, "") }},
			"api-2 exited=100 (1); api-1 exited=110 (1)"},

		{"before the deploy", []func(*table){told(59.9, EventProcessExited)}, ""},
		{"as the deploy began", []func(*table){told(60, EventProcessExited)}, "api-1 exited=60 (1)"},
		{"before the window's end", []func(*table){told(299.9, EventProcessExited)}, "api-1 exited=299.9 (1)"},
		{"at the window's end", []func(*table){told(300, EventProcessExited)}, ""},

		{"an exit by a kill", []func(*table){told(100, EventProcessExited, kill...)}, "api-1 killed=100 (1)"},
		{"a shutdown of which a line has such a status", []func(*table){told(100, EventShutdownBegan, "status", "137")}, "api-1 began=100 (1)"},
		{"its service manager asks", []func(*table){by("systemd/stopping", 100, EventStopRequested)}, "api-1 asked=100 (1)"},
		{"its service manager's patience is over", []func(*table){by("systemd/stop-timed-out", 100, EventShutdownAborted)}, "api-1 killed=100 (1)"},
		{"its own patience is over", []func(*table){by("spring-boot/shutdown-aborted", 100, EventShutdownAborted)}, "api-1 aborted=100 (1)"},
		{"killed, and what its end was told with later", []func(*table){told(100, EventProcessExited, kill...), told(101, EventProcessExited, "code", "exited"), told(102, EventShutdownEnded)},
			"api-1 ended=102 killed=100 exited=101 (3)"},

		{"two stops", []func(*table){told(100, EventProcessExited), told(110, EventProcessStarting), told(200, EventProcessExited)}, "api-1 exited=100 next=110 (1); api-1 exited=200 (1)"},
		{"a start alone", []func(*table){told(100, EventProcessStarting)}, ""},
		{"gone and up again within one moment", []func(*table){told(100, EventProcessStarting), told(100, EventProcessExited), told(200, EventProcessExited)},
			"api-1 exited=100 next=100 (1); api-1 exited=200 (1)"},
		{"killed and up again within one moment, by a step and a line", []func(*table){told(100, EventProcessStarting), reported(100, StepProcessKilled), told(200, EventProcessExited)},
			"api-1 killed=100 next=100 (0); api-1 exited=200 (1)"},
		{"asked as it starts, and gone later", []func(*table){told(100, EventProcessStarting), told(100, EventStopRequested), told(110, EventProcessExited)}, "api-1 asked=100 exited=110 (2)"},
		{"asked, and up again before anybody saw it go", []func(*table){told(100, EventStopRequested), told(100.1, EventProcessStarting)}, "api-1 asked=100 next=100.1 (1)"},

		// Who restarts a process that was gone brings it up.
		{"asked after it was gone", []func(*table){told(100, EventProcessExited), reported(101, StepRestartBegan)}, "api-1 exited=100 next=101 (1)"},
		{"asked as it was gone", []func(*table){told(100, EventProcessExited), reported(100, StepRestartBegan)}, "api-1 asked=100 exited=100 (1)"},
		{"a shutdown after it was gone", []func(*table){told(100, EventProcessExited), told(101, EventShutdownBegan)}, "api-1 exited=100 next=101 (1)"},
		{"asked again before it was gone", []func(*table){told(100, EventShutdownBegan), reported(101, StepRestartBegan), told(102, EventProcessExited)}, "api-1 asked=101 began=100 exited=102 (2)"},

		{"by steps of the workflow", []func(*table){reported(90, StepDrainMarked), reported(100, StepRestartBegan), reported(110, StepAppReady)}, "api-1 asked=100 next=110 (0)"},
		{"a step that contradicts others", []func(*table){func(b *table) {
			b.steps = append(b.steps, step{Step: Step{Kind: StepRestartBegan, Target: "api-1", At: b.at(100)}})
			b.steps[0].ignored = true
		}}, ""},
		{"by steps that its lines gave", []func(*table){line(100, StepRestartBegan), line(110, StepAppReady)}, "api-1 began=100 next=110 (0)"},
		{"by a line that gave a step and a signal", []func(*table){line(99, StepRestartBegan), told(100, EventShutdownBegan)}, "api-1 began=100 (1)"},
		{"by a step of its line, where another target's gave a signal", []func(*table){line(100, StepRestartBegan), func(b *table) { b.tell("api-2", 20, EventShutdownBegan, "") }},
			"api-1 began=100 (0)"},
		{"killed, by a step", []func(*table){reported(100, StepProcessKilled)}, "api-1 killed=100 (0)"},

		{"the start of a target that arrives", []func(*table){arrives(90, 200), told(80, EventStopRequested), reported(90, StepRestartBegan)}, "api-1 asked=80 next=90 (1)"},
		{"a drain mark of a target that arrives", []func(*table){arrives(90, 200), told(80, EventStopRequested), reported(90, StepDrainMarked)}, "api-1 asked=80 (1)"},
		{"it says itself that it shuts down", []func(*table){arrives(90, 200), line(150, StepRestartBegan)}, "api-1 began=150 (0)"},
		{"its restart afterwards", []func(*table){arrives(90, 200), reported(200, StepRestartBegan)}, "api-1 asked=200 (0)"},
		{"the restart of a target that did not arrive", []func(*table){func(b *table) { b.cycle("api-1", 100, 110, 0) }, reported(100, StepRestartBegan)}, "api-1 asked=100 (0)"},
		{"the restart of a target that nothing else tells of", []func(*table){func(b *table) { delete(b.byName, "api-1") }, reported(100, StepRestartBegan)}, "api-1 asked=100 (0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			for _, lay := range c.lay {
				lay(b)
			}
			b.findStoppings()
			if got := b.stops(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A kill is told in the words of systemd, of containers and of shells.
func TestKilledBySignal(t *testing.T) {
	for _, c := range []struct {
		code, status string
		killed       bool
	}{
		{"killed", "9/KILL", true}, {"", "9/KILL", true}, {"", "KILL", true}, {"", "SIGKILL", true}, {"killed", "9", true}, {"", "137", true}, {"137", "", true},
		{"exited", "9", false}, {"", "9", false}, {"killed", "15/TERM", false}, {"exited", "0", false}, {"143", "", false}, {"killed", "", false}, {"", "", false},
	} {
		if got := killedBySignal(&Signal{Values: map[string]string{"code": c.code, "status": c.status}}); got != c.killed {
			t.Errorf("code %q, status %q: %v", c.code, c.status, got)
		}
	}
}

// Two witnesses of one stop may be 2 s apart, and as much as clocks may be on top.
func TestStopSlack(t *testing.T) {
	b := newTable()
	b.doubt = 500 * time.Millisecond
	if got := b.stopSlack(); got != 2500*time.Millisecond {
		t.Error(got)
	}
}
