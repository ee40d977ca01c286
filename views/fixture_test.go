package views

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
)

var seoul = time.FixedZone("Asia/Seoul", 9*60*60)

// firstReport is the deploy of testdata/first, with observations that fit its counts.
func firstReport(t testing.TB) (analysis.Observations, analysis.Report) {
	t.Helper()
	content, err := os.ReadFile("testdata/first/report.json")
	if err != nil {
		t.Fatal(err)
	}
	var r analysis.Report
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	return observationsOf(&r), r
}

// observationsOf spreads a report's counts over its phases, and polls the targets.
func observationsOf(r *analysis.Report) analysis.Observations {
	obs := analysis.Observations{
		Service: analysis.Service{Name: r.Deploy.Service, LoadBalancers: []analysis.LoadBalancer{{
			Name: "public", AccessLogs: []analysis.AccessLog{{Name: "alb", Kind: "alb", Counts: true}},
			TargetGroups: []analysis.TargetGroup{{Name: "api", States: []analysis.StateSource{{Name: "elbv2", Every: 5500 * time.Millisecond}}}},
		}}},
		From: r.Window.From.Time, To: r.Window.To.Time,
	}
	for _, phase := range r.Phases {
		users := phase.Traffic[analysis.ClassUser]
		if users == nil {
			continue
		}
		for _, target := range r.Targets {
			spread(&obs, phase, target, users.ByTarget[target.Target])
		}
	}
	for _, target := range r.Targets {
		poll(&obs, target)
		for at := target.DrainMarkedAt.Time; !at.IsZero() && at.Before(target.DrainMarkedAt.Add(44*time.Second)); at = at.Add(2 * time.Second) {
			obs.Probes = append(obs.Probes, analysis.ProbeRequest{Source: "health", Probe: "health", Class: analysis.ClassHealth, Sent: at, Done: at.Add(10 * time.Millisecond), Status: 503, Outcome: analysis.OutcomeDrain503, OutOfService: true})
		}
	}
	return obs
}

// spread puts n requests of one target into the seconds of a phase in which it was served.
func spread(obs *analysis.Observations, phase analysis.Phase, target analysis.TargetReport, n int) {
	from, to := phase.From.Unix(), phase.To.Unix()
	var seconds []int64
	for second := from; second < to; second++ {
		at := time.Unix(second, 0)
		if at.After(target.LastServedAt.Time) && at.Before(target.FirstServedAt.Time) {
			continue
		}
		seconds = append(seconds, second)
	}
	for i, second := range seconds {
		wave := []int{0, 1, -1, 2, -2, 1, 0, -1}[int(second)%8]
		count := (n*(i+1)/len(seconds) - n*i/len(seconds)) + wave
		if count <= 0 {
			continue
		}
		obs.Cells = append(obs.Cells, analysis.Cell{CellKey: analysis.CellKey{Second: second, Source: "alb", TargetGroup: "api", Target: target.Target,
			Class: analysis.ClassUser, Outcome: analysis.OutcomeOK, Route: "store", Status: 200, TargetStatus: 200}, Count: count, First: time.Unix(second, 0), Last: time.Unix(second, 1e8)})
	}
}

// poll shows a target's state as it lagged behind its traffic.
func poll(obs *analysis.Observations, target analysis.TargetReport) {
	for at := obs.From; at.Before(obs.To); at = at.Add(5500 * time.Millisecond) {
		if since := at.Sub(obs.From); since > 1052*time.Second && since < 1076*time.Second {
			continue
		}
		state, reason := analysis.StateHealthy, ""
		if at.After(target.LastServedAt.Add(67*time.Second)) && at.Before(target.FirstServedAt.Add(91*time.Second)) && !target.LastServedAt.IsZero() {
			state, reason = analysis.StateUnhealthy, "Target.ResponseCodeMismatch"
		}
		obs.States = append(obs.States, analysis.StateSample{Source: "elbv2", TargetGroup: "api", Target: target.Target, At: at, State: state, Reason: reason})
	}
}

// lossy is the first report with a stop that came too early: three user and two probe
// requests failed in the restart of api-1.
func lossy(t testing.TB) (analysis.Observations, analysis.Report) {
	obs, r := firstReport(t)
	stop := r.Targets[0].RestartAt.Time
	r.Verdict.State = analysis.Disproved
	r.Window.State = analysis.WindowOpen
	for i := range r.Claims {
		switch r.Claims[i].ID {
		case "no-user-failure-caused", "no-probe-failure-caused":
			r.Claims[i].State, r.Claims[i].Reason = analysis.Disproved, "caused_by_deploy"
		case "no-user-failure", "no-probe-failure":
			r.Claims[i].State, r.Claims[i].Reason = analysis.Disproved, "failure_in_scope"
		case "ejected-before-stop":
			r.Claims[i].State, r.Claims[i].Reason = analysis.Disproved, "stopped_in_rotation"
		case "always-one-target":
			r.Claims[i].State, r.Claims[i].Reason = analysis.Inconclusive, "source_blind"
			r.Claims[i].Required[0] = analysis.Required{Source: "alb", Why: "blind"}
		}
	}
	target, phase := "api-1", "api-1 restart"
	r.Findings = append([]analysis.Finding{{Code: "restart-before-eject", Severity: analysis.SeverityHigh, Target: &target, Phase: &phase,
		From: analysis.Time{Time: stop}, To: analysis.Time{Time: stop.Add(5 * time.Second)},
		Values: map[string]any{"stop_at": analysis.Time{Time: stop}, "marked_at": analysis.Time{Time: stop.Add(-124 * time.Second)}, "wait_s": 124.0, "predicted_from_s": 30.0, "predicted_to_s": 65.0,
			"failed_user": 3, "failed_probe": 2, "sent_after_stop": map[analysis.Class]int{analysis.ClassUser: 4, analysis.ClassProbe: 3}},
		Evidence: []analysis.Evidence{{Kind: "requests", Source: "alb", Traffic: analysis.ClassUser, Count: 3}, {Kind: "probes", Source: "store", Traffic: analysis.ClassProbe, Count: 2}}}}, r.Findings...)
	fail := func(class analysis.Class, n int) {
		r.Totals[class].Failures, r.Totals[class].Causes = n, map[analysis.Cause]int{analysis.CauseDeploy: n}
		r.Phases[3].Traffic[class].Failures = n
		upper := 4.9
		r.Targets[0].FailureWindows = append(r.Targets[0].FailureWindows, analysis.FailureWindow{Traffic: class, From: analysis.Time{Time: stop.Add(time.Second)}, To: analysis.Time{Time: stop.Add(5 * time.Second)},
			Seconds: 4.164, Upper: &upper, Requests: 16, Failed: n, ServedByOthers: 13, LongestRun: &n, Statuses: map[string]int{"503": n}})
	}
	fail(analysis.ClassUser, 3)
	fail(analysis.ClassProbe, 2)
	r.Targets[0].Ejected = "no"
	for i := range 3 {
		end := stop.Add(time.Duration(1213+1700*i) * time.Millisecond)
		key := analysis.CellKey{Second: end.Unix(), Source: "alb", TargetGroup: "api", Target: "api-1", Class: analysis.ClassUser, Outcome: analysis.OutcomeLB5xx, Status: 503}
		obs.Cells = append(obs.Cells, analysis.Cell{CellKey: key, Count: 1, First: end, Last: end})
		obs.Requests = append(obs.Requests, analysis.Request{CellKey: key, Start: end, End: end, Method: "GET", URL: fmt.Sprintf("https://api.example.com:443/v1/pos/poll?store=%d", i), Client: "203.0.113.9"})
		r.Failures = append(r.Failures, failed(analysis.ClassUser, end, end, "api-1", 503, fmt.Sprintf("GET https://api.example.com:443/v1/pos/poll?store=%d", i)))
	}
	for i := range 2 {
		done := stop.Add(time.Duration(1801+2300*i) * time.Millisecond)
		obs.Probes = append(obs.Probes, analysis.ProbeRequest{Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: 2991 + i, Sent: done.Add(-90 * time.Millisecond), Done: done, Status: 503, Outcome: analysis.OutcomeLB5xx})
		r.Failures = append(r.Failures, failed(analysis.ClassProbe, done.Add(-90*time.Millisecond), done, "", 503, fmt.Sprintf("store r1-%d", 2991+i)))
	}
	slices.SortFunc(r.Failures, func(a, b analysis.FailedRequest) int { return a.End.Compare(b.End.Time) })
	return obs, r
}

// failed is one failure that the load balancer made in the restart of api-1.
func failed(class analysis.Class, start, end time.Time, target string, status int, request string) analysis.FailedRequest {
	phase := "api-1 restart"
	f := analysis.FailedRequest{Traffic: class, Start: analysis.Time{Time: start}, End: analysis.Time{Time: end}, Outcome: analysis.OutcomeLB5xx,
		Status: &status, Request: request, Phase: &phase, Cause: analysis.CauseDeploy, Count: 1}
	if target != "" {
		f.Target = &target
	}
	return f
}

// big is a window of thirty minutes with 40,000 cells, eight targets and thousands of failures.
func big() (analysis.Observations, analysis.Report) {
	from := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC)
	to := from.Add(30 * time.Minute)
	r := analysis.Report{Schema: 1, Deploy: analysis.DeployReport{ID: "big", Service: "big", Kind: analysis.KindRolling, StartedAt: analysis.Time{Time: from.Add(5 * time.Minute)}},
		Window:  analysis.WindowReport{From: analysis.Time{Time: from}, To: analysis.Time{Time: to}, State: analysis.WindowSealed},
		Verdict: analysis.Verdict{State: analysis.Disproved, Claim: "no-user-failure-caused"},
		Totals:  map[analysis.Class]*analysis.Total{analysis.ClassUser: {Requests: 10_000_000, Failures: 7000, Causes: map[analysis.Cause]int{analysis.CauseDeploy: 6000, analysis.CauseUnexplained: 1000}}}}
	obs := analysis.Observations{From: from, To: to}
	for i := range 8 {
		name := fmt.Sprintf("api-%d", i+1)
		target := analysis.TargetReport{Target: name, TargetGroup: "api"}
		for window := range 20 {
			target.FailureWindows = append(target.FailureWindows, analysis.FailureWindow{Traffic: analysis.ClassUser, From: analysis.Time{Time: from.Add(time.Duration(window) * time.Minute)}, Requests: 10, Failed: 5})
		}
		r.Targets = append(r.Targets, target)
		begin := from.Add(5*time.Minute + time.Duration(i)*150*time.Second)
		for j, kind := range []string{"drain", "restart", "back"} {
			at := begin.Add(time.Duration(j) * 50 * time.Second)
			step := []analysis.StepKind{analysis.StepDrainMarked, analysis.StepRestartBegan, analysis.StepAppReady}[j]
			r.Steps = append(r.Steps, analysis.StepReport{Kind: step, At: analysis.Time{Time: at}, Target: &name, Source: "steps"})
			r.Phases = append(r.Phases, analysis.Phase{Name: name + " " + kind, Kind: kind, From: analysis.Time{Time: at}, To: analysis.Time{Time: at.Add(50 * time.Second)},
				Traffic: map[analysis.Class]*analysis.Counts{analysis.ClassUser: {Requests: 400_000, Failures: 200, ByTarget: map[string]int{name: 400_000}}}})
		}
		for second := range int64(1800) {
			for k, outcome := range []analysis.Outcome{analysis.OutcomeOK, analysis.OutcomeLB5xx, analysis.OutcomeClientError} {
				if k > 0 && second%2 == 0 {
					continue
				}
				status := []int{200, 502, 404}[k]
				cell := analysis.Cell{CellKey: analysis.CellKey{Second: from.Unix() + second, Source: "alb", Target: name, Class: analysis.ClassUser, Outcome: outcome, Status: status}, Count: 600 + int(second*7+int64(i)*13)%97}
				if k == 0 {
					cell.TargetStatus = 200
				}
				obs.Cells = append(obs.Cells, cell)
			}
		}
		for second := range 360 {
			obs.States = append(obs.States, analysis.StateSample{Source: "s", Target: name, TargetGroup: "api", At: from.Add(time.Duration(second) * 5 * time.Second), State: []analysis.TargetState{analysis.StateHealthy, analysis.StateUnhealthy}[second/7%2]})
		}
	}
	for i := range 7000 {
		at := from.Add(time.Duration(i) * 250 * time.Millisecond)
		obs.Requests = append(obs.Requests, analysis.Request{CellKey: analysis.CellKey{Class: analysis.ClassUser, Outcome: analysis.OutcomeLB5xx, Status: 502, Target: "api-1"}, Start: at, End: at, Method: "GET", URL: "https://api.example.com/v1/orders/" + fmt.Sprint(i)})
		if i < analysis.MaxFailures {
			r.Failures = append(r.Failures, failed(analysis.ClassUser, at, at, "api-1", 502, "GET https://api.example.com/v1/orders/"+fmt.Sprint(i)))
		}
	}
	return obs, r
}
