package loki

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gapless/collectors/applog/logrules"
)

// An hour before the bubble begins, so that no line is awaited any more.
var past = base.Add(-time.Hour)

func TestEveryLineOnce(t *testing.T) {
	for _, test := range []struct {
		name  string
		every time.Duration // between two lines
		alike int           // lines of one nanosecond
		loki  *fakeLoki
	}{
		{name: "spread", every: time.Second, alike: 1},
		{name: "pages end inside a nanosecond", every: time.Millisecond, alike: 3},
		{name: "as many in a nanosecond as are asked for", every: time.Millisecond, alike: 7},
		{name: "more in a nanosecond than are asked for", every: time.Millisecond, alike: 50},
		{name: "all in one nanosecond", every: time.Millisecond, alike: 1000},
		{name: "as many in a nanosecond as are allowed, less one", every: time.Millisecond, alike: 49, loki: &fakeLoki{most: 50}},
		{name: "fewer are allowed than are asked for", every: time.Millisecond, alike: 2, loki: &fakeLoki{most: 5}},
		{name: "a short range is allowed", every: time.Second, alike: 1, loki: &fakeLoki{longest: 90 * time.Second}},
		{name: "start and end are ignored", every: 300 * time.Millisecond, alike: 2, loki: &fakeLoki{lies: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 1000
				if test.loki == nil {
					test.loki = &fakeLoki{}
				}
				for seq := 1; seq <= n; seq++ {
					test.loki.add(past.Add(time.Duration(seq/test.alike)*test.every), hostOf(seq), handledLine(seq))
				}
				m := newMemory()
				r := newReader(t, test.loki, m)
				if err := r.Collect(t.Context(), past, base.Add(-time.Minute)); err != nil {
					t.Fatal(err)
				}
				wantOnce(t, m, n)
				if got := m.covered(); !slices.Equal(got, []string{"-1h0m0s–-1m0s"}) {
					t.Errorf("covered %v", got)
				}
				before := len(test.loki.asked)
				if err := r.Collect(t.Context(), past, base.Add(-time.Minute)); err != nil {
					t.Fatal(err)
				}
				if asked := len(test.loki.asked) - before; asked != 0 {
					t.Errorf("asked %d times for what was read", asked)
				}
			})
		})
	}
}

// A proxy that cuts replies without a word is not taken for the end of the lines.
func TestSilentClamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{clamp: 100}
		for seq := 1; seq <= 950; seq++ {
			loki.add(past.Add(time.Duration(seq)*time.Second), hostOf(seq), handledLine(seq))
		}
		m := newMemory()
		r := newReader(t, loki, m, func(c *Config) { c.Limit = 5000 })
		if err := r.Collect(t.Context(), past, base); err != nil {
			t.Fatal(err)
		}
		wantOnce(t, m, 950)
	})
}

// Lines that are alike in everything count as often as they are there, also where a
// reply ends between them.
func TestLinesThatAreAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		loki.add(past, "api-1", "A") // the first reply ends after three of the next nanosecond
		loki.add(past, "api-2", "A")
		for _, host := range []string{"api-1", "api-2"} {
			for _, text := range []string{"A", "A", "A", "B", "A", "C", "A", "B", "A", "D", "A"} {
				loki.add(past.Add(1), host, text)
			}
		}
		loki.add(past.Add(2), "api-1", "A")
		m := newMemory()
		if err := newReader(t, loki, m, func(c *Config) { c.Limit = 5 }).Collect(t.Context(), past, past.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if m.lines != 25 {
			t.Errorf("%d lines, want 25", m.lines)
		}
	})
}

// More lines of one nanosecond than the server gives at once: what there is beyond is
// a hole of exactly that moment, and nothing else is missing.
func TestTooManyOfOneNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{most: 50}
		crowded := past.Add(1500*time.Millisecond + 1)
		loki.add(past, hostOf(1), handledLine(1))
		for seq := 2; seq <= 61; seq++ {
			loki.add(crowded, hostOf(seq), handledLine(seq))
		}
		loki.add(crowded.Add(1), hostOf(62), handledLine(62))
		loki.add(crowded.Add(time.Second), hostOf(63), handledLine(63))
		m := newMemory()
		r := newReader(t, loki, m)
		for range 2 { // what was read already is vouched for again, the hole is not
			if err := r.Collect(t.Context(), past, past.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			want := []string{"-1h0m0s–-59m58.5s", "-59m58.499999s–-59m0s"}
			if got := m.covered(); !slices.Equal(got, want) {
				t.Errorf("covered %v, want %v", got, want)
			}
		}
		if m.lines != 53 || m.handled["r1-62@"+hostOf(62)] != 1 || m.handled["r1-63@"+hostOf(63)] != 1 {
			t.Errorf("%d lines, want the 50 that are given and the 3 others: %v", m.lines, m.handled)
		}
		last := m.runs[len(m.runs)-1]
		if last.Code != codeTruncated || !last.From.Equal(crowded.Truncate(time.Microsecond)) || last.To.Sub(last.From) != time.Microsecond {
			t.Errorf("the hole is %+v", last)
		}
	})
}

// A JSON object among lines that begin with a time is a hole of that moment, since it may
// be quoted by the line before it.
func TestObjectsAmongLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		loki.add(past.Add(time.Second), hostOf(1), "2026-10-14T06:25:01.000Z  INFO 1 --- [o] [m] c.e.App : request body:")
		doubt := past.Add(2 * time.Second)
		loki.add(doubt, hostOf(1), `{"message":"Commencing graceful shutdown. Waiting for active requests to complete"}`)
		m := newMemory()
		r := newReader(t, loki, m, func(cfg *Config) { cfg.Rules.Sets = []string{logrules.SetJSON, logrules.SetSpringBoot} })
		for range 2 {
			if err := r.Collect(t.Context(), past, past.Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if last := m.runs[len(m.runs)-1]; last.Code != "bad_reply" || !last.From.Equal(doubt) || last.To.Sub(last.From) != time.Microsecond || last.Rows != 0 {
				t.Errorf("the hole is %+v", last)
			}
		}
	})
}

// However often it is killed, between any two stores, every line counts once.
func TestKilledBetweenAnyTwoBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		loki := &fakeLoki{}
		for seq := 1; seq <= n; seq++ {
			loki.add(past.Add(time.Duration(seq/5)*time.Millisecond), hostOf(seq), handledLine(seq))
		}
		m := newMemory()
		for kills := 0; ; kills++ {
			m.batches, m.dies = 0, 2 // every reader stores one batch
			err := newReader(t, loki, m).Collect(t.Context(), past, past.Add(time.Minute))
			if err == nil {
				if kills < n/7 {
					t.Errorf("killed %d times only", kills)
				}
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		wantOnce(t, m, n)
	})
}

func TestServerThatCannotAnswerNow(t *testing.T) {
	whole := func(f *fakeLoki, q asked) string { return f.body(q.from, q.to, q.limit) }
	for _, test := range []struct {
		name   string
		answer func(f *fakeLoki, n int, q asked) *http.Response
		waited time.Duration // at least, between the first two questions
		code   string        // of the failed run; empty where none is stored
	}{
		{name: "asks to wait once", waited: 20 * time.Second, answer: func(_ *fakeLoki, n int, _ asked) *http.Response {
			if n == 1 {
				r := reply(429, "too many outstanding requests")
				r.Header.Set("Retry-After", "20")
				return r
			}
			return nil
		}},
		{name: "500 twice", waited: firstPause / 2, answer: func(_ *fakeLoki, n int, _ asked) *http.Response {
			if n < 3 {
				return reply(500, "oops")
			}
			return nil
		}},
		{name: "connections drop in the middle of a reply", waited: firstPause / 2, answer: func(f *fakeLoki, n int, q asked) *http.Response {
			if n%2 == 1 {
				return broken(whole(f, q))
			}
			return nil
		}},
		{name: "a reply ends in the middle", answer: func(f *fakeLoki, n int, q asked) *http.Response {
			if n%2 == 1 {
				body := whole(f, q)
				return reply(200, body[:len(body)-10])
			}
			return nil
		}},
		{name: "long ranges take too long", answer: func(_ *fakeLoki, _ int, q asked) *http.Response {
			if q.to-q.from > int64(40*time.Second) {
				return reply(504, "context deadline exceeded")
			}
			return nil
		}},
		{name: "would read too much", answer: func(_ *fakeLoki, _ int, q asked) *http.Response {
			if q.to-q.from > int64(40*time.Second) {
				return reply(400, "the query would read too many bytes (query: 3GB, limit: 1GB); consider adding more specific stream selectors or reduce the time range of the query")
			}
			return nil
		}},
		{name: "429 for ever", code: "throttled", answer: func(*fakeLoki, int, asked) *http.Response { return reply(429, "too many requests") }},
		{name: "asks to wait for long", code: "throttled", answer: func(*fakeLoki, int, asked) *http.Response {
			r := reply(429, "ingestion rate")
			r.Header.Set("Retry-After", "600")
			return r
		}},
		{name: "502 for ever", code: "error", answer: func(*fakeLoki, int, asked) *http.Response { return reply(502, "<html>") }},
		{name: "no organisation", code: "forbidden", answer: func(*fakeLoki, int, asked) *http.Response { return reply(401, "no org id") }},
		{name: "not there", code: "not_found", answer: func(*fakeLoki, int, asked) *http.Response { return reply(404, "404 page not found") }},
		{name: "not understood", code: "error", answer: func(*fakeLoki, int, asked) *http.Response { return reply(400, "parse error at line 1, col 6") }},
		{name: "always cut", code: "unreachable", answer: func(f *fakeLoki, _ int, q asked) *http.Response { return broken(whole(f, q)) }},
		{name: "no result", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response { return reply(200, `{"status":"success","data":{}}`) }},
		{name: "no data", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response { return reply(200, `{"status":"success"}`) }},
		{name: "null for a result", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response {
			return reply(200, `{"status":"success","data":{"resultType":"streams","result":null}}`)
		}},
		{name: "error in a 200", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response {
			return reply(200, `{"status":"error","data":{"resultType":"streams","result":[]}}`)
		}},
		{name: "numbers", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response {
			return reply(200, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]}]}}`)
		}},
		{name: "a login page", code: "bad_reply", answer: func(*fakeLoki, int, asked) *http.Response { return reply(200, "<html>log in</html>") }},
		{name: "only other times", code: "bad_reply", answer: func(f *fakeLoki, _ int, q asked) *http.Response {
			return reply(200, f.body(0, q.from, q.limit)) // it fills the reply
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loki := &fakeLoki{}
				for seq := 1; seq <= 50; seq++ {
					loki.add(past.Add(time.Duration(seq)*time.Second), hostOf(seq), handledLine(seq))
				}
				m := newMemory()
				r := newReader(t, loki, m)
				from, to := past, past.Add(2*time.Minute)
				if test.name == "only other times" {
					from = past.Add(55 * time.Second)
				}
				loki.before = func(n int, q asked) *http.Response { return test.answer(loki, n, q) }
				err := r.Collect(t.Context(), from, to)
				if waited := loki.asked[min(1, len(loki.asked)-1)].at.Sub(base); waited < test.waited {
					t.Errorf("asked again after %s, want %s or more", waited, test.waited)
				}
				if test.code == "" {
					if err != nil {
						t.Fatal(err)
					}
					wantOnce(t, m, 50)
					return
				}
				if err == nil || len(m.runs) != 1 || m.runs[0].Code != test.code || !m.runs[0].From.Equal(from) || !m.runs[0].To.Equal(to) || m.runs[0].Error == "" {
					t.Fatalf("error %v, runs %+v; want one that failed, of code %s over the whole span", err, m.runs, test.code)
				}
				loki.before = nil
				if err := r.Collect(t.Context(), past, to); err != nil {
					t.Fatal(err)
				}
				wantOnce(t, m, 50)
				if got := m.covered(); !slices.Equal(got, []string{"-1h0m0s–-58m0s"}) {
					t.Errorf("covered %v", got)
				}
			})
		})
	}
}

// What was read before a failure stays read, and only the rest is a hole.
func TestFailureInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		for seq := 1; seq <= 50; seq++ {
			loki.add(past.Add(time.Duration(seq)*time.Second), hostOf(seq), handledLine(seq))
		}
		loki.before = func(_ int, q asked) *http.Response {
			if q.from >= past.Add(20*time.Second).UnixNano() {
				return reply(403, "no")
			}
			return nil
		}
		m := newMemory()
		if err := newReader(t, loki, m).Collect(t.Context(), past, past.Add(time.Minute)); err == nil {
			t.Fatal("no error")
		}
		// The fourth reply, asked for from line 19 on, ends with line 25.
		if got := m.covered(); !slices.Equal(got, []string{"-1h0m0s–-59m35s"}) {
			t.Errorf("covered %v", got)
		}
		loki.before = nil
		if err := newReader(t, loki, m).Collect(t.Context(), past, past.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		wantOnce(t, m, 50)
	})
}

// A reply that would not fit in memory is asked for in smaller parts.
func TestLargeReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		for seq := 1; seq <= 100; seq++ {
			loki.add(past.Add(time.Duration(seq/3)*time.Second), hostOf(seq), handledLine(seq)+strings.Repeat(" ", 1000))
		}
		m := newMemory()
		r := newReader(t, loki, m, func(c *Config) { c.Limit = 64 })
		r.client.bytes = 10_000
		if err := r.Collect(t.Context(), past, past.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		wantOnce(t, m, 100)
	})
}

func TestCollectBesideLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		for seq := 1; seq <= 600; seq++ { // five minutes before and after the beginning
			loki.add(base.Add(time.Duration(seq-300)*time.Second), hostOf(seq), handledLine(seq))
		}
		m := newMemory()
		ctx, stop := context.WithCancel(t.Context())
		live := newReader(t, loki, m, func(c *Config) { c.Limit = 100 })
		go run(ctx, live)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		// A span that is older, one that is partly read, and one that reaches to the present.
		for _, span := range [][2]time.Duration{{-280, -200}, {-250, -20}, {-299, 100}} {
			other := newReader(t, loki, m)
			if err := other.Collect(t.Context(), base.Add(span[0]*time.Second), base.Add(span[1]*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(305 * time.Second)
		synctest.Wait()
		stop()
		synctest.Wait()
		wantOnce(t, m, 600)
		if got := m.covered(); len(got) != 1 || !strings.HasPrefix(got[0], "-4m59s–6m3") {
			t.Errorf("covered %v", got)
		}
	})
}

// Lines that come late, some of them after the program was stopped and started.
func TestLateLines(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loki, m := &fakeLoki{}, newMemory()
				start := func() (stop func()) {
					ctx, cancel := context.WithCancel(t.Context())
					go run(ctx, newReader(t, loki, m))
					return func() { cancel(); synctest.Wait() }
				}
				stop := start()
				time.Sleep(10*time.Second + 100*time.Millisecond)
				synctest.Wait()
				seq := 0
				add := func(at time.Duration) {
					seq++
					loki.add(base.Add(at), hostOf(seq), handledLine(seq))
				}
				for at := range 8 { // these come in time
					add(time.Duration(11+at) * time.Second)
				}
				time.Sleep(12 * time.Second)
				synctest.Wait()
				if len(m.handled) != 8 {
					t.Fatalf("%d lines were read at first", len(m.handled))
				}
				if restart {
					stop()
					stop = start()
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				add(11500 * time.Millisecond) // into a second that was read
				add(13 * time.Second)         // at a time that another line has
				add(33 * time.Second)         // into one that had none
				add(33*time.Second + 1)       // twice
				time.Sleep(90 * time.Second)  // all are older than a minute by now
				synctest.Wait()
				stop()
				// Rows may be stored again, which changes nothing; counts may not.
				if len(m.handled) != seq || m.lines != seq || m.matched != seq || m.repeated > 0 {
					t.Errorf("%d lines, %d counted, %d matched, want %d; %d came twice unsaid", len(m.handled), m.lines, m.matched, seq, m.repeated)
				}
				if got := m.covered(); len(got) != 1 {
					t.Errorf("covered %v, want no hole", got)
				}
			})
		})
	}
}

// Two spans that meet while lines of both are awaited.
func TestLateLinesOfSpansThatMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki, m := &fakeLoki{}, newMemory()
		r := newReader(t, loki, m)
		collect := func(from, to int) {
			t.Helper()
			if err := r.Collect(t.Context(), base.Add(time.Duration(from)*time.Second), base.Add(time.Duration(to)*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		loki.add(base.Add(-35*time.Second), hostOf(1), handledLine(1))
		loki.add(base.Add(-25*time.Second), hostOf(2), handledLine(2))
		collect(-30, -20)
		collect(-40, -30)
		loki.add(base.Add(-36*time.Second), hostOf(3), handledLine(3))
		loki.add(base.Add(-35*time.Second), hostOf(4), handledLine(4))
		loki.add(base.Add(-25*time.Second+1), hostOf(5), handledLine(5))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		collect(-40, -20)
		if len(m.handled) != 5 || m.lines != 5 || m.matched != 5 {
			t.Errorf("%d lines, %d counted, %d matched; want 5", len(m.handled), m.lines, m.matched)
		}
	})
}

// While Loki is away, the time is a hole; when it is back, what it has is read.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki, m := &fakeLoki{}, newMemory()
		for seq := 1; seq <= 300; seq++ {
			loki.add(base.Add(time.Duration(seq)*time.Second), hostOf(seq), handledLine(seq))
		}
		away := func(int, asked) *http.Response { return reply(503, "away") }
		ctx, stop := context.WithCancel(t.Context())
		go run(ctx, newReader(t, loki, m))
		time.Sleep(99500 * time.Millisecond)
		synctest.Wait()
		loki.mu.Lock()
		loki.before = away
		loki.mu.Unlock()
		time.Sleep(100 * time.Second)
		synctest.Wait()
		// Of the time that was to be looked at again meanwhile, nobody knows.
		if got := m.covered(); !slices.Equal(got, []string{"-1m0s–30s", "40s–1m36s"}) {
			t.Errorf("covered %v, want nothing after the outage began", got)
		}
		loki.mu.Lock()
		loki.before = nil
		loki.mu.Unlock()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		stop()
		synctest.Wait()
		wantOnce(t, m, 300)
		if got := m.covered(); len(got) != 1 || !strings.HasPrefix(got[0], "-1m0s–6m1") {
			t.Errorf("covered %v", got)
		}
	})
}

func TestWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			change                func(*Config)
			authorization, tenant string
		}{
			{func(*Config) {}, "", ""},
			{func(c *Config) { c.Tenant = "team-a" }, "", "team-a"},
			{func(c *Config) { c.Token = "secret" }, "Bearer secret", ""},
			{func(c *Config) { c.User, c.Password = "me", "secret" }, "Basic bWU6c2VjcmV0", ""},
		} {
			loki := &fakeLoki{}
			loki.before = func(int, asked) *http.Response { return reply(403, "who are you") }
			err := newReader(t, loki, newMemory(), test.change).Collect(t.Context(), past, base)
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v", err)
			}
			header := loki.asked[0].header
			if header.Get("Authorization") != test.authorization || header.Get("X-Scope-OrgID") != test.tenant {
				t.Errorf("asked with %v", header)
			}
		}
	})
}

func TestConfigurationThatCannotBe(t *testing.T) {
	for name, cfg := range map[string]Config{
		"url":       {URL: "loki:3100", Query: testQuery},
		"password":  {URL: "http://me:secret@loki:3100", Query: testQuery},
		"no lines":  {URL: "http://loki:3100", Query: `rate({app="orders"}[1m])`},
		"log_match": {URL: "http://loki:3100", Query: testQuery, Rules: rulesOf("rid=(")},
	} {
		if _, err := New(cfg, newMemory()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// run reads until ctx ends, which is no error.
func run(ctx context.Context, r *Reader) {
	if err := r.Run(ctx); err != nil {
		panic(err)
	}
}
