package gauges

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gapless/analysis"
)

var zero = time.Date(2026, 10, 14, 8, 0, 0, 0, time.UTC)

type memory struct {
	runs   []analysis.Run
	gauges []analysis.Gauge
}

func (m *memory) AddGauges(_ context.Context, _ string, run analysis.Run, gauges []analysis.Gauge) error {
	m.runs, m.gauges = append(m.runs, run), append(m.gauges, gauges...)
	return nil
}

func (m *memory) AddRun(_ context.Context, _ string, run analysis.Run) error {
	m.runs = append(m.runs, run)
	return nil
}

func (m *memory) values() map[string]float64 {
	values := map[string]float64{}
	for _, g := range m.gauges {
		values[g.Metric] = g.Value
	}
	return values
}

// exporter is an endpoint as the Prometheus client library writes it.
func exporter(t *testing.T) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	busy := prometheus.NewGauge(prometheus.GaugeOpts{Name: "tomcat_threads_busy_threads"})
	pools := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hikaricp_connections_active"}, []string{"pool", "zone"})
	seconds := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "calls_seconds"})
	none := prometheus.NewGauge(prometheus.GaugeOpts{Name: "unknown_yet"})
	registry.MustRegister(busy, pools, seconds, none)
	busy.Set(197)
	pools.WithLabelValues("main", "a").Set(3)
	pools.WithLabelValues("main", "b").Set(4)
	pools.WithLabelValues(`odd"\`, "a").Set(11)
	for range 5 {
		seconds.Observe(.25)
	}
	none.Set(nan())
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return server.URL
}

func nan() float64 { var z float64; return z / z }

func scrapeOnce(t *testing.T, cfg Config) (*memory, string, error) {
	t.Helper()
	m := &memory{}
	cfg.Service, cfg.Source, cfg.Target = "orders", "api-1-metrics", "api-1"
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	s, err := New(cfg, m)
	if err != nil {
		t.Fatal(err)
	}
	code, err := s.scrape(t.Context())
	return m, code, err
}

func TestPrometheus(t *testing.T) {
	m, code, err := scrapeOnce(t, Config{Kind: KindPrometheus, URL: exporter(t), Read: map[string]string{
		"busy_threads": "tomcat_threads_busy_threads", "pool_active": `hikaricp_connections_active{pool="main"}`,
		"pool_pending": `hikaricp_connections_active{ pool = "odd\"\\", zone="a" }`, "in_flight": "calls_seconds_count", "pool_max": "calls_seconds_sum",
	}})
	if code != "" || err != nil {
		t.Fatalf("%s, %v", code, err)
	}
	want := map[string]float64{"busy_threads": 197, "pool_active": 7, "pool_pending": 11, "in_flight": 5, "pool_max": 1.25}
	if got := m.values(); !reflect.DeepEqual(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
	for _, g := range m.gauges {
		if g.Source != "api-1-metrics" || g.Target != "api-1" || g.At.IsZero() || !g.At.Equal(m.runs[0].To) {
			t.Errorf("%+v does not say who told it and when", g)
		}
	}
}

// What is not on the page, or no number, is missing; the rest counts.
func TestMissingValues(t *testing.T) {
	m, code, err := scrapeOnce(t, Config{Kind: KindPrometheus, URL: exporter(t), Read: map[string]string{
		"busy_threads": "tomcat_threads_busy_threads", "in_flight": "no_such_metric", "pool_max": "unknown_yet", "pool_active": `hikaricp_connections_active{pool="other"}`,
	}})
	if code != "bad_reply" || err == nil || !strings.Contains(err.Error(), `hikaricp_connections_active{pool="other"}, unknown_yet`) && !strings.Contains(err.Error(), "no_such_metric") {
		t.Errorf("%s, %v", code, err)
	}
	if got := m.values(); !reflect.DeepEqual(got, map[string]float64{"busy_threads": 197}) {
		t.Errorf("values %v", got)
	}
	if len(m.runs) != 1 || m.runs[0].Code != "bad_reply" || m.runs[0].Rows != 1 {
		t.Errorf("runs %+v", m.runs)
	}
}

func TestFailedScrapes(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, test := range []struct {
		name string
		page http.HandlerFunc
		want string
	}{
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "forbidden"},
		{"not found", http.NotFound, "not_found"},
		{"in trouble", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "bad_reply"},
		{"moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }, "bad_reply"},
		{"a page for people", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, "bad_reply"},
		{"cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "x 1\n")
		}, "unreachable"},
		{"silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "unreachable"},
		{"nobody there", nil, "unreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := gone.URL
			if test.page != nil {
				server := httptest.NewServer(test.page)
				defer server.Close()
				url = server.URL
			}
			m, code, err := scrapeOnce(t, Config{Kind: KindPrometheus, URL: url, Read: map[string]string{"in_flight": "x"}, Timeout: 200 * time.Millisecond})
			if code != test.want || err == nil {
				t.Errorf("%q, %v; want %s", code, err, test.want)
			}
			if len(m.gauges) != 0 || len(m.runs) != 1 || m.runs[0].Code != test.want || m.runs[0].Error == "" {
				t.Errorf("stored %+v and %+v, want a failed run and nothing else", m.gauges, m.runs)
			}
		})
	}
}

func TestActuator(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RequestURI() {
		case "/actuator/metrics/executor.active?tag=name%3Aorders":
			fmt.Fprint(w, `{"name":"executor.active","measurements":[{"statistic":"VALUE","value":2.0}],"availableTags":[]}`)
		case "/actuator/metrics/http.server.requests.active":
			fmt.Fprint(w, `{"name":"http.server.requests.active","measurements":[{"statistic":"ACTIVE_TASKS","value":1.0},{"statistic":"DURATION","value":0.01}]}`)
		case "/actuator/metrics/hikaricp.connections.usage":
			fmt.Fprint(w, `{"measurements":[{"statistic":"COUNT","value":4165.0},{"statistic":"TOTAL_TIME","value":830.7}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	m, code, err := scrapeOnce(t, Config{Kind: KindActuator, URL: server.URL + "/actuator/metrics/", Read: map[string]string{
		"busy_threads": "executor.active?tag=name:orders", "in_flight": "http.server.requests.active", "pool_active": "hikaricp.connections.usage#TOTAL_TIME", "pool_max": "gone",
	}})
	if code != "not_found" || err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("%s, %v; want what is missing", code, err)
	}
	if got, want := m.values(), map[string]float64{"busy_threads": 2, "in_flight": 1, "pool_active": 830.7}; !reflect.DeepEqual(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}

func TestMistakesInSelectors(t *testing.T) {
	for _, text := range []string{"", "two words", "x{", "x{}}", `x{a="b"`, `x{a=b}`, `x{a="b" c="d"}`, `x{1a="b"}`} {
		if _, err := New(Config{Source: "m", Kind: KindPrometheus, Read: map[string]string{"in_flight": text}}, nil); err == nil || !strings.Contains(err.Error(), "allowed") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "a/b", "x#SOME", "x?label=a:b", "x?tag=%zz"} {
		if _, err := New(Config{Source: "m", Kind: KindActuator, Read: map[string]string{"in_flight": text}}, nil); err == nil || !strings.Contains(err.Error(), "allowed") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A file of scrapes gives what the scrapes themselves gave: values, spans, failures.
func TestFileGivesTheSame(t *testing.T) {
	ok := analysis.Run{Source: "m", Kind: KindPrometheus, From: zero, To: zero.Add(time.Second), At: zero.Add(time.Second), Rows: 1}
	value := analysis.Gauge{Source: "m", Target: "api-1", Metric: "in_flight", At: ok.To, Value: 12}
	failed := analysis.Run{Source: "m", Kind: KindPrometheus, From: ok.To, To: zero.Add(2 * time.Second), At: zero.Add(2 * time.Second), Code: "unreachable", Error: "no answer"}
	var lines strings.Builder
	for _, record := range []Record{RecordOf(ok, []analysis.Gauge{value}), RecordOf(failed, nil)} {
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		lines.WriteString(string(line) + "\n")
	}
	lines.WriteString(`{"at":"2026-10-14T08:00:03Z"}` + "\n" + `{"at":"2026-10-14T08:00:04Z","values":{"in_flight":1}}` + "\n")
	path := filepath.Join(t.TempDir(), "metrics.ndjson")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	f, err := NewFile(FileConfig{Service: "orders", Source: "m", Path: path, Target: "api-1", Now: func() time.Time { return zero.Add(time.Hour) }}, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Collect(t.Context(), zero, zero.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ok.Kind, failed.Kind = KindFile, KindFile
	if len(m.runs) != 5 || m.runs[0] != ok || m.runs[1] != failed {
		t.Fatalf("runs %+v, want those of the scrapes, the file's and that of the line that says nothing", m.runs)
	}
	// The last scrape reaches back to the one before it, and the file's own run covers nothing.
	if last := m.runs[2]; !last.From.Equal(failed.To) || !last.To.Equal(zero.Add(4*time.Second)) || !m.runs[3].From.Equal(m.runs[3].To) || m.runs[4].Code != "bad_reply" {
		t.Errorf("runs %+v", m.runs[2:])
	}
	if len(m.gauges) != 2 || m.gauges[0] != value || m.gauges[1].Value != 1 {
		t.Errorf("gauges %+v", m.gauges)
	}
}

// A line whose values nobody knows, or that says of one only that it is not there, is
// not understood: nothing of it counts, and the time that it is about stays open.
func TestFileOfUnknownValues(t *testing.T) {
	for _, values := range []string{`{"busy_thread":3}`, `{"in_flight":1,"heap":2}`, `{"in_flight":null}`, `{"in_flight":1e999}`, `{"in_flight":"1"}`} {
		path := filepath.Join(t.TempDir(), "metrics.ndjson")
		lines := `{"at":"2026-10-14T08:00:01Z","values":{"busy_threads":1}}` + "\n" + `{"at":"2026-10-14T08:00:02Z","values":` + values + "}\n"
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		m := &memory{}
		f, err := NewFile(FileConfig{Service: "orders", Source: "m", Path: path, Target: "api-1", Now: func() time.Time { return zero.Add(time.Hour) }}, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Collect(t.Context(), zero, zero.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if len(m.gauges) != 1 || m.runs[len(m.runs)-1].Code != "bad_reply" {
			t.Errorf("%s: gauges %+v, runs %+v", values, m.gauges, m.runs)
		}
	}
}
