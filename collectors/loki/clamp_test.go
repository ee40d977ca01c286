package loki

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gapless/analysis"
)

// Where replies are cut without a word, a reply of one nanosecond's lines alone may be
// cut too: its rest is a hole of that moment, and what comes after it is read. Where
// the server shows that it gives more at once, there is no hole.
func TestSilentClampInANanosecond(t *testing.T) {
	for _, test := range []struct {
		name            string
		crowded, before int // lines of the nanosecond, and of the seconds before it
		clamp           int
		refuses         bool // to look back
		read            int
		holes           bool
	}{
		{name: "more than are given", crowded: 150, clamp: 100, read: 600, holes: true},
		{name: "as many as are given", crowded: 100, clamp: 100, read: 600, holes: true},
		{name: "more than are given, after others", crowded: 150, before: 60, clamp: 100, read: 660, holes: true},
		{name: "fewer than are given, after others", crowded: 150, before: 60, clamp: 200, read: 710},
		{name: "not cut, the last of all", crowded: 150, before: 60, read: 710},
		{name: "looking back is refused", crowded: 150, before: 60, refuses: true, read: 710, holes: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loki, seq := &fakeLoki{clamp: test.clamp}, 0
				add := func(at time.Time) { seq++; loki.add(at, hostOf(seq), handledLine(seq)) }
				crowded := past.Add(2 * time.Minute)
				for i := range test.before {
					add(crowded.Add(time.Duration(i-test.before) * time.Second))
				}
				for range test.crowded {
					add(crowded)
				}
				from := crowded // the nanosecond is the first that is asked for
				if test.clamp == 0 {
					from = past
					for i := range 500 {
						add(past.Add(time.Duration(i) * time.Millisecond))
					}
				} else {
					for i := range 500 {
						add(crowded.Add(time.Duration(i+1) * time.Second))
					}
				}
				if test.refuses {
					loki.before = func(_ int, q asked) *http.Response {
						if q.from == crowded.Add(-10*time.Second).UnixNano() {
							return reply(400, "no")
						}
						return nil
					}
				}
				m := newMemory()
				r := newReader(t, loki, m, func(c *Config) { c.Limit = 5000 })
				for _, since := range []time.Time{from, past} {
					if err := r.Collect(t.Context(), since, base); err != nil {
						t.Fatal(err)
					}
				}
				if m.lines != test.read {
					t.Errorf("%d lines were read of %d, want %d", m.lines, seq, test.read)
				}
				want := []string{"-1h0m0s–-2s"}
				if test.holes {
					want = []string{"-1h0m0s–-58m0s", "-57m59.999999s–-2s"}
				}
				if got := m.covered(); !slices.Equal(got, want) {
					t.Errorf("covered %v, want %v", got, want)
				}
			})
		})
	}
}

// Lines of other times alone are no answer, however few they are.
func TestFewLinesOfOtherTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loki := &fakeLoki{}
		early := past.Add(-48 * time.Hour)
		loki.add(early, "api-1", handledLine(1))
		body := loki.body(early.UnixNano(), early.UnixNano()+1, 10)
		loki.before = func(int, asked) *http.Response { return reply(200, body) }
		m := newMemory()
		if err := newReader(t, loki, m).Collect(t.Context(), past, base); failure(err) != "bad_reply" {
			t.Errorf("error %v", err)
		}
		if got := m.covered(); len(got) > 0 {
			t.Errorf("covered %v", got)
		}
	})
}

// A reply is not read further than to one line more than was asked for.
func TestMoreThanWasAskedFor(t *testing.T) {
	head := `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"a":"b"},"values":[`
	body := head + strings.Repeat(`["1","x"],`, 7) + `["1","x"]]}]}}`
	if p, err := decode(strings.NewReader(body), "a", 8); err != nil || len(p.entries) != 8 {
		t.Errorf("as many as were asked for: %v", err)
	}
	endless := &counting{text: `["1","x"],`}
	if _, err := decode(endless.after(head), "a", 5000); err == nil || !strings.Contains(err.Error(), "5000") {
		t.Errorf("endless lines: %v", err)
	}
	if endless.read > 1<<20 {
		t.Errorf("%d bytes were read of a reply with too many lines", endless.read)
	}
	endless = &counting{text: `"a":"b",`}
	if _, err := decode(endless.after(`{"data":{"result":[{"stream":{`), "a", 5000); err == nil || !strings.Contains(err.Error(), "labels") {
		t.Errorf("endless labels: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		loki, m := &fakeLoki{}, newMemory()
		for seq := range 10 {
			loki.add(past, "api-1", handledLine(seq))
		}
		loki.before = func(_ int, q asked) *http.Response { return reply(200, loki.body(q.from, q.to, q.limit+1)) }
		if err := newReader(t, loki, m).Collect(t.Context(), past, base); failure(err) != "bad_reply" {
			t.Errorf("error %v", err)
		}
	})
}

// However many lines share the nanosecond that a reply ends in, the position that is
// stored with them stays small, and all of them are read once.
func TestPositionInACrowdedNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		loki, m := &fakeLoki{}, newMemory()
		loki.add(past, hostOf(1), handledLine(1))
		for seq := 2; seq <= n; seq++ {
			loki.lines = append(loki.lines, fakeLine{past.UnixNano() + 1, map[string]string{"host": hostOf(seq)}, handledLine(seq)})
		}
		sizes := &watched{memory: m}
		if err := newReader(t, loki, sizes, func(c *Config) { c.Limit = 5000 }).Collect(t.Context(), past, base.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		// The nanosecond is the last one with lines: that all were given, only asking for
		// those before it shows, and there is but one.
		if m.lines != n || sizes.largest > 100*mostSeen {
			t.Errorf("%d lines; the position had %d bytes", m.lines, sizes.largest)
		}
		if got, want := m.covered(), []string{"-1h0m0s–-1m0s"}; !slices.Equal(got, want) {
			t.Errorf("covered %v, want %v", got, want)
		}
	})
}

// watched is a store that looks at the size of positions.
type watched struct {
	*memory
	largest int
}

func (w *watched) AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error {
	w.largest = max(w.largest, len(b.Position))
	return w.memory.AddAppBatch(ctx, service, b)
}

// counting repeats a text without end.
type counting struct {
	text string
	read int
}

func (c *counting) after(head string) io.Reader { return io.MultiReader(strings.NewReader(head), c) }

func (c *counting) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = c.text[(c.read+i)%len(c.text)]
	}
	c.read += len(into)
	return len(into), nil
}
