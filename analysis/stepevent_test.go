package analysis

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDecodeStepEvent(t *testing.T) {
	at := time.Date(2026, 10, 14, 6, 25, 0, 123456000, time.UTC)
	e, err := DecodeStepEvent([]byte(`{"deploy":"2026-10-14-1","service":"orders-api","kind":"deploy.started",
		"at":"2026-10-14T15:25:00.123456+09:00","source":"workflow","deploy_kind":"blue_green","version_before":"41",
		"version_after":"42","rollback_of":"x","actor":"kim","environment":"prod","url":"https://ci/1","later":true}`))
	if err != nil {
		t.Fatal(err)
	}
	d, ok := e.Started()
	want := Deploy{ID: "2026-10-14-1", Service: "orders-api", Kind: KindBlueGreen, VersionBefore: "41", VersionAfter: "42",
		RollbackOf: "x", Environment: "prod", Actor: "kim", URL: "https://ci/1", Source: "workflow", StartedAt: at}
	if !ok || d != want {
		t.Errorf("deploy\n got %+v\nwant %+v", d, want)
	}
	if s := e.Step(); s.Inferred || !s.At.Equal(at) || s.Kind != StepDeployStarted || s.Source != "workflow" {
		t.Errorf("step %+v", s)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := DecodeStepEvent(b); err != nil || again != e {
		t.Errorf("written and read again: %+v, %v; want %+v", again, err, e)
	}
	if !strings.Contains(string(b), `"at":"2026-10-14T06:25:00.123456Z"`) {
		t.Errorf("%s: want at in UTC with six decimals", b)
	}
}

func TestDecodeStepEventRefuses(t *testing.T) {
	for _, test := range []struct{ name, json, want string }{
		{"not json", `{"deploy"`, "decode step"},
		{"no service", `{"kind":"drain.marked","at":"2026-10-14T06:25:00Z"}`, "service is missing"},
		{"unknown kind", `{"service":"s","kind":"drained","at":"2026-10-14T06:25:00Z"}`, `kind "drained"`},
		{"no time", `{"service":"s","kind":"drain.marked"}`, "at is missing"},
		{"time as number", `{"service":"s","kind":"drain.marked","at":17}`, "decode step"},
		{"time too early", `{"service":"s","kind":"drain.marked","at":"1969-12-31T23:59:59.999999Z"}`, "1970"},
		{"time too late, in UTC", `{"service":"s","kind":"drain.marked","at":"9999-12-31T23:30:00-01:00"}`, "9999"},
		{"start without id", `{"service":"s","kind":"deploy.started","at":"2026-10-14T06:25:00Z"}`, "deploy is missing"},
		{"dots for an id", `{"deploy":"..","service":"s","kind":"deploy.started","at":"2026-10-14T06:25:00Z"}`, `deploy ".." cannot be an id`},
		{"dot for an id", `{"deploy":".","service":"s","kind":"drain.marked","at":"2026-10-14T06:25:00Z"}`, `deploy "." cannot be an id`},
		{"slash in an id", `{"deploy":"a/b","service":"s","kind":"deploy.started","at":"2026-10-14T06:25:00Z"}`, `deploy "a/b" has a slash`},
		{"unknown deploy kind", `{"deploy":"d","service":"s","kind":"deploy.started","at":"2026-10-14T06:25:00Z","deploy_kind":"canary"}`, `deploy_kind "canary"`},
		{"report without result", `{"deploy":"d","service":"s","kind":"deploy.reported","at":"2026-10-14T06:25:00Z"}`, `result ""`},
		{"control characters", `{"deploy":"d\n","service":"s","kind":"drain.marked","at":"2026-10-14T06:25:00Z"}`, "control characters"},
		{"too long", `{"deploy":"` + strings.Repeat("d", 201) + `","service":"s","kind":"drain.marked","at":"2026-10-14T06:25:00Z"}`, "201 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := DecodeStepEvent([]byte(test.json))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// The first and the last year, a name of exactly 200 bytes, and a deploy of which only
// the id is told, are fine; a deploy whose kind nobody told is rolling.
func TestDecodeStepEventAtItsLimits(t *testing.T) {
	for _, at := range []string{"1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"} {
		id := strings.Repeat("d", 200)
		e, err := DecodeStepEvent([]byte(`{"deploy":"` + id + `","service":"s","kind":"deploy.started","at":"` + at + `"}`))
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if d, ok := e.Started(); !ok || d.ID != id || d.Kind != KindRolling {
			t.Errorf("%s: deploy %+v, %t", at, d, ok)
		}
	}
}

// Only deploy.started starts a deploy.
func TestWhatStartsADeploy(t *testing.T) {
	for _, kind := range StepKinds {
		if _, ok := (StepEvent{Deploy: "d", Service: "s", Kind: kind}).Started(); ok != (kind == StepDeployStarted) {
			t.Errorf("%s starts a deploy: %t", kind, ok)
		}
	}
}
