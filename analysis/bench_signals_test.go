package analysis

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkJobRuns judges windows of which one has ten times as many runs of one job as
// the other, all of them within the job's period and on one target: none has a second.
func BenchmarkJobRuns(b *testing.B) {
	for _, runs := range []int{4_000, 40_000} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			s := newScene(nil)
			s.prepare()
			s.obs.Service.Jobs = []Job{{Name: "invoice", Every: time.Hour}}
			for i := range runs {
				s.signal("api-1", 300*float64(i)/float64(runs), EventJobBegan, "invoice", fmt.Sprint(i))
			}
			for b.Loop() {
				if r := ruleOf(Judge(s.obs), "overlap-double-run"); r.State != RuleClear {
					b.Fatalf("%+v", r)
				}
			}
		})
	}
}

// BenchmarkStops judges windows of which one has ten times as many stops of one target
// as the other, with work that it never ended: it says that it shuts down, or it is asked
// to and says nothing.
func BenchmarkStops(b *testing.B) {
	for _, event := range []Event{EventShutdownBegan, EventStopRequested} {
		for _, stops := range []int{800, 8_000} {
			b.Run(fmt.Sprint(event, "/", stops), func(b *testing.B) {
				s := newScene(nil)
				s.prepare()
				s.linesOf("own", 1)
				s.signal("api-1", 70, EventShutdownBegan, "", "")
				s.signal("api-1", 70.1, EventProcessStarting, "", "")
				step := 200 / float64(stops)
				for i := range stops {
					at := 80 + float64(i)*step
					s.work("api-1", at, 0, fmt.Sprint("never ", i))
					s.work("api-1", at, at+.1*step, fmt.Sprint("ended ", i))
					s.call("api-1", fmt.Sprint(i), at+.1*step, .1*step, "ok")
					s.signal("api-1", at+.3*step, event, "", "")
					s.signal("api-1", at+.5*step, EventProcessExited, "", "")
					s.signal("api-1", at+.7*step, EventProcessStarting, "", "")
				}
				for b.Loop() {
					if r := ruleOf(Judge(s.obs), "torn-write"); r.State != RuleFired {
						b.Fatalf("%+v", r)
					}
				}
			})
		}
	}
}
