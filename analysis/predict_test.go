package analysis

import (
	"testing"
	"time"
)

// Checks every 10 s with 2 s to answer, out after 3 and back after 2: from start to start
// ejection takes up to 3·10 + 2 s; where 10 s are waited after each answer, which may take
// 2 s, up to 3·(10 + 2).
func TestPredictionByWhenTheNextCheckStarts(t *testing.T) {
	h := HealthCheck{Interval: 10 * time.Second, Timeout: 2 * time.Second, Unhealthy: 3, Healthy: 2}
	if got := *predict(h); got != (Predicted{Interval{20, 32}, Interval{10, 22}}) || predictedReturn(h) != 22*time.Second {
		t.Errorf("from start to start: %v", got)
	}
	h.AfterAnswer = true
	if got := *predict(h); got != (Predicted{Interval{20, 36}, Interval{10, 24}}) || predictedReturn(h) != 24*time.Second {
		t.Errorf("after each answer: %v", got)
	}
}
