package views

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestMarkersOfADeploy(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 10, 14, 6, minute, 0, 0, time.UTC) }
	target := "api-1"
	deploy := analysis.Deploy{ID: "d1", Service: "orders-api", VersionBefore: "v41", VersionAfter: "v42", StartedAt: at(0), Actor: `ada "the" first`}
	told := []analysis.Step{
		{Deploy: "d1", Kind: analysis.StepDeployStarted, At: at(0), Source: "ci"},
		{Deploy: "d1", Kind: analysis.StepDrainMarked, At: at(1), Target: target, Source: "ci"},
		{Deploy: "d1", Kind: analysis.StepDrainMarked, At: at(1), Target: target, Source: "workflow"}, // the same, by another source
	}
	lines := func(all []analysis.Marker) map[string]string {
		byKey := map[string]string{}
		for _, m := range all {
			if m.Service != "orders-api" || m.At.IsZero() || strings.Contains(m.Line, "\n") {
				t.Errorf("marker %+v", m)
			}
			if _, there := byKey[m.Key]; !there { // as the outbox takes them
				byKey[m.Key] = m.Line
			}
		}
		return byKey
	}
	live := lines(DeployMarkers(&deploy, told, nil))
	if len(live) != 2 {
		t.Errorf("while it is open: %q", live)
	}
	if got, want := live["d1\ndeploy\nstarted"], `text="orders-api d1: deploy began · v41 → v42" deploy="d1" version_before="v41" version_after="v42" actor="ada \"the\" first"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	deploy.ReportedAt, deploy.Result = at(5), "succeeded"
	report := analysis.Report{
		Window:  analysis.WindowReport{From: analysis.Time{Time: at(0).Add(-5 * time.Minute)}, To: analysis.Time{Time: at(15)}, Revision: 2},
		Verdict: analysis.Verdict{State: analysis.Disproved, Claim: "no-user-failure-caused", Sentence: "3 requests failed."},
		Steps: []analysis.StepReport{
			{Kind: analysis.StepDrainMarked, At: analysis.Time{Time: at(1)}, Target: &target, Source: "ci"},
			{Kind: analysis.StepProcessKilled, At: analysis.Time{Time: at(2)}, Target: &target, Source: "log", Inferred: true},
			{Kind: analysis.StepAppReady, At: analysis.Time{Time: at(3)}, Target: &target, Source: "log", Ignored: true},
		},
		Findings: []analysis.Finding{{Code: "restart-before-eject", Severity: "bad", Target: &target, Sentence: "It stopped while it was sent to."}},
	}
	all := DeployMarkers(&deploy, told, &report)
	if again := DeployMarkers(&deploy, told, &report); !slices.Equal(all, again) {
		t.Error("the same gives other markers")
	}
	sealed := lines(all)
	for key, want := range map[string]string{
		"d1\ndeploy\nreported":                                             `text="orders-api d1: reported · succeeded" deploy="d1" result="succeeded"`,
		"d1\nstep\nprocess.killed\n1791957720000000\napi-1":                `text="orders-api d1: api-1 · process.killed (inferred)" deploy="d1" step="process.killed" target="api-1" source="log" inferred="true"`,
		"d1\nfinding\nrestart-before-eject\napi-1\n\n2026-10-14T05:55:00Z": `text="orders-api d1: restart-before-eject · It stopped while it was sent to." deploy="d1" code="restart-before-eject" severity="bad" target="api-1"`,
		"d1\nverdict\n2": `text="orders-api d1: disproved · 3 requests failed." deploy="d1" state="disproved" claim="no-user-failure-caused" revision="2" from="2026-10-14T05:55:00Z" to="2026-10-14T06:15:00Z"`,
	} {
		if sealed[key] != want {
			t.Errorf("%q:\ngot  %s\nwant %s", key, sealed[key], want)
		}
	}
	if len(sealed) != 6 {
		t.Errorf("%d markers: %q", len(sealed), sealed)
	}
	for key, line := range live {
		if sealed[key] != line {
			t.Errorf("%q was told as %s and is now %s", key, line, sealed[key])
		}
	}
}

func TestPublishingAmongTheSources(t *testing.T) {
	now := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name                 string
		status               CollectorStatus
		class, state, volume string
	}{
		{"nothing told", CollectorStatus{Waiting: 2}, "warn", "has told nothing yet", "2 markers waiting"},
		{"well", CollectorStatus{LastRun: now, LastSuccess: now, Rows: 7}, "ok", "well", "7 markers told"},
		{"dropped", CollectorStatus{LastRun: now, LastSuccess: now, Rows: 1, Dropped: 1}, "warn", "well, with markers dropped", "1 marker told, 1 marker dropped"},
		{"away", CollectorStatus{LastRun: now, LastErrorAt: now, LastCode: "unreachable", LastError: "no answer", Waiting: 3}, "bad", "failing: unreachable", "3 markers waiting"},
	} {
		test.status.Kind = kindPublish
		view := NewCollectorsPage([]CollectorStatus{test.status}, now, time.UTC).Collectors[0]
		if view.Class != test.class || view.State != test.state || view.Volume != test.volume {
			t.Errorf("%s: %s, %q, %q", test.name, view.Class, view.State, view.Volume)
		}
	}
}
