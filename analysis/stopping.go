package analysis

import (
	"cmp"
	"slices"
	"time"
)

// stopping is how one process of a target ended, as its log, its service manager and
// the deploy tell it. Times are zero where nobody told.
type stopping struct {
	target  string
	asked   time.Time // the service manager or the workflow told it to stop
	began   time.Time // it said that it began to shut down
	ended   time.Time // it said that it had finished
	aborted time.Time // it gave up waiting for work
	killed  time.Time // a signal that cannot be caught ended it
	exited  time.Time // its service manager saw it end
	next    time.Time // the first that is known of the process after it; zero: nothing
	told    []*Signal
}

// from is the first that is known of the stop.
func (s *stopping) from() time.Time {
	return earliest(s.asked, s.began, s.ended, s.aborted, s.killed, s.exited)
}

// over is when the process was gone: at the latest when the next one began, and where
// nobody saw either, when it said that it had finished.
func (s *stopping) over() time.Time {
	if end := s.gone(); !end.IsZero() {
		return end
	}
	if s.next.IsZero() {
		return s.ended
	}
	return s.next
}

// gone is when somebody saw that the process had ended; zero where nobody did.
func (s *stopping) gone() time.Time { return latest(s.killed, s.exited) }

// stopSlack is how far apart two witnesses may put the same stop.
func (b *bench) stopSlack() time.Duration { return 2*time.Second + b.doubt }

// findStoppings follows the end of every process of every target. What a line says
// about a stop comes as a signal; the steps that lines give too are taken where no
// rule gives the signal.
func (b *bench) findStoppings() {
	type mark struct {
		at   time.Time
		what Event
		by   *Signal
	}
	marks := map[string][]mark{}
	add := func(target string, at time.Time, what Event, by *Signal) {
		if target != "" {
			marks[target] = append(marks[target], mark{at, what, by})
		}
	}
	for _, event := range []Event{EventStopRequested, EventShutdownBegan, EventShutdownEnded, EventShutdownAborted, EventProcessExited, EventProcessStarting} {
		for _, s := range b.signals[event] {
			what := event
			// systemd says that its patience is over when it kills.
			if event == EventProcessExited && killedBySignal(s) || event == EventShutdownAborted && setOf(s.Rule) == "systemd" {
				what = eventKilled
			}
			add(s.Target, s.At, what, s)
		}
	}
	for _, s := range b.steps {
		switch {
		case s.ignored:
		case s.Kind == StepProcessKilled:
			add(s.Target, s.At, eventKilled, nil)
		case s.Kind == StepAppReady:
			add(s.Target, s.At, EventProcessStarting, nil)
		case s.Kind == StepRestartBegan && !s.Inferred && b.startsNew(s):
			add(s.Target, s.At, EventProcessStarting, nil)
		case s.Kind == StepRestartBegan && !s.Inferred:
			add(s.Target, s.At, EventStopRequested, nil)
		case s.Kind == StepRestartBegan && !b.tells(s.Target, EventShutdownBegan):
			add(s.Target, s.At, EventShutdownBegan, nil)
		}
	}
	for _, target := range sortedKeys(marks) {
		list := marks[target]
		// Of two that were told of one moment, a process ended before another one began.
		slices.SortStableFunc(list, func(x, y mark) int { return cmp.Or(x.at.Compare(y.at), cmp.Compare(rise(x.what), rise(y.what))) })
		var current *stopping
		flush := func() {
			if current != nil {
				b.stoppings = append(b.stoppings, *current)
			}
			current = nil
		}
		for _, m := range list {
			if m.what == EventProcessStarting {
				if current != nil && (m.at.After(current.from()) || !current.gone().IsZero()) {
					current.next = m.at
					flush()
				}
				continue
			}
			if current != nil && (m.what == EventStopRequested || m.what == EventShutdownBegan) && !current.gone().IsZero() && m.at.After(current.gone()) {
				current.next = m.at // it was gone already: somebody brings it up again
				flush()
				continue
			}
			if current == nil {
				current = &stopping{target: target}
			}
			at := map[Event]*time.Time{
				EventStopRequested: &current.asked, EventShutdownBegan: &current.began, EventShutdownEnded: &current.ended,
				EventShutdownAborted: &current.aborted, eventKilled: &current.killed, EventProcessExited: &current.exited,
			}[m.what]
			*at = earliest(*at, m.at)
			if m.by != nil {
				current.told = append(current.told, m.by)
			}
		}
		flush()
	}
	slices.SortStableFunc(b.stoppings, func(x, y stopping) int { return x.from().Compare(y.from()) })
	b.stoppings = slices.DeleteFunc(b.stoppings, func(s stopping) bool { return s.from().Before(b.started) || !b.inWindow(s.from()) })
}

// rise is 1 for what a process begins with.
func rise(what Event) int {
	if what == EventProcessStarting {
		return 1
	}
	return 0
}

// startsNew reports whether a step that began a restart started a target that arrives,
// and stopped nothing.
func (b *bench) startsNew(s step) bool {
	l := b.byName[s.Target]
	return l != nil && len(l.cycles) > 0 && l.cycles[0].arrives && s.At.Before(l.cycles[0].until)
}

// eventKilled stands for the step process.killed and for an exit by SIGKILL.
const eventKilled Event = "killed"

// killedBySignal reports whether a process was ended by SIGKILL, as systemd words it
// (code=killed, status=9/KILL), or as a container's exit code says it (128 + 9).
func killedBySignal(s *Signal) bool {
	switch s.Values["status"] {
	case "KILL", "9/KILL", "SIGKILL", "137":
		return true
	case "9":
		return s.Values["code"] == "killed"
	}
	return s.Values["code"] == "137"
}
