package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

func TestWhatBecomesOfMarkers(t *testing.T) {
	now := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		// answer is Loki's to a line: a status, 0 for no answer.
		answer                 func(l line) int
		sent, dropped, waiting []int64
		failing                bool
		code                   string
	}{
		{name: "all taken", answer: func(line) int { return 204 }, sent: []int64{1, 2, 3}, dropped: []int64{4}},
		{name: "away", answer: func(line) int { return 503 }, waiting: []int64{1, 2, 3}, dropped: []int64{4}, failing: true, code: "error"},
		{name: "no answer", answer: func(line) int { return 0 }, waiting: []int64{1, 2, 3}, dropped: []int64{4}, failing: true, code: "unreachable"},
		{name: "wants another tenant", answer: func(line) int { return 401 }, waiting: []int64{1, 2, 3}, dropped: []int64{4}, failing: true, code: "forbidden"},
		{name: "one is refused", answer: func(l line) int {
			if l.text == "line 2" {
				return 400
			}
			return 204
		}, sent: []int64{1, 3}, dropped: []int64{2, 4}},
		{name: "one comes too late for its stream", answer: func(l line) int {
			if l.text == "line 2" && l.labels["late"] == "" {
				return 400
			}
			return 204
		}, sent: []int64{1, 2, 3}, dropped: []int64{4}},
		{name: "goes away in between", answer: func(l line) int {
			if l.text == "line 1" { // the last of them
				return 429
			}
			return 204
		}, sent: []int64{2, 3}, waiting: []int64{1}, dropped: []int64{4}, failing: true, code: "throttled"},
		{name: "one is too large", answer: only("line 3", 413), sent: []int64{1, 2}, dropped: []int64{3, 4}},
		{name: "one has a label that is not allowed", answer: only("line 3", 422), sent: []int64{1, 2}, dropped: []int64{3, 4}},
		{name: "fails on one", answer: only("line 3", 500), sent: []int64{1, 2}, waiting: []int64{3}, dropped: []int64{4}, failing: true},
		{name: "no Loki there", answer: func(line) int { return 404 }, waiting: []int64{1, 2, 3}, dropped: []int64{4}, failing: true, code: "not_found"},
		{name: "a proxy wants a password", answer: func(line) int { return 407 }, waiting: []int64{1, 2, 3}, dropped: []int64{4}, failing: true, code: "error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			box := &box{}
			for id := int64(1); id <= 3; id++ {
				box.add(id, now.Add(-time.Duration(id)*time.Minute))
			}
			box.add(4, now.Add(-8*24*time.Hour))
			p := &Publisher{cfg: Config{Now: func() time.Time { return now }, Labels: map[string]string{"job": "gapless"}}, outbox: box}
			var last line
			p.send = func(_ context.Context, l line) error {
				if l.at.Before(last.at) {
					t.Errorf("%q is sent after %q", l.text, last.text)
				}
				last = l
				if l.labels["job"] != "gapless" || l.labels["service"] != "orders-api" || l.labels["kind"] != "step" {
					t.Errorf("labels %v", l.labels)
				}
				if s := test.answer(l); s != 204 {
					return &refused{status: s, text: "no"}
				}
				return nil
			}
			failing, err := p.pass(t.Context())
			if err != nil || failing != test.failing {
				t.Errorf("failing %v, %v", failing, err)
			}
			slices.Sort(box.sent)
			if !slices.Equal(box.sent, test.sent) || !slices.Equal(slices.Sorted(maps.Keys(box.dropped)), test.dropped) || !slices.Equal(box.waiting(), test.waiting) || box.code != test.code {
				t.Errorf("sent %v, dropped %v, waiting %v, code %q", box.sent, box.dropped, box.waiting(), box.code)
			}
		})
	}
}

// only refuses one line.
func only(text string, status int) func(line) int {
	return func(l line) int {
		if l.text == text {
			return status
		}
		return 204
	}
}

// However many markers a Loki fails on, the others arrive, and it is not asked for
// each of them at every look.
func TestSomeAlwaysFail(t *testing.T) {
	box := &box{}
	z := time.Date(2026, 10, 14, 7, 0, 0, 0, time.UTC)
	for id := int64(1); id <= 20; id++ {
		box.add(id, z.Add(time.Duration(id)*time.Second))
	}
	p, asked := &Publisher{cfg: Config{Now: func() time.Time { return z }}, outbox: box}, 0
	p.send = func(_ context.Context, l line) error {
		asked++
		if !l.at.After(z.Add(5 * time.Second)) {
			return &refused{status: 500, text: "panic"}
		}
		return nil
	}
	for range 4 {
		before := asked
		if failing, err := p.pass(t.Context()); err != nil || !failing {
			t.Errorf("failing %v, %v", failing, err)
		}
		if len(box.sent) == 0 && asked-before > 2 {
			t.Errorf("asked %d times of a Loki that takes nothing", asked-before)
		}
	}
	if !slices.Equal(box.waiting(), []int64{1, 2, 3, 4, 5}) {
		t.Errorf("waiting %v", box.waiting())
	}
}

// A Loki that is away is asked ever less often, and everything arrives in the end.
func TestAwayForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, tries := &box{}, 0
		box.add(1, time.Now())
		p, err := New(Config{URL: "http://loki:3100"}, box)
		if err != nil {
			t.Fatal(err)
		}
		back := time.Now().Add(20 * time.Minute)
		p.send = func(context.Context, line) error {
			if tries++; time.Now().Before(back) {
				return &refused{}
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.Run(ctx)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(box.sent) != 1 || tries < 5 || tries > 15 {
			t.Errorf("sent %v after %d tries", box.sent, tries)
		}
		stop()
		synctest.Wait()
	})
}

func TestClient(t *testing.T) {
	var got []*http.Request
	answer := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		w.WriteHeader(answer)
		fmt.Fprint(w, "entry out of order")
	}))
	base, err := url.Parse(server.URL + "/prefix")
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(Config{Tenant: "team-a", User: "me", Password: "hush"}, base)
	if err != nil {
		t.Fatal(err)
	}
	l := line{map[string]string{"kind": "step"}, time.Now(), "a"}
	if err := c.send(t.Context(), l); err != nil || len(got) != 1 {
		t.Fatalf("%d requests, %v", len(got), err)
	}
	user, password, _ := got[0].BasicAuth()
	if got[0].URL.Path != "/prefix/loki/api/v1/push" || got[0].Header.Get("X-Scope-OrgID") != "team-a" || user != "me" || password != "hush" || got[0].Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("sent %s with %v", got[0].URL, got[0].Header)
	}
	for _, answer = range []int{400, 401, 413, 429, 500} {
		before := len(got)
		err := c.send(t.Context(), l)
		if status(err) != answer || !strings.Contains(err.Error(), "out of order") || strings.Contains(err.Error(), "hush") {
			t.Errorf("answer %d: %v", answer, err)
		}
		if tries := len(got) - before; tries != 1 {
			t.Errorf("answer %d: sent %d times", answer, tries)
		}
	}
	server.Close()
	if err := c.send(t.Context(), l); err == nil || code(err) != "unreachable" {
		t.Errorf("nobody there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.send(ended, l); !errors.Is(err, context.Canceled) && code(err) != "unreachable" {
		t.Errorf("after the end: %v", err)
	}
}

func TestConfigurationThatCannotBe(t *testing.T) {
	for _, address := range []string{"", "loki:3100", "ftp://loki", "http://me:hush@loki"} {
		if _, err := New(Config{URL: address}, &box{}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// box is an outbox in memory.
type box struct {
	markers []analysis.Marker
	sent    []int64
	dropped map[int64]string
	code    string
}

func (b *box) add(id int64, at time.Time) {
	b.markers = append(b.markers, analysis.Marker{ID: id, Service: "orders-api", Key: fmt.Sprint(id), Kind: "step", At: at, Line: fmt.Sprintf("line %d", id)})
}

func (b *box) WaitingMarkers(_ context.Context, limit int) ([]analysis.Marker, error) {
	waiting := []analysis.Marker{}
	for _, m := range b.markers {
		if slices.Contains(b.waiting(), m.ID) && len(waiting) < limit {
			waiting = append(waiting, m)
		}
	}
	return waiting, nil
}

func (b *box) MarkersTold(_ context.Context, _ string, told analysis.Told) error {
	b.sent = append(b.sent, told.Sent...)
	if b.dropped == nil {
		b.dropped = map[int64]string{}
	}
	maps.Copy(b.dropped, told.Dropped)
	b.code = told.Code
	return nil
}

func (b *box) waiting() []int64 {
	var ids []int64
	for _, m := range b.markers {
		if _, dropped := b.dropped[m.ID]; !dropped && !slices.Contains(b.sent, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
