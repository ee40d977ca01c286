package web

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The test's services have a window from 1 min before the start to 1 min after the
// end, and of 1 h where no end is reported.
func TestWhatMayBeAMistakeIsWarnedOf(t *testing.T) {
	s := newServer(t, Config{})
	tell := func(path, body string) (stored bool, warnings []string) {
		t.Helper()
		got, told := s.request(t, "POST", path, body, nil)
		var answer struct {
			Stored   bool
			Warnings []string
		}
		if err := json.Unmarshal([]byte(told), &answer); err != nil || got.StatusCode/100 != 2 {
			t.Fatalf("%s: %d %s", body, got.StatusCode, told)
		}
		return answer.Stored, answer.Warnings
	}
	const deploys, steps = "/api/v1/deploys", "/api/v1/deploys/d1/steps"
	for _, test := range []struct {
		path, body string
		stored     bool
		warnings   []string
	}{
		{deploys, `{"id":"d1","service":"orders","version_after":"2","at":"2026-10-14T06:00:00.5Z"}`, true, nil},
		{deploys, `{"id":"d1","service":"orders","version_after":"2","at":"2026-10-14T06:00:00.5Z"}`, false, nil},
		{deploys, `{"id":"d1","service":"orders","version_after":"3","at":"2026-10-14T06:00:00.5Z"}`, false,
			[]string{"deploy d1 has already started at 2026-10-14T06:00:00.5Z, as version 2; that stays, and the start at 2026-10-14T06:00:00.5Z, version 3 was not stored"}},
		{deploys, `{"id":"d1","service":"orders","actor":"ada","at":"2026-10-14T06:00:07Z"}`, true,
			[]string{"deploy d1 has already started at 2026-10-14T06:00:00.5Z; that stays, and the start at 2026-10-14T06:00:07Z was not stored"}},
		{deploys, `{"id":"d1","service":"orders","at":"2026-10-14T06:00:00.5Z","version":"2"}`, false,
			[]string{`ignored what is not known here: "version"; known are: `}},
		{steps, `{"kind":"drain.marked","at":"2026-10-14T06:00:00Z"}`, true, nil}, // a shell's clock
		{steps, `{"kind":"drain.marked","at":"2026-10-14T07:00:00.4Z"}`, true, nil},
		{steps, `{"kind":"drain.marked","at":"2026-10-14T07:00:00.5Z"}`, true,
			[]string{"drain.marked at 2026-10-14T07:00:00.5Z lies outside of the deploy's window, from 2026-10-14T05:59:00.5Z to 2026-10-14T07:00:00.5Z; "}},
		{steps, `{"kind":"build.finished","at":"2026-10-14T05:59:30Z"}`, true,
			[]string{"build.finished at 2026-10-14T05:59:30Z lies before the deploy's start at 2026-10-14T06:00:00.5Z, though within its window, from "}},
		{steps, `[{"kind":"restart.began","at":"2026-10-13T06:00:00Z","colour":"red"},{"kind":"restart.began","at":"2026-10-14T06:01:00Z"}]`, true,
			[]string{`ignored what is not known here: "colour"; known are: deploy, service, kind, at, `, "restart.began at 2026-10-13T06:00:00Z lies outside of the deploy's window, "}},
		{steps, `[` + strings.Repeat(`{"kind":"restart.began","at":"2026-10-13T06:00:00Z"},`, 6) + `{"kind":"restart.began","at":"2026-10-13T06:00:00Z"}]`, false,
			[]string{"restart.began", "restart.began", "restart.began", "restart.began", "restart.began", "2 more steps lie outside"}},
		{steps, `{"kind":"deploy.reported","result":"succeeded","at":"2026-10-14T06:05:00Z"}`, true, []string{"of the steps told before, 3 now lie outside of the deploy's window"}},
		{steps, `{"kind":"deploy.reported","result":"failed","at":"2026-10-14T06:06:00Z"}`, false,
			[]string{"deploy d1 has already reported succeeded at 2026-10-14T06:05:00Z; that stays, and failed at 2026-10-14T06:06:00Z was not stored"}},
		{steps, `{"kind":"restart.began","at":"2026-10-14T06:06:00Z"}`, true, []string{"restart.began at 2026-10-14T06:06:00Z lies outside of the deploy's window, from 2026-10-14T05:59:00.5Z to 2026-10-14T06:06:00Z; "}},
	} {
		stored, warnings := tell(test.path, test.body)
		if stored != test.stored || !slices.EqualFunc(warnings, test.warnings, strings.HasPrefix) {
			t.Errorf("%s: %v %q, want %v %q", test.body, stored, warnings, test.stored, test.warnings)
		}
	}
}

func TestProbesWithAnotherKeyAreRefused(t *testing.T) {
	s := newServer(t, Config{})
	body := `{"probe":"store","vantage":"office","from":"2026-10-14T06:00:00Z","to":"2026-10-14T06:00:01Z","requests":[],"erorr":"stuck"}`
	if got, told := s.request(t, "POST", "/api/v1/services/orders/probes", body, nil); got.StatusCode != 400 || !strings.Contains(told, `no key \"erorr\"; allowed: probe, vantage, from, to, code, error, requests.`) {
		t.Errorf("%d %s", got.StatusCode, told)
	}
}
