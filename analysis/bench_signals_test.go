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
