package views

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestVerdictSentences(t *testing.T) {
	user := func(requests, failures int, causes map[analysis.Cause]int) *analysis.Total {
		return &analysis.Total{Requests: requests, Failures: failures, Causes: causes}
	}
	target := "api-1"
	restart := analysis.Finding{Code: "restart-before-eject", Target: &target}
	second := "api-2"
	stopped := func(target *string, user, probe int) analysis.Finding {
		return analysis.Finding{Code: "restart-before-eject", Target: target, Values: map[string]any{"failed_user": user, "failed_probe": probe}}
	}
	died := func(target *string, failed map[string]any) analysis.Finding {
		return analysis.Finding{Code: "returned-before-eject", Target: target, Values: map[string]any{"failed": failed}}
	}
	tests := map[string]struct {
		state    analysis.VerdictState
		reason   string
		required []analysis.Required
		users    *analysis.Total
		probes   *analysis.Total
		findings []analysis.Finding
		want     string
	}{
		"disproved, both": {state: analysis.Disproved, users: user(25212, 3, map[analysis.Cause]int{analysis.CauseDeploy: 3}), probes: user(7799, 2, map[analysis.Cause]int{analysis.CauseDeploy: 2}), findings: []analysis.Finding{restart},
			want: "3 of 25,212 user requests failed because api-1 was stopped while the load balancer still sent to it. Probes agree: 2 of 7,799 failed so."},
		"disproved, one of two stops cost users": {state: analysis.Disproved, users: user(2559, 11, map[analysis.Cause]int{analysis.CauseDeploy: 11}), findings: []analysis.Finding{stopped(&target, 11, 0), stopped(&second, 0, 0)},
			want: "11 of 2,559 user requests failed because api-1 was stopped while the load balancer still sent to it."},
		"disproved by probes, each stop cost another class": {state: analysis.Disproved, users: user(100, 0, nil), probes: user(50, 1, map[analysis.Cause]int{analysis.CauseDeploy: 1}), findings: []analysis.Finding{stopped(&target, 1, 0), stopped(&second, 0, 1)},
			want: "1 of 50 probe requests failed because api-2 was stopped while the load balancer still sent to it. None of 100 user requests failed, and none is known to be lost to it."},
		"disproved, no stop is known to have cost users": {state: analysis.Disproved, users: user(100, 3, map[analysis.Cause]int{analysis.CauseDeploy: 3}), findings: []analysis.Finding{stopped(&target, 0, 2)},
			want: "3 of 100 user requests failed because of the deploy."},
		"disproved, one of two deaths cost users": {state: analysis.Disproved, users: user(100, 3, map[analysis.Cause]int{analysis.CauseDeploy: 3}), findings: []analysis.Finding{died(&target, map[string]any{"probe": 4}), died(&second, map[string]any{"user": 3})},
			want: "3 of 100 user requests failed because api-2 died and was back before the load balancer could take the target out."},
		"disproved, with others": {state: analysis.Disproved, users: user(100, 4, map[analysis.Cause]int{analysis.CauseDeploy: 3, analysis.CauseBackground: 1}),
			want: "3 of 100 user requests failed because of the deploy. 1 user request failed for other reasons."},
		"disproved by probes alone": {state: analysis.Disproved, users: user(100, 0, nil), probes: user(50, 1, map[analysis.Cause]int{analysis.CauseDeploy: 1}),
			want: "1 of 50 probe requests failed because of the deploy. None of 100 user requests failed, and none is known to be lost to it."},
		"disproved by the version": {state: analysis.Disproved, users: user(100, 2, map[analysis.Cause]int{analysis.CauseVersion: 2}),
			want: "2 of 100 user requests failed because of the new version."},
		"supported": {state: analysis.Supported, users: user(25212, 0, nil), probes: user(7799, 0, nil),
			want: "None of 25,212 user requests failed. None of 7,799 probe requests failed."},
		"supported, with background": {state: analysis.Supported, users: user(25212, 4, map[analysis.Cause]int{analysis.CauseBackground: 4}),
			want: "4 of 25,212 user requests failed, none of them because of the deploy."},
		"inconclusive, unexplained": {state: analysis.Inconclusive, reason: "unexplained_failure", users: user(1000, 5, map[analysis.Cause]int{analysis.CauseUnexplained: 2, analysis.CauseBackground: 3}),
			want: "2 of 1,000 user requests failed and nothing measured explains it."},
		"inconclusive, unexplained, with findings": {state: analysis.Inconclusive, reason: "unexplained_failure", users: user(1895, 127, map[analysis.Cause]int{analysis.CauseUnexplained: 127}),
			findings: []analysis.Finding{{Code: "unbounded-wait", Severity: analysis.SeverityHigh}, {Code: "unbounded-wait", Severity: analysis.SeverityHigh}, {Code: "unrelated-collapse", Severity: analysis.SeverityHigh}, {Code: "probe-stall", Severity: analysis.SeverityMedium}},
			want:     "127 of 1,895 user requests failed and none of it is put down to the deploy; see the findings: unbounded wait and unrelated collapse."},
		"inconclusive, unexplained, with many findings": {state: analysis.Inconclusive, reason: "unexplained_failure", users: user(10, 1, map[analysis.Cause]int{analysis.CauseUnexplained: 1}),
			findings: []analysis.Finding{{Code: "a", Severity: analysis.SeverityHigh}, {Code: "b", Severity: analysis.SeverityHigh}, {Code: "c", Severity: analysis.SeverityHigh}, {Code: "d", Severity: analysis.SeverityHigh}, {Code: "e", Severity: analysis.SeverityHigh}, {Code: "f", Severity: analysis.SeverityHigh}},
			want:     "1 of 10 user requests failed and none of it is put down to the deploy; see the findings: a, b, c, d and 2 more."},
		"inconclusive, blind": {state: analysis.Inconclusive, reason: "source_blind", required: []analysis.Required{{Source: "alb", Why: "blind"}}, users: user(1000, 0, nil), probes: user(10, 0, nil),
			want: "None of 1,000 user requests failed as far as is known, but alb was blind for a part of it. None of 10 probe requests failed."},
		"inconclusive, awaited": {state: analysis.Inconclusive, reason: "horizon_not_passed", required: []analysis.Required{{Source: "alb", Why: "horizon"}},
			want: "No user request is known to have failed because of the deploy, but late lines of alb are still awaited."},
		"untested, users not measured": {state: analysis.Untested, reason: "not_measured", probes: user(264, 0, nil),
			want: "User requests were not measured. What the probes showed: none of 264 probe requests failed."},
		"untested, nobody there": {state: analysis.Untested, reason: "nobody_in_risky_phases", users: user(10, 0, nil),
			want: "No user sent a request in the risky phases, so nothing was put to the test."},
		"a reason without words": {state: analysis.Disproved, reason: "new_reason", want: "The claim does not hold: new reason."},
		"a state without words":  {state: "perhaps", want: "The verdict is perhaps."},
		"nothing at all":         {want: "Not judged yet."},
	}
	for name, test := range tests {
		r := analysis.Report{Deploy: analysis.DeployReport{ID: "1", Kind: analysis.KindRolling}, Findings: test.findings,
			Verdict: analysis.Verdict{State: test.state, Claim: "no-user-failure-caused"},
			Claims:  []analysis.Claim{{ID: "no-user-failure-caused", State: test.state, Reason: test.reason, Required: test.required}},
			Totals:  map[analysis.Class]*analysis.Total{}}
		if test.users != nil {
			r.Totals[analysis.ClassUser] = test.users
		}
		if test.probes != nil {
			r.Totals[analysis.ClassProbe] = test.probes
		}
		FillSentences(&r)
		if r.Verdict.Sentence != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, r.Verdict.Sentence, test.want)
		}
	}
}

// Every code with every value missing, null, of a wrong type and unknown altogether
// must give a sentence and no panic.
func TestSentencesDegrade(t *testing.T) {
	for _, values := range []map[string]any{nil, {}, {"seconds": nil, "source": nil}, {"seconds": "x", "source": 3, "requests": []any{}, "probability": "y", "window_ms": nil, "others": 7, "not_serving": map[string]any{}}} {
		for code := range allFindings {
			finding := analysis.Finding{Code: code, Values: values}
			report := analysis.Report{Findings: []analysis.Finding{finding}}
			FillSentences(&report)
			if !strings.HasSuffix(report.Findings[0].Sentence, ".") {
				t.Errorf("finding %s with %v reads %q", code, values, report.Findings[0].Sentence)
			}
			if report.Findings[0].Remedy == "" && code != "not-invented-yet" {
				t.Errorf("finding %s has no remedy", code)
			}
		}
		for _, code := range []string{"status-codes-only", "new-connections-only", "single-run", "one-vantage-point", "low-traffic", "critical-route-untried", "census", "failure-rate-bound",
			"miss-chance", "longest-missed", "provisional", "blind-spot", "log-incomplete", "horizon", "users-not-measured", "balancer-without-log", "unexplained-failures", "steps-inferred", "stops-unknown", "several-target-groups", "ended-after-window", "ambiguous-joins", "not-invented-yet"} {
			report := analysis.Report{Verdict: analysis.Verdict{Conditions: []analysis.Condition{{Code: code, Values: values}}}}
			FillSentences(&report)
			if sentence := report.Verdict.Conditions[0].Sentence; !strings.HasSuffix(sentence, ".") || strings.Contains(sentence, "%!") {
				t.Errorf("condition %s with %v reads %q", code, values, sentence)
			}
		}
	}
}

func TestATargetOfSeveralGroupsIsSaid(t *testing.T) {
	report := analysis.Report{Verdict: analysis.Verdict{Conditions: []analysis.Condition{{Code: "several-target-groups", Values: map[string]any{
		"target": "api-1", "target_group": "public", "target_groups": []string{"public", "internal"}}}}}}
	FillSentences(&report)
	if got := report.Verdict.Conditions[0].Sentence; got != "api-1 is a member of several target groups (public and internal); its figures are by the settings of public." {
		t.Error(got)
	}
}

func TestALoadBalancerWithoutALogIsNamed(t *testing.T) {
	needs := []analysis.Required{{Source: "alb", Complete: true}, {Source: "partners", Why: "no_log"}}
	if got, want := lackingSources(analysis.Claim{Required: needs}), "load balancer partners has no access log that counts its users"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := conditionSentence("balancer-without-log", values{"load_balancer": "partners"}), "Load balancer partners has no access log that counts, so what happened to its users was not measured."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatCouldHaveBeenMissedIsSaid(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"The longest failure window on api-1 alone in api-1 drain that would have been missed by probe store with a chance of 5 % or more is 0.56 s.": {"probe": "store", "phase": "api-1 drain", "target": "api-1", "window_ms": 555.519},
		"The longest failure window that would have been missed by the probes with a chance of 5 % or more is 12 s.":                                  {"probe": "", "phase": "", "target": "", "window_ms": 12_000.0},
	} {
		report := analysis.Report{Verdict: analysis.Verdict{Conditions: []analysis.Condition{{Code: "longest-missed", Values: values}}}}
		FillSentences(&report)
		if got := report.Verdict.Conditions[0].Sentence; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

var allFindings = map[string]bool{
	"restart-before-eject": true, "returned-before-eject": true, "reported-before-return": true, "back-to-back-deploy": true, "fail-open": true, "single-target": true,
	"blind-spot": true, "query-failed": true, "zero-targets": true, "drain-wait-too-short": true, "drain-never-seen": true, "drain-marker-expired": true,
	"returned-then-failed": true, "health-check-never-passes": true, "idle-target": true, "draining-target-served": true, "state-lag": true, "rejection-surge": true,
	"abort-surge": true, "client-error-surge": true, "version-worse": true, "log-incomplete": true, "log-late": true, "no-baseline": true, "low-traffic": true, "clock-skew": true, "retry-masked": true,
	"probe-stall": true, "health-sample-claim": true, "shutdown-5xx": true, "health-check-blind": true, "reregistered": true, "classification-suspect": true, "version-mismatch": true, "not-invented-yet": true,
}

func TestFindingSentencesNameTheirFigures(t *testing.T) {
	target := "api-1"
	at := analysis.Time{Time: time.Unix(1_760_000_000, 0)}
	tests := []struct {
		code   string
		values map[string]any
		want   string
	}{
		{"restart-before-eject", map[string]any{"marked_at": at, "wait_s": 12.5, "predicted_from_s": 30, "predicted_to_s": 65, "failed_user": 3, "failed_probe": 1, "sent_after_stop": map[string]any{"user": 4, "probe": 2, "health": 1}},
			"api-1 was stopped while the load balancer still sent to it: 4 user requests, 2 probe requests and 1 health sample went to it after the stop. 3 user requests and 1 probe request failed. It was marked 12.5 s before the stop; by the health-check settings ejection takes 30–65 s."},
		{"restart-before-eject", map[string]any{"marked_at": nil, "wait_s": nil, "failed_user": 0, "failed_probe": 2},
			"api-1 was stopped while the load balancer still sent to it. 0 user requests and 2 probe requests failed. Nothing is known to have taken it out of rotation first."},
		{"returned-before-eject", map[string]any{"down_s": 26.4, "needed_s": 30, "interval_s": 30, "unhealthy": 2, "requests": map[string]any{"user": 130}, "failed": map[string]any{"user": 64}, "served_by_others": map[string]any{"user": 66}},
			"api-1 died and came back after 26.4 s, before the load balancer could take it out: 30 s is the least that 2 failed checks, one every 30 s, could take. Of 130 user requests meanwhile 64 failed and 66 were served by the others."},
		{"returned-before-eject", map[string]any{"requests": map[string]any{"probe": 16}, "failed": map[string]any{"probe": 10}, "served_by_others": map[string]any{"probe": 4}, "unattributed": map[string]any{"probe": 2}},
			"api-1 died and came back, before the load balancer could take it out. Of 16 probe requests meanwhile 10 failed, 4 were served by the others and 2 were answered, nobody knows by which target."},
		{"returned-before-eject", map[string]any{"requests": map[string]any{"probe": 16}, "failed": map[string]any{"probe": 10}, "served_by_others": map[string]any{}, "unattributed": map[string]any{"probe": 6}},
			"api-1 died and came back, before the load balancer could take it out. Of 16 probe requests meanwhile 10 failed and 6 were answered, nobody knows by which target."},
		{"reported-before-return", map[string]any{"late_s": 22.6}, "Success was reported 22.6 s before api-1 served its first request. A deploy started then could have left no target."},
		{"reported-before-return", map[string]any{"late_s": nil}, "Success was reported before api-1 served a request; none has been seen since."},
		{"back-to-back-deploy", map[string]any{"previous": "811", "gap_s": 3, "not_serving": []string{"api-2"}}, "This deploy began before deploy 811 had all of its targets serving, 3 s after that one was reported done. Not yet serving: api-2."},
		{"fail-open", map[string]any{"target_group": "api", "seconds": 40, "requests": 1200}, "Every target of target group api was unhealthy for 40 s, and the load balancer sent requests all the same (1,200)."},
		{"idle-target", map[string]any{"due": map[string]any{"user": 400, "probe": 100}}, "api-1 was in rotation and served nothing, where about 400 user requests and 100 probe requests were due."},
		{"single-target", map[string]any{"seconds": 149, "requests": map[string]any{"user": 2204}, "others": []any{"api-2"}}, "Only api-1 was in rotation for 149 s and served at least 2,204 user requests. Out meanwhile: api-2."},
		{"probe-stall", map[string]any{"probe": "store", "took_s": 5.255, "usual_ms": 9.0, "cause": "load_balancer", "balancer_s": 5.22, "before_target_s": 5.2, "target_s": .01},
			"A request of probe store took 5.25 s where 9 ms is usual. The load balancer held it, not a target; the access log has it at 5.22 s, of which it waited 5.2 s until it was sent to the target, which took 0.01 s, and 0.01 s after that."},
		{"probe-stall", map[string]any{"probe": "store", "took_s": 5.255, "usual_ms": 9.0, "cause": "server", "balancer_s": 5.22, "before_target_s": nil, "target_s": 5.2},
			"A request of probe store took 5.25 s where 9 ms is usual. The target itself took the time; the access log has it at 5.22 s, of which the target took 5.2 s."},
		{"probe-stall", map[string]any{"probe": "store", "took_s": 5.255, "usual_ms": 9.0, "cause": "server", "balancer_s": 5.22, "before_target_s": .1, "target_s": nil},
			"A request of probe store took 5.25 s where 9 ms is usual. The target itself took the time; the access log has it at 5.22 s, of which it waited 0.1 s until it was sent to the target."},
		{"query-failed", map[string]any{"source": "elbv2", "code": "throttled", "error": "Rate exceeded", "count": 4}, "4 queries to elbv2 failed (throttled). That is not the same as finding nothing. The last error: Rate exceeded."},
		{"query-failed", map[string]any{"source": "elbv2", "error": "What is that?"}, "A query to elbv2 failed. That is not the same as finding nothing. The last error: What is that?"},
		{"blind-spot", map[string]any{"source": "alb", "seconds": 3, "reason": "query_failed", "detail": "no route to host "}, "alb saw nothing for 3 s (query failed). It said: no route to host."},
		{"retry-masked", map[string]any{"source": "edge", "traffic": "user", "masked": 60, "failed_attempts": 61, "failed_on": []any{"api-1"}, "baseline": 0, "baseline_requests": 1000},
			"A retry hid 61 failed attempts on api-1 from 60 user requests: another attempt was answered, so none of them is counted as lost; before the deploy there were none."},
		{"retry-masked", map[string]any{"source": "edge", "traffic": "probe", "masked": 1, "failed_attempts": 1, "failed_on": []any{}, "baseline": 2, "baseline_requests": 1000},
			"A retry hid 1 failed attempt from 1 probe request: another attempt was answered, so none of them is counted as lost; before the deploy there were 2 of 1,000."},
		{"abort-surge", map[string]any{"traffic": "user", "outcome": "client_abort", "route": "order", "baseline": 1, "baseline_requests": 1200, "window": 20, "window_requests": 4800},
			"Client aborts of user requests on route order rose from 1 of 1,200 before the deploy to 20 of 4,800 since."},
		{"abort-surge", map[string]any{"traffic": "user", "outcome": "client_abort", "route": "order", "baseline": 1, "baseline_requests": 1200, "window": 20, "window_requests": 4800, "together": 18, "within_s": 5.0},
			"Client aborts of user requests on route order came together, 18 within 5 s: 1 of 1,200 before the deploy, 20 of 4,800 since."},
		{"version-mismatch", map[string]any{"version": "1.4.1", "deployed": "1.4.2", "before": "1.4.1"}, "api-1 does not run the version that was deployed: it says 1.4.1, deployed was 1.4.2, and before that 1.4.1."},
		{"not-invented-yet", map[string]any{"requests": 1200, "why": "odd"}, "Finding not-invented-yet: requests 1,200, why odd."},
	}
	for _, test := range tests {
		finding := analysis.Finding{Code: test.code, Target: &target, Values: test.values}
		report := analysis.Report{Findings: []analysis.Finding{finding}}
		FillSentences(&report)
		if report.Findings[0].Sentence != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.code, report.Findings[0].Sentence, test.want)
		}
		// A stored report holds the same values as plain JSON, and must read the same.
		content, err := json.Marshal(finding)
		if err != nil {
			t.Fatal(err)
		}
		var stored analysis.Finding
		if err := json.Unmarshal(content, &stored); err != nil {
			t.Fatal(err)
		}
		stored.Sentence = ""
		report = analysis.Report{Findings: []analysis.Finding{stored}}
		FillSentences(&report)
		if report.Findings[0].Sentence != test.want {
			t.Errorf("%s, stored:\n got %q\nwant %q", test.code, report.Findings[0].Sentence, test.want)
		}
	}
}

// Failures without a cause are put down to nothing yet, whatever is judged.
func TestUnexplainedNamesWhatIsJudged(t *testing.T) {
	at := analysis.Time{Time: time.Unix(1_760_000_000, 0)}
	for want, deploy := range map[string]analysis.DeployReport{
		"none of it is put down to the outage; see the findings: unbounded wait": {ID: "1", Kind: analysis.KindFault, StartedAt: at},
		"none of it is put down to the deploy; see the findings: unbounded wait": {ID: "1", Kind: analysis.KindRolling, StartedAt: at},
		"none of it is put down to a deploy; see the findings: unbounded wait":   {},
	} {
		if got := unexplained(&analysis.Report{Deploy: deploy, Findings: []analysis.Finding{{Code: "unbounded-wait", Severity: analysis.SeverityHigh}}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for n, want := range map[int]string{1: "1 failure among user requests is not put down to the deploy.", 6: "6 failures among user requests are not put down to the deploy."} {
		if got := conditionSentence("unexplained-failures", values{"count": n, "traffic": "user"}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A target is alone in rotation where the others were taken out, and else only alone.
func TestSingleTargetSaysWhatBecameOfTheOthers(t *testing.T) {
	at := func(seconds int) analysis.Time {
		return analysis.Time{Time: time.Unix(1_760_000_000+int64(seconds), 0)}
	}
	one := "api-2"
	for name, c := range map[string]struct {
		other analysis.TargetReport
		want  string
	}{
		"dead and in rotation": {analysis.TargetReport{KilledAt: at(1), FirstServedAt: at(27), Ejected: "no"}, "Only api-2 could serve for 26 s and served at least 40 user requests. Down meanwhile: api-1."},
		"never back":           {analysis.TargetReport{KilledAt: at(1), Ejected: "no"}, "Only api-2 could serve for 26 s and served at least 40 user requests. Down meanwhile: api-1."},
		"taken out first":      {analysis.TargetReport{RestartAt: at(5), FirstServedAt: at(27), Ejected: "yes"}, "Only api-2 was in rotation for 26 s and served at least 40 user requests. Out meanwhile: api-1."},
		"nobody knows":         {analysis.TargetReport{RestartAt: at(5), FirstServedAt: at(27), Ejected: "unknown"}, "Only api-2 served for 26 s: at least 40 user requests. Stopped meanwhile: api-1."},
		"stopped after it":     {analysis.TargetReport{RestartAt: at(40), Ejected: "no"}, "Only api-2 was in rotation for 26 s and served at least 40 user requests. Out meanwhile: api-1."},
		"back before it":       {analysis.TargetReport{RestartAt: at(-9), FirstServedAt: at(-2), Ejected: "no"}, "Only api-2 was in rotation for 26 s and served at least 40 user requests. Out meanwhile: api-1."},
	} {
		c.other.Target = "api-1"
		r := analysis.Report{Targets: []analysis.TargetReport{c.other, {Target: one}}, Findings: []analysis.Finding{{Code: "single-target", Target: &one, From: at(1), To: at(27),
			Values: map[string]any{"seconds": 26, "requests": map[string]any{"user": 40}, "others": []string{"api-1"}}}}}
		FillSentences(&r)
		if got := r.Findings[0].Sentence; got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestWrittenSentencesStay(t *testing.T) {
	r := analysis.Report{Verdict: analysis.Verdict{State: analysis.Supported, Sentence: "Mine."}}
	FillSentences(&r)
	if r.Verdict.Sentence != "Mine." {
		t.Errorf("got %q", r.Verdict.Sentence)
	}
}

// Claims, their reasons and the conditions say of an outage, or of a span that nobody
// called a deploy, that they are about it.
func TestWordsNameWhatIsJudged(t *testing.T) {
	at := analysis.Time{Time: time.Unix(1_760_000_000, 0)}
	for want, deploy := range map[string]analysis.DeployReport{
		"No user request failed because of the deploy. | failures caused by the deploy | the evidence does not reach to the deploy's end | Some failures among user requests are not put down to the deploy.":          {ID: "1", Kind: analysis.KindRolling, StartedAt: at},
		"No user request failed because of the outage. | failures caused by the outage | the evidence does not reach to the outage's end | Some failures among user requests are not put down to the outage.":          {ID: "1", Kind: analysis.KindFault, StartedAt: at},
		"No user request failed because of anything in this span. | failures caused by the deploy | the evidence does not reach to the span's end | Some failures among user requests are not put down to the deploy.": {},
	} {
		r := &analysis.Report{Deploy: deploy, Claims: []analysis.Claim{{ID: analysis.ClaimNoUserFailureCaused}}}
		r.Verdict.Conditions = []analysis.Condition{{Code: "unexplained-failures", Values: map[string]any{"traffic": "user"}}}
		FillSentences(r)
		got := strings.Join([]string{r.Claims[0].Text, ReasonWords(r, analysis.ReasonCausedByDeploy), ReasonWords(r, analysis.ReasonNotOver), r.Verdict.Conditions[0].Sentence}, " | ")
		if got != want {
			t.Errorf("got %q,\nwant %q", got, want)
		}
	}
}
