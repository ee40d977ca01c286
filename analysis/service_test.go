package analysis

import (
	"testing"
	"time"
)

func TestWhetherAHealthCheckIsKnown(t *testing.T) {
	for _, c := range []struct {
		check HealthCheck
		want  bool
	}{
		{HealthCheck{Interval: time.Second, Unhealthy: 1}, true},
		{HealthCheck{Interval: time.Second}, false},
		{HealthCheck{Unhealthy: 1}, false},
		{HealthCheck{}, false},
	} {
		if got := c.check.Known(); got != c.want {
			t.Errorf("%+v: %v", c.check, got)
		}
	}
}
