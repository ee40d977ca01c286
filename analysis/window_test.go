package analysis

import (
	"testing"
	"time"
)

// A window is open until its end, and settles for as long as logs may be late.
func TestStateOfAWindow(t *testing.T) {
	end := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		after time.Duration
		want  WindowState
	}{
		{-time.Nanosecond, WindowOpen},
		{0, WindowSettling},
		{30*time.Second - time.Nanosecond, WindowSettling},
		{30 * time.Second, WindowSealed},
	} {
		if got := WindowStateAt(end, WindowSettings{Settle: 30 * time.Second}, end.Add(c.after)); got != c.want {
			t.Errorf("%s after its end: %s, want %s", c.after, got, c.want)
		}
	}
}

func TestEventsOfJobs(t *testing.T) {
	for _, e := range []Event{EventJobBegan, EventJobEnded, EventJobSkipped} {
		if !e.OfJob() {
			t.Errorf("%s is a job's", e)
		}
	}
	for _, e := range []Event{EventWorkBegan, EventWorkEnded, ""} {
		if e.OfJob() {
			t.Errorf("%q is no job's", e)
		}
	}
}
