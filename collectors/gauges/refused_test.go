package gauges

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A sum of series is told only where all of them are known; of a page that is not
// whole nothing is.
func TestSumsThatNobodyKnows(t *testing.T) {
	for _, test := range []struct {
		name, page, want string // want is in the error; empty: 12
	}{
		{"two series", "busy{c=\"a\"} 5\nbusy{c=\"b\"} 7\n", ""},
		{"of another name beside them", "busy{c=\"a\"} 12\nidle{c=\"b\"} NaN\n", ""},
		{"the same twice", "busy{c=\"a\",d=\"1\"} 5\nbusy{d=\"1\",c=\"a\"} 7\n", "busy: the same series"},
		{"no number", "busy{c=\"a\"} 5\nbusy{c=\"b\"} NaN\n", "busy: a series has the value NaN"},
		{"no end", "busy{c=\"a\"} 5\nbusy{c=\"b\"} +Inf\n", "busy: a series has the value +Inf"},
		{"too large together", "busy{c=\"a\"} 1.7e308\nbusy{c=\"b\"} 1.7e308\n", "too large"},
		{"cut in a name", "busy{c=\"a\"} 12\nidle 1\nbu", "not whole"},
		{"cut before a value", "busy{c=\"a\"} 5\nbusy{c=\"b\"} ", "not whole"},
		{"cut in a value", "busy{c=\"a\"} 5\nbusy{c=\"b\"} 12", "not whole"},
		{"a line that is none", "busy{c=\"a\"} 5\nbusy{c=\"b\"} many\nbusy{c=\"c\"} 7\n", "not whole"},
	} {
		s, err := parseSelector("busy")
		if err != nil {
			t.Fatal(err)
		}
		values, err := valuesIn([]byte(test.page), []read{{role: "busy_threads", from: "busy", selector: s}})
		if test.want == "" {
			if err != nil || len(values) != 1 || values["busy_threads"] != 12 {
				t.Errorf("%s: %v, %v", test.name, values, err)
			}
			continue
		}
		if len(values) != 0 || err == nil || codeOf(err) != "bad_reply" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want no value, and %q", test.name, values, err, test.want)
		}
	}
}

// Lines of files that cannot be what a scrape told.
func TestLinesThatCannotBe(t *testing.T) {
	f := &File{cfg: FileConfig{Source: "m", Target: "api-1"}}
	for _, line := range []string{
		`{"at":"2026-10-14T08:52:00Z","values":{"in_flight":null}}`,
		`{"at":"2026-10-14T08:52:00Z","values":{"in_flight":3,"in_flight":99}}`,
		`{"at":"2026-10-14T08:52:00Z","values":{"in_flight":3},"at":"2026-10-14T08:52:05Z"}`,
		`{"at":"2026-10-14T08:52:00Z","code":"because"}`,
		`{"at":"2026-10-14T08:52:00Z","from":"2001-10-14T08:52:00Z","values":{"in_flight":3}}`,
		`{"at":"2026-10-14T08:52:00Z","from":"2026-10-14T08:52:01Z","values":{"in_flight":3}}`,
	} {
		if one, err := f.decode([]byte(line), time.Time{}); err == nil {
			t.Errorf("%s was taken: %+v", line, one)
		}
	}
	one, err := f.decode([]byte(`{"at":"2026-10-14T08:52:00Z","values":{"in_flight":3}}`), zero.AddDate(0, 0, -3))
	if err != nil || !one.run.From.Equal(one.run.To) {
		t.Errorf("after three days without a line: %+v, %v; want a run of no length", one.run, err)
	}
}

// A line of a time to come vouches for nothing, and the one after it is read.
func TestLineOfATimeToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "metrics.ndjson")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m := &memory{}
		f, err := NewFile(FileConfig{Service: "orders", Source: "m", Path: path, Target: "api-1", Every: time.Second}, m)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = f.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		begun := time.Now()
		lines := `{"at":"` + begun.Add(2*time.Hour).UTC().Format(time.RFC3339) + `","values":{"in_flight":1}}` + "\n" +
			`{"at":"` + begun.UTC().Format(time.RFC3339) + `","values":{"in_flight":2}}` + "\n"
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		stop()
		synctest.Wait()
		if len(m.gauges) != 1 || m.gauges[0].Value != 2 {
			t.Errorf("gauges %+v", m.gauges)
		}
		bad := 0
		for _, run := range m.runs {
			if run.To.After(begun.Add(time.Minute)) || run.At.After(begun.Add(time.Minute)) {
				t.Errorf("run %+v reaches into a time to come", run)
			}
			if run.Code == "bad_reply" {
				bad++
			}
		}
		if bad == 0 {
			t.Error("nothing says that a line was not understood")
		}
	})
}
