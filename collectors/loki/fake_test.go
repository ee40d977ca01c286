package loki

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
)

// fakeLoki answers query_range as Loki 1.6 does, without a socket, so that it can be
// used in a bubble of virtual time.
type fakeLoki struct {
	mu      sync.Mutex
	lines   []fakeLine
	most    int           // max_entries_limit_per_query; 0: none
	longest time.Duration // max_query_length; 0: none
	clamp   int           // cuts replies without saying so; 0: does not
	lies    bool          // ignores start and end by a second
	asked   []asked
	// before may answer in the server's place.
	before func(n int, q asked) *http.Response
}

type fakeLine struct {
	at     int64
	labels map[string]string
	text   string
}

type asked struct {
	from, to int64
	limit    int
	header   http.Header
	at       time.Time
}

func (f *fakeLoki) add(at time.Time, host, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fakeLine{at.UnixNano(), map[string]string{"app": "orders", "host": host}, text})
	slices.SortStableFunc(f.lines, func(a, b fakeLine) int { return cmp.Compare(a.at, b.at) })
}

func (f *fakeLoki) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query()
	q := asked{header: r.Header, at: time.Now()}
	q.from, _ = strconv.ParseInt(query.Get("start"), 10, 64)
	q.to, _ = strconv.ParseInt(query.Get("end"), 10, 64)
	q.limit, _ = strconv.Atoi(query.Get("limit"))
	if r.URL.Path != "/loki/api/v1/query_range" || query.Get("direction") != "forward" || q.from >= q.to || query.Get("query") != testQuery {
		return nil, fmt.Errorf("asked %s", r.URL)
	}
	f.asked = append(f.asked, q)
	if f.before != nil {
		if answer := f.before(len(f.asked), q); answer != nil {
			return answer, nil
		}
	}
	if f.most > 0 && q.limit > f.most {
		return reply(400, fmt.Sprintf("max entries limit per query exceeded, limit > max_entries_limit (%d > %d)", q.limit, f.most)), nil
	}
	if length := time.Duration(q.to - q.from); f.longest > 0 && length > f.longest {
		return reply(400, fmt.Sprintf("the query time range exceeds the limit (query length: %s, limit: %s)", length, f.longest)), nil
	}
	from, to := q.from, q.to
	if f.lies {
		from, to = from-int64(time.Second), to+int64(time.Second)
	}
	if f.clamp > 0 {
		q.limit = min(q.limit, f.clamp)
	}
	return reply(200, f.body(from, to, q.limit)), nil
}

// body is a reply with the earliest lines of [from, to).
func (f *fakeLoki) body(from, to int64, limit int) string {
	type result struct {
		Stream map[string]string `json:"stream"`
		Values [][2]string       `json:"values"`
	}
	results, byHost := []*result{}, map[string]*result{}
	n := 0
	for _, line := range f.lines {
		if line.at < from || line.at >= to || n == limit {
			continue
		}
		n++
		r := byHost[line.labels["host"]]
		if r == nil {
			r = &result{Stream: line.labels}
			byHost[line.labels["host"]] = r
			results = append(results, r)
		}
		r.Values = append(r.Values, [2]string{strconv.FormatInt(line.at, 10), line.text})
	}
	b, err := json.Marshal(map[string]any{"status": "success", "data": map[string]any{"resultType": "streams", "result": results, "stats": map[string]any{"ingester": map[string]int{"totalReached": 1}}}})
	if err != nil {
		panic(err) // it holds numbers and texts
	}
	return string(b)
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(body)))}
}

// broken is a body that ends in the middle.
func broken(body string) *http.Response {
	r := reply(200, "")
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader([]byte(body[:len(body)/2])), failing{}))
	return r
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// memory is a store that keeps what the tests look at. It refuses a batch that began
// elsewhere, as the real one does.
type memory struct {
	mu        sync.Mutex
	positions map[string][]byte
	handled   map[string]int // how often, by run, number and target
	lines     int            // that the request rule was tried on
	matched   int
	runs      []analysis.Run
	batches   int
	repeated  int // rows that came again in a batch that does not say so
	// dies is which batch is not stored any more, as if the program were killed; 0: none.
	dies int
}

var errKilled = errors.New("killed")

func newMemory() *memory { return &memory{positions: map[string][]byte{}, handled: map[string]int{}} }

func (m *memory) AddAppBatch(_ context.Context, _ string, b analysis.AppBatch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.batches++; m.batches == m.dies {
		return errKilled
	}
	if !bytes.Equal(m.positions[b.File], b.Before) {
		return analysis.ErrMoved
	}
	m.positions[b.File] = b.Position
	for _, h := range b.Handled {
		name := fmt.Sprintf("%s-%d@%s", h.Run, h.Seq, h.Target)
		if m.handled[name]++; m.handled[name] > 1 && !b.Again {
			m.repeated++
		}
	}
	for _, c := range b.Counts {
		if c.Rule == logrules.RuleAnswered {
			m.lines += c.Lines
			m.matched += c.Matched
		}
	}
	m.runs = append(m.runs, b.Run)
	return nil
}

func (m *memory) Position(_ context.Context, _, _, file string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.positions[file], nil
}

func (m *memory) AddRun(_ context.Context, _ string, run analysis.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, run)
	return nil
}

// covered are the spans that the runs vouch for, in order, as the judge takes them: a
// later run overrides an earlier one.
func (m *memory) covered() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := slices.Clone(m.runs)
	slices.SortStableFunc(runs, func(a, b analysis.Run) int { return a.At.Compare(b.At) })
	var edges []time.Time
	for _, r := range runs {
		edges = append(edges, r.From, r.To)
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	var spans []string
	var from, to time.Time
	for i := 0; i+1 < len(edges); i++ {
		good := false
		for _, r := range runs {
			if !r.From.After(edges[i]) && !r.To.Before(edges[i+1]) {
				good = r.Code == ""
			}
		}
		switch {
		case good && to.Equal(edges[i]) && !to.IsZero():
			to = edges[i+1]
			spans[len(spans)-1] = fmt.Sprintf("%s–%s", since(from), since(to))
		case good:
			from, to = edges[i], edges[i+1]
			spans = append(spans, fmt.Sprintf("%s–%s", since(from), since(to)))
		}
	}
	return spans
}

func since(t time.Time) time.Duration { return t.Sub(base) }

const testQuery = `{app="orders"}`

// base is when a bubble of virtual time begins.
var base = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newReader(t *testing.T, loki *fakeLoki, sink Sink, change ...func(*Config)) *Reader {
	t.Helper()
	cfg := Config{
		Service: "orders-api", Source: "loki", URL: "http://loki:3100", Query: testQuery, TargetLabel: "host", Limit: 7,
		Rules: logrules.Config{LogMatch: `rid=(?P<id>\S+) status=(?P<status>\d+)`},
		HTTP:  &http.Client{Transport: loki},
	}
	for _, each := range change {
		each(&cfg)
	}
	r, err := New(cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func handledLine(seq int) string { return fmt.Sprintf("rid=r1-%06d status=200", seq) }

// wantOnce fails unless the lines 1 to n were read, each once, from the host of their turn.
func wantOnce(t *testing.T, m *memory, n int) {
	t.Helper()
	for seq := 1; seq <= n; seq++ {
		name := fmt.Sprintf("r1-%d@%s", seq, hostOf(seq))
		if m.handled[name] != 1 {
			t.Errorf("line %s was read %d times", name, m.handled[name])
		}
	}
	if len(m.handled) != n || m.lines != n || m.matched != n {
		t.Errorf("%d lines, %d counted, %d matched; want %d", len(m.handled), m.lines, m.matched, n)
	}
}

func hostOf(seq int) string { return []string{"api-1", "api-2", "api-3"}[seq%3] }

func rulesOf(logMatch string) logrules.Config { return logrules.Config{LogMatch: logMatch} }
