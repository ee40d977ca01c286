//go:build peers

package loki

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/loki/lokitest"
	"gapless/store"
)

// TestPeerLokiMillion pushes a million lines to a real Loki, most of them sharing their time
// with others, and reads them with a stop and a kill in the middle. None is lost or
// read twice. Beside it, logcli reads the same.
func TestPeerLokiMillion(t *testing.T) {
	const n = 1_000_000
	address := lokitest.Start(t)
	from := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
	began := time.Now()
	to := fill(t, address, from, n)
	t.Logf("%d lines of %s pushed in %s", n, to.Sub(from), time.Since(began).Round(time.Millisecond))

	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PutService(t.Context(), analysis.Service{Name: "orders-api"}); err != nil {
		t.Fatal(err)
	}
	sink := &exact{DB: db, seen: make([]uint8, n)}
	collect := func() error {
		r, err := New(Config{
			Service: "orders-api", Source: "loki", URL: address, Query: `{app="orders"}`, Tenant: lokitest.Tenant, TargetLabel: "host",
			Rules: logrules.Config{LogMatch: `rid=(?P<id>\S+) status=(?P<status>\d+)`, Sets: []string{"spring-boot"}},
		}, sink)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sink.stop = cancel
		return r.Collect(ctx, from, to)
	}
	began = time.Now()
	sink.stopAt = n / 3 // told to end
	if err := collect(); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	sink.stopAt, sink.killAt = 0, n/2 // ends without being told
	if err := collect(); !errors.Is(err, errPeerKilled) {
		t.Fatalf("killed: %v", err)
	}
	sink.killAt = 0
	if err := collect(); err != nil {
		t.Fatal(err)
	}
	ours := time.Since(began)
	theirs := logcli(t, address, from, to, n)
	t.Logf("%d lines by the collector in %s, %.0f a second; by logcli in %s, %.0f a second",
		n, ours.Round(time.Millisecond), float64(n)/ours.Seconds(), theirs.Round(time.Millisecond), float64(n)/theirs.Seconds())

	lost, twice := 0, 0
	for _, times := range sink.seen {
		switch {
		case times == 0:
			lost++
		case times > 1:
			twice++
		}
	}
	if lost > 0 || twice > 0 {
		t.Errorf("%d lines lost, %d read more than once", lost, twice)
	}
	o, err := db.ObservationsBetween(t.Context(), "orders-api", from, to, "")
	if err != nil {
		t.Fatal(err)
	}
	counted := 0
	for _, c := range o.Counts {
		if c.Rule == logrules.RuleAnswered {
			counted += c.Lines
		}
	}
	if counted != n || len(o.Handled) != (n+sampled-1)/sampled {
		t.Errorf("%d lines counted in the store and %d requests, want %d and %d", counted, len(o.Handled), n, (n+sampled-1)/sampled)
	}
}

// TestPeerLokiCrowdedNanosecond has more lines at one nanosecond than a real Loki
// gives at once: a hole of exactly that moment.
func TestPeerLokiCrowdedNanosecond(t *testing.T) {
	address := lokitest.Start(t)
	from := time.Now().Add(-50 * time.Hour).Truncate(time.Second) // longer ago than one query may reach
	crowded := from.Add(time.Hour + 1)
	var lines []lokitest.Line
	for i := range lokitest.MostEntries + 1000 {
		lines = append(lines, lokitest.Line{At: crowded, Text: fmt.Sprintf("line %d", i)})
	}
	lines = append(lines, lokitest.Line{At: crowded.Add(1), Text: "after"}, lokitest.Line{At: time.Now().Add(-time.Hour), Text: "much later"})
	lokitest.Push(t, address, map[string]string{"app": "orders", "host": "api-1"}, lines)
	m := newMemory()
	r, err := New(Config{Service: "orders-api", Source: "loki", URL: address, Query: `{app="orders"}`, Tenant: lokitest.Tenant, Limit: 20_000, Rules: rulesOf(`(?P<id>much)`)}, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Collect(t.Context(), from, time.Now()); err != nil {
		t.Fatal(err)
	}
	if m.lines != lokitest.MostEntries+2 || m.matched != 1 {
		t.Errorf("%d lines, %d matched", m.lines, m.matched)
	}
	last := m.runs[len(m.runs)-1]
	if last.Code != codeTruncated || !last.From.Equal(crowded.UTC().Truncate(time.Microsecond)) || last.To.Sub(last.From) != time.Microsecond {
		t.Errorf("the hole is %+v", last)
	}
}

// sampled is how many of the lines' requests the store gets one of; all of them are
// checked before.
const sampled = 20

// exact is the store, with every line that was stored marked off.
type exact struct {
	*store.DB
	seen           []uint8
	lines          int
	stopAt, killAt int
	stop           func()
}

var errPeerKilled = errors.New("killed")

func (e *exact) AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error {
	if e.killAt > 0 && e.lines >= e.killAt {
		return errPeerKilled
	}
	all := b.Handled
	b.Handled = nil
	for _, h := range all {
		if h.Seq%sampled == 0 {
			b.Handled = append(b.Handled, h)
		}
	}
	if err := e.DB.AddAppBatch(ctx, service, b); err != nil {
		return err
	}
	for _, h := range all {
		e.seen[h.Seq]++
	}
	if e.lines += len(all); e.stopAt > 0 && e.lines >= e.stopAt {
		e.stop()
	}
	return nil
}

// fill pushes n lines in eight streams: a hundred to a millisecond, and somewhere in
// the middle four thousand to one nanosecond. It returns the end of their times.
func fill(t *testing.T, address string, from time.Time, n int) (to time.Time) {
	t.Helper()
	const streams, alike, crowd = 8, 100, 4000
	lines := make([][]lokitest.Line, streams)
	at := from
	flush := func() {
		for i := range lines {
			lokitest.Push(t, address, map[string]string{"app": "orders", "host": fmt.Sprintf("api-%d", i+1)}, lines[i])
			lines[i] = lines[i][:0]
		}
	}
	for seq := range n {
		if crowded := seq > n/2 && seq < n/2+crowd; seq%alike == 0 && !crowded {
			at = at.Add(time.Millisecond)
		}
		lines[seq%streams] = append(lines[seq%streams], lokitest.Line{At: at, Text: fmt.Sprintf(
			"%s  INFO 4711 --- [nio-8080-exec-%d] c.e.orders.OrderController : rid=r1-%07d status=200 GET /v1/orders/%d in %d ms",
			at.UTC().Format("2006-01-02T15:04:05.000Z07:00"), seq%10, seq, seq%997, seq%83)})
		if len(lines[streams-1]) == 10_000 {
			flush()
		}
	}
	flush()
	return at.Add(time.Second)
}

// logcli reads the same lines with Loki's own client, in the largest pages that it may.
func logcli(t *testing.T, address string, from, to time.Time, n int) time.Duration {
	t.Helper()
	command := exec.CommandContext(t.Context(), lokitest.Binary(t, "GAPLESS_LOGCLI"), "--addr", address, "--org-id", lokitest.Tenant, "--quiet", "--output", "raw",
		"query", "--forward", "--limit", strconv.Itoa(n+1), "--batch", strconv.Itoa(lokitest.MostEntries),
		"--from", from.UTC().Format(time.RFC3339Nano), "--to", to.UTC().Format(time.RFC3339Nano), `{app="orders"}`)
	out, err := os.Create(filepath.Join(t.TempDir(), "lines"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var complaint strings.Builder
	command.Stdout, command.Stderr = out, &complaint
	began := time.Now()
	if err := command.Run(); err != nil {
		t.Fatalf("logcli: %v: %s", err, complaint.String())
	}
	took := time.Since(began)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "\n"); got != n {
		t.Logf("logcli gave %d lines of %d: it is not exact where a page ends inside a nanosecond", got, n)
	}
	return took
}
