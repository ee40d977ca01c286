package main

import (
	"strings"
	"testing"

	"gapless/analysis"
	"gapless/lab"
)

// reportTables hold a scenario's report against the tables of the measurement that it
// reproduces: which row is zero, and which multiplies.
var reportTables = map[string]func(*testing.T, *analysis.Report){
	lab.OrderJourney: func(t *testing.T, r *analysis.Report) {
		down := 0
		for phase, row := range r.Journeys[0].ByPhase {
			if !strings.HasSuffix(phase, " down") {
				continue
			}
			if down++; row.AfterRetries == 0 || row.NeverFinished == 0 {
				t.Errorf("%s: %+v; want orders after retries, and some never created", phase, row)
			}
		}
		if down != 2 {
			t.Errorf("orders began in %d phases in which a node was down, want 2: %+v", down, r.Journeys[0].ByPhase)
		}
		if row := r.Journeys[0].ByPhase["baseline"]; row.Started == 0 || row.Completed != row.Started {
			t.Errorf("baseline: %+v; want every order completed at once", row)
		}
		if r.Journeys[0].WithoutEarlier == 0 {
			t.Errorf("journeys %+v; want orders acknowledged whose detail failed", r.Journeys[0].JourneyCounts)
		}
		torn := 0
		for _, f := range r.Findings {
			if f.Code != "torn-write" {
				continue
			}
			if torn++; f.Target == nil || *f.Target != "api-2" {
				t.Errorf("torn work %+v; the other node was idle when it was killed", f)
			}
		}
		if torn != 1 {
			t.Errorf("%d findings of torn work, want that of api-2", torn)
		}
	},
	lab.SlowDependency: func(t *testing.T, r *analysis.Report) {
		use := map[string]analysis.DependencyUse{}
		for _, d := range r.Dependencies {
			use[d.Dependency] = d
		}
		for gateway, factor := range map[string]float64{"pg-once": 1, "pg-retry": 3, "pg-jitter": 3} {
			if got := use[gateway].Amplification; got == nil || *got != factor {
				t.Errorf("%s: %+v; want %g calls a payment", gateway, use[gateway], factor)
			}
		}
		if with, without := use["pg-breaker"], use["pg-timeout"]; 3*with.Results["timeout"] > without.Results["timeout"] || with.Refused["breaker"] == 0 {
			t.Errorf("with a breaker %+v, without %+v; want a fraction of the timeouts", with, without)
		}
		for gateway, keeps := range map[string]bool{"pg-fixed": false, "pg-token": false, "pg-sliding": true} {
			if use[gateway].MaxPerSecond <= 20 != keeps {
				t.Errorf("%s: %+v; keeps the limit of 20: %v", gateway, use[gateway], keeps)
			}
		}
		with, without := use["pg-bulkhead"].MaxInFlight, use["pg-naked"].MaxInFlight
		if with == nil || *with > 5 || without == nil || *without < 20 {
			t.Errorf("in flight with a bulkhead %+v, without any guard %+v", use["pg-bulkhead"], use["pg-naked"])
		}
		for _, f := range r.Findings {
			if f.Code == "unrelated-collapse" && f.Values["dependency"] == "pg-naked" {
				return
			}
		}
		t.Error("no collapse for the gateway without any guard")
	},
	lab.AdmissionQueue: func(t *testing.T, r *analysis.Report) {
		most := map[string]float64{}
		for _, g := range r.Gauges {
			if g.Max != nil {
				most[g.Metric] = max(most[g.Metric], *g.Max)
			}
		}
		if most[analysis.GaugePoolActive] != most[analysis.GaugePoolMax] || most[analysis.GaugePoolPending] == 0 {
			t.Errorf("most of each gauge %v; want every connection of a node lent, and some waited for", most)
		}
		users := r.Totals[analysis.ClassUser].Outcomes
		if users[analysis.OutcomeClientError] == 0 || users[analysis.OutcomeRejected] == 0 {
			t.Errorf("users %v; want some told 404 by the queue, and bots refused", users)
		}
	},
}
