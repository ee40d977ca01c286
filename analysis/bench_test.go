package analysis

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkJudge judges a 30-minute window of ten million user requests: 40,000
// cells (second × target × class × outcome), 9,000 probe requests, 2,000 failures
// one by one.
func BenchmarkJudge(b *testing.B) {
	obs := largeWindow(10_000_000)
	b.ReportMetric(float64(len(obs.Cells)), "cells")
	for b.Loop() {
		r := Judge(obs)
		if r.Totals[ClassUser].Requests < 9_900_000 {
			b.Fatalf("%d requests", r.Totals[ClassUser].Requests)
		}
	}
}

// largeWindow spreads user requests over the cells of a half-hour naive deploy.
func largeWindow(requests int) Observations {
	s := newScene(nil)
	s.userEvery = time.Hour // the cells below carry the users
	s.stop("api-1", 80, 95, false)
	s.stop("api-2", 160, 175, false)
	s.prepare()
	o := &s.obs
	o.To = s.at(1800)
	random := rand.New(rand.NewPCG(1, 1))
	routes := []string{"order", "store", "menu", "login", OtherRoute}
	const perSecond = 22
	for second := range 1800 {
		took := make([]Histogram, len(routes))
		for i := range perSecond {
			target := fmt.Sprintf("api-%d", i%2+1)
			at := s.at(float64(second))
			if in(s.down[target], at) {
				continue
			}
			c := Cell{CellKey: CellKey{
				Second: at.Unix(), Source: "alb", Node: fmt.Sprintf("10.0.0.%d", i%3), TargetGroup: "api", Target: target,
				Class: ClassUser, Outcome: OutcomeOK, Route: routes[i%len(routes)], Status: 200 + i%2, TargetStatus: 200 + i%2,
			}, First: at.Add(time.Millisecond), Last: at.Add(time.Second)}
			for range requests/1800/perSecond + 1 {
				took[i%len(routes)].Add(int64(20_000 + random.ExpFloat64()*40_000))
				c.Count++
			}
			o.Cells = append(o.Cells, c)
		}
		for i := range took {
			if took[i].Count() == 0 {
				continue
			}
			key := LatencyKey{Second: s.at(float64(second)).Unix(), Source: "alb", Node: fmt.Sprintf("10.0.0.%d", i%3), Class: ClassUser, Route: routes[i]}
			packed, _ := took[i].AppendBinary(nil)
			stored, _, _ := DecodeHistogram(packed) // as the store gives it
			o.Latencies = append(o.Latencies, Latencies{key, stored})
		}
	}
	return *o
}
