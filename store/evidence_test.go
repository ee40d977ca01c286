package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// fill stores one of everything around the deploy d1, whose window is
// [at(-300), at(660)), as often as it is called.
func fill(t *testing.T, db *store.DB) {
	t.Helper()
	ctx := context.Background()
	d := deploy("d1", at(0))
	_, err := db.StartDeploy(ctx, d)
	must(t, err)
	_, err = db.FinishDeploy(ctx, "d1", at(60), "succeeded", "ci")
	must(t, err)
	_, err = db.AddSteps(ctx, "orders-api", []analysis.Step{
		{Deploy: "d1", Kind: analysis.StepDrainMarked, At: at(10), Target: "api-1", Source: "ci"},
		{Deploy: "d1", Kind: analysis.StepAppReady, At: at(5000), Target: "api-1", Source: "ci"}, // its own, however late
		{Kind: analysis.StepAppReady, At: at(20), Target: "api-1", Source: "log", Inferred: true},
		{Kind: analysis.StepAppReady, At: at(-301), Target: "api-1", Source: "log", Inferred: true}, // before the window
		{Kind: analysis.StepAppReady, At: at(660), Target: "api-1", Source: "log", Inferred: true},  // after it
	})
	must(t, err)
	_, err = db.AddObject(ctx, "orders-api", batch("o1", at(0), cell(at(0), 200, 10, 20), cell(at(7.25), 502), cell(at(12), 200, 5)))
	must(t, err)
	must(t, db.AddStates(ctx, "orders-api", run("elbv2", at(1), at(6)), []analysis.StateSample{
		sample("api-1", at(-900), "healthy"), sample("api-1", at(-600), "healthy"), sample("api-1", at(6), "draining"),
		sample("api-2", at(-600), "unhealthy"), sample("api-2", at(660), "healthy"),
	}))
	must(t, db.AddGroupSettings(ctx, "orders-api", group(at(-5000), 1*time.Second)))
	must(t, db.AddGroupSettings(ctx, "orders-api", group(at(-4000), 10*time.Second)))
	must(t, db.AddGroupSettings(ctx, "orders-api", group(at(-300), 10*time.Second))) // says nothing new
	must(t, db.AddGroupSettings(ctx, "orders-api", group(at(30), 30*time.Second)))
	must(t, db.AddProbes(ctx, "orders-api", run("store", at(0), at(2)), []analysis.ProbeRequest{probe(1, at(0)), probe(2, at(1)), probe(3, at(719)), probe(4, at(720))}))
	must(t, db.AddAppBatch(ctx, "orders-api", appBatch("p1")))
	fillSignals(t, db)
	must(t, db.AddRun(ctx, "orders-api", analysis.Run{Source: "alb", Kind: "alb", From: at(-100), To: at(0), At: at(1), Code: "forbidden", Error: "403"}))
}

func TestObservationsAreTheWindowAndWhatIsNeededAroundIt(t *testing.T) {
	db, ctx := open(t)
	fill(t, db)
	once, err := db.Observations(ctx, "d1")
	must(t, err)
	if !once.From.Equal(at(-300)) || !once.To.Equal(at(660)) || !once.At.Equal(at(3600)) {
		t.Errorf("window %s to %s at %s", once.From, once.To, once.At)
	}
	var kinds []string
	for _, s := range once.Steps {
		kinds = append(kinds, string(s.Kind)+"/"+s.Source)
	}
	if want := []string{"deploy.started/ci", "drain.marked/ci", "app.ready/log", "deploy.reported/ci", "app.ready/ci"}; !slices.Equal(kinds, want) {
		t.Errorf("steps %v, want %v", kinds, want)
	}
	b := batch("o1", at(0), cell(at(0), 200, 10, 20), cell(at(7.25), 502), cell(at(12), 200, 5))
	equal(t, "cells", once.Cells, b.Cells)
	equalLatencies(t, once.Latencies, b.Latencies)
	equal(t, "objects", once.Objects, []analysis.Object{b.Object})
	equal(t, "requests", once.Requests, b.Requests)
	equal(t, "known", once.Known, b.Known)
	equal(t, "probes", once.Probes, []analysis.ProbeRequest{probe(1, at(0)), probe(2, at(1)), probe(3, at(719))}) // within analysis.EdgeReach
	equal(t, "states", once.States, []analysis.StateSample{sample("api-1", at(-600), "healthy"), sample("api-2", at(-600), "unhealthy"), sample("api-1", at(6), "draining")})
	equal(t, "groups", once.Groups, []analysis.GroupSettings{group(at(-4000), 10*time.Second), group(at(30), 30*time.Second)})
	equal(t, "handled", once.Handled, appBatch("p1").Handled)
	equal(t, "counts", once.Counts, appBatch("p1").Counts)
	equal(t, "runs", once.Runs, []analysis.Run{
		{Source: "alb", Kind: "alb", From: at(-100), To: at(0), At: at(1), Code: "forbidden", Error: "403"},
		appBatch("p1").Run, run("app", at(5), at(6)), run("client", at(0), at(5)), run("elbv2", at(1), at(6)), run("metrics", at(0), at(5)), run("store", at(0), at(2)),
	})
	wantSignals(t, once)

	fill(t, db)
	twice, err := db.Observations(ctx, "d1")
	must(t, err)
	equalLatencies(t, twice.Latencies, once.Latencies)
	once.Latencies, twice.Latencies = nil, nil
	if !reflect.DeepEqual(once, twice) {
		t.Errorf("storing everything again changed it:\n got %+v\nwant %+v", twice, once)
	}
}

func TestWindowEdges(t *testing.T) {
	db, ctx := open(t)
	late := cell(at(9), 502)
	late.Last = at(10.5)
	b := batch("o1", at(0), cell(at(4), 200, 1), cell(at(5), 200, 1), late, cell(at(10), 200, 1))
	_, err := db.AddObject(ctx, "orders-api", b)
	must(t, err)
	for _, c := range []struct {
		from, to float64
		seconds  []int64
		requests int
	}{
		{4, 10, []int64{4, 5, 9}, 1},      // the failure ended after the window: the judge must know
		{4.5, 10.6, []int64{5, 9, 10}, 1}, // a second belongs by its start
		{9.5, 10.5, []int64{10}, 1},       // half-open
		{10.5, 10.500001, nil, 1},         // its second is outside
		{-600, -300, nil, 0},
	} {
		o, err := db.ObservationsBetween(ctx, "orders-api", at(c.from), at(c.to), "")
		must(t, err)
		var seconds []int64
		for _, cell := range o.Cells {
			seconds = append(seconds, cell.Second-start.Unix())
		}
		if !slices.Equal(seconds, c.seconds) || len(o.Requests) != c.requests {
			t.Errorf("[%g, %g): seconds %v and %d requests, want %v and %d", c.from, c.to, seconds, len(o.Requests), c.seconds, c.requests)
		}
	}
}

func TestBetterReadingReplacesAnObject(t *testing.T) {
	db, ctx := open(t)
	unreadable := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: "o", From: at(0), To: at(300), Error: "403"}}
	short := batch("o", at(0), cell(at(1), 200, 1))
	short.Partial, short.Object.Lines = true, 1
	longer := batch("o", at(0), cell(at(1), 200, 1), cell(at(2), 502))
	longer.Partial, longer.Object.Lines = true, 2
	whole := batch("o", at(0), cell(at(1), 200, 1), cell(at(2), 502), cell(at(3), 200, 1))
	whole.Object.Lines = 3
	for i, step := range []struct {
		batch  analysis.ObjectBatch
		stored bool
		cells  int
		read   bool
	}{
		{unreadable, true, 0, false}, {unreadable, false, 0, false}, {short, true, 1, false}, {short, false, 1, false}, {unreadable, false, 1, false},
		{longer, true, 2, false}, {short, false, 2, false}, {whole, true, 3, true}, {longer, false, 3, true}, {whole, false, 3, true},
	} {
		stored, err := db.AddObject(ctx, "orders-api", step.batch)
		must(t, err)
		o, err := db.ObservationsBetween(ctx, "orders-api", at(0), at(300), "")
		must(t, err)
		read, err := db.ReadObjects(ctx, "orders-api", "alb", at(200), at(250))
		must(t, err)
		_, wholly := read["o"]
		if stored != step.stored || len(o.Cells) != step.cells || wholly != step.read || len(o.Objects) != 1 {
			t.Errorf("reading %d: stored %v, %d cells, wholly read %v, %d objects; want %v, %d, %v, 1", i,
				stored, len(o.Cells), wholly, len(o.Objects), step.stored, step.cells, step.read)
		}
	}
	status, err := db.Collectors(ctx)
	must(t, err)
	if s := status[0]; s.Objects != 1 || s.Lines != 3 || s.PartialObjects != 0 {
		t.Errorf("totals %+v, want 1 object of 3 lines, none partial", s)
	}
}

func TestReadObjectsMeetTheSpan(t *testing.T) {
	db, ctx := open(t)
	for _, key := range []float64{0, 300, 600} {
		_, err := db.AddObject(ctx, "orders-api", batch(fmt.Sprint(key), at(key)))
		must(t, err)
	}
	got, err := db.ReadObjects(ctx, "orders-api", "alb", at(310), at(320))
	if want := map[string]string{"300": ""}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if got, err := db.ReadObjects(ctx, "orders-api", "other", at(310), at(320)); err != nil || len(got) != 0 {
		t.Errorf("another source: %v, %v; want none", got, err)
	}
}

func TestSetAsideKeepsLinesWhole(t *testing.T) {
	db, ctx := open(t)
	b := batch("o", at(0))
	b.Lines = []analysis.SetAsideLine{{Line: 7, Offset: 99, Reason: "too_few_fields", Detail: "3 of 13", Kind: "unknown", Raw: []byte("\x00\xff<b>")}, {Line: 9}}
	_, err := db.AddObject(ctx, "orders-api", b)
	must(t, err)
	page, err := db.SetAsideLines(ctx, "orders-api", "alb", 0, 10)
	got := page.Rows
	want := []store.SetAsideRow{{Object: "o", SetAsideLine: b.Lines[0]}, {Object: "o", SetAsideLine: b.Lines[1]}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestPositionAndRowsAreOneTransaction(t *testing.T) {
	db, ctx := open(t)
	must(t, db.AddAppBatch(ctx, "orders-api", appBatch("p1")))
	put(t, db, service("other"))
	_, err := db.StartDeploy(ctx, analysis.Deploy{ID: "foreign", Service: "other", StartedAt: at(0)})
	must(t, err)
	broken := appBatch("p2")
	broken.Handled[0].Seq = 77
	broken.Steps = []analysis.Step{{Deploy: "foreign", Kind: analysis.StepAppReady, At: at(1), Source: "app"}} // fails after the position
	if err := db.AddAppBatch(ctx, "orders-api", broken); err == nil {
		t.Fatal("a step of another service's deploy: no error")
	}
	if p, err := db.Position(ctx, "orders-api", "app", "app.log"); err != nil || string(p) != "p1" {
		t.Errorf("position %q, %v; want the one before", p, err)
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(-60), at(600), "")
	must(t, err)
	equal(t, "handled", o.Handled, appBatch("p1").Handled)
	if p, err := db.Position(ctx, "orders-api", "app", "never.log"); err != nil || p != nil {
		t.Errorf("position of a file never read: %q, %v; want nil", p, err)
	}
}

func TestCountsAddUp(t *testing.T) {
	db, ctx := open(t)
	for _, positions := range [][2]string{{"", "p1"}, {"p1", "p2"}, {"p1", "p2"}, {"p2", "p3"}} { // the second p2 is the same batch again
		b := appBatch(positions[1])
		b.Before = []byte(positions[0])
		must(t, db.AddAppBatch(ctx, "orders-api", b))
	}
	for _, before := range []string{"", "p2"} { // another reader began there and was late
		b := appBatch("p4")
		b.Before = []byte(before)
		if err := db.AddAppBatch(ctx, "orders-api", b); !errors.Is(err, analysis.ErrMoved) {
			t.Errorf("a batch from %q: %v, want that the log was moved on", before, err)
		}
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", at(-5), at(40), "")
	must(t, err)
	equal(t, "counts", o.Counts, []analysis.RuleCount{{Source: "app", Rule: "spring-boot.ready", Second: at(0), Lines: 300, Matched: 3}})
}

func TestCountsAreThoseOfTheWindowsSeconds(t *testing.T) {
	db, ctx := open(t)
	b := appBatch("p1")
	b.Counts = nil
	for second := range 130 {
		b.Counts = append(b.Counts, analysis.RuleCount{Source: "app", Rule: "r", Second: at(float64(second)), Lines: second + 1, Matched: second % 2})
	}
	b.Counts = append(b.Counts, analysis.RuleCount{Source: "app", Rule: "without lines", Second: at(60)})
	must(t, db.AddAppBatch(ctx, "orders-api", b))
	o, err := db.ObservationsBetween(ctx, "orders-api", at(58.5), at(62), "")
	must(t, err)
	equal(t, "counts", o.Counts, b.Counts[59:62])
}

// Helpers.

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// equalLatencies compares latencies by what can be read from them.
func equalLatencies(t *testing.T, got, want []analysis.Latencies) {
	t.Helper()
	shares := []float64{0.1, 0.5, 0.9, 0.99, 1}
	if len(got) != len(want) {
		t.Errorf("%d latencies, want %d", len(got), len(want))
		return
	}
	for i, a := range got {
		b := want[i]
		if a.LatencyKey != b.LatencyKey || a.Took.Count() != b.Took.Count() || !slices.Equal(a.Took.Quantiles(shares...), b.Took.Quantiles(shares...)) {
			t.Errorf("latencies %d: %+v, want %+v", i, a, b)
		}
	}
}

func run(source string, from, to time.Time) analysis.Run {
	return analysis.Run{Source: source, Kind: "kind", From: from, To: to, At: to, Rows: 1}
}

func sample(target string, when time.Time, state analysis.TargetState) analysis.StateSample {
	return analysis.StateSample{Source: "elbv2", TargetGroup: "api", Target: target, At: when, State: state, Reason: "Target.Reason"}
}

func group(when time.Time, interval time.Duration) analysis.GroupSettings {
	return analysis.GroupSettings{LoadBalancer: "public", TargetGroup: "api", ARN: "arn:x", At: when, DeregistrationDelay: 300 * time.Second,
		Health: analysis.HealthCheck{Interval: interval, Timeout: 5 * time.Second, Unhealthy: 2, Healthy: 3, Path: "/health"}}
}

func probe(seq int, sent time.Time) analysis.ProbeRequest {
	return analysis.ProbeRequest{Source: "store", Probe: "store", Class: analysis.ClassProbe, Run: "r1", Seq: seq, Sent: sent,
		Done: sent.Add(21 * time.Millisecond), Status: 503, Outcome: analysis.OutcomeDrain503, Target: "api-1", Error: "e", OutOfService: true}
}

func appBatch(position string) analysis.AppBatch {
	r := run("app", at(0), at(5))
	r.Rows = 1
	return analysis.AppBatch{Run: r, File: "app.log", Position: []byte(position),
		Handled: []analysis.HandledRequest{{Source: "app", Target: "api-1", Run: "r1", Seq: 1, At: at(0.5), Status: 200}},
		Counts:  []analysis.RuleCount{{Source: "app", Rule: "spring-boot.ready", Second: at(0), Lines: 100, Matched: 1}}}
}

// batch is an object of five minutes from a time, with each cell that is a failure
// also kept as a request, and the time that each other one took.
func batch(key string, from time.Time, cells ...analysis.Cell) analysis.ObjectBatch {
	b := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Node: "10.0.0.1", Key: key, From: from, To: from.Add(5 * time.Minute), Lines: 10, Understood: 9, SetAside: 1},
		Cells: cells, Known: []analysis.KnownRequests{{Source: "alb", Node: "10.0.0.1", Run: "r1", Seqs: []uint32{1, 2, 900}}}}
	for i, c := range cells {
		if c.TargetStatus > 0 {
			took := new(analysis.Histogram)
			took.AddN(c.Last.Sub(c.First).Microseconds(), c.Count)
			b.Latencies = append(b.Latencies, latenciesOf(&c, took))
		}
		if c.Outcome.Failure() {
			b.Requests = append(b.Requests, analysis.Request{CellKey: c.CellKey, Start: c.First, End: c.Last, Duration: c.Last.Sub(c.First), Method: "GET",
				URL: "/v1/orders?a=ü", Client: "192.0.2.1", UserAgent: "ua", ProbeRun: "r1", ProbeSeq: 900, Connected: true, Before: []*time.Duration{nil, new(time.Duration(0)), new(1250 * time.Microsecond)}[i%3], TargetTook: []*time.Duration{new(3 * time.Second), nil}[i%2], ErrorReason: "x", Attempts: i, FailedOn: [][]string{nil, {""}, {"api-1", ""}}[i%3], Object: key, Line: i + 1})
		}
	}
	return b
}

// cell is one request a latency (in milliseconds), or one failure.
func cell(from time.Time, status int, latencies ...int64) analysis.Cell {
	c := analysis.Cell{CellKey: analysis.CellKey{Second: from.Unix(), Source: "alb", Node: "10.0.0.1", TargetGroup: "api", Target: "api-1",
		Class: analysis.ClassUser, Outcome: analysis.LogOutcome(status, 0), Route: "order", Status: status}, Count: max(1, len(latencies)), First: from, Last: from.Add(time.Millisecond)}
	if len(latencies) > 0 {
		c.TargetStatus = status
		for _, v := range latencies {
			c.Last = from.Add(time.Duration(v) * time.Millisecond)
		}
	}
	return c
}

func latenciesOf(c *analysis.Cell, took *analysis.Histogram) analysis.Latencies {
	return analysis.Latencies{LatencyKey: analysis.LatencyKey{Second: c.Second, Source: c.Source, Node: c.Node, Class: c.Class, Route: c.Route}, Took: took}
}

// busyBatches are objects of five minutes from two load-balancer nodes, with about
// the given number of cells in all, of span.
func busyBatches(span time.Duration, cells, perCell int) []analysis.ObjectBatch {
	random := rand.New(rand.NewPCG(1, 2))
	seconds := int(span.Seconds())
	kinds := cells / seconds / 2
	var all []analysis.ObjectBatch
	for from := 0; from < seconds; from += 300 {
		for node := range 2 {
			b := batch(fmt.Sprintf("%d-%d", from, node), at(float64(from)))
			b.Node = fmt.Sprintf("10.0.0.%d", node)
			for second := from; second < min(from+300, seconds); second++ {
				took := new(analysis.Histogram)
				for kind := range kinds {
					c := cell(at(float64(second)), 200)
					c.Node, c.Target, c.Status, c.Count = b.Node, fmt.Sprintf("api-%d", kind%4), 200+kind/4, perCell
					for range perCell {
						took.Add(int64(5000 + random.ExpFloat64()*20_000))
					}
					b.Cells = append(b.Cells, c)
				}
				b.Latencies = append(b.Latencies, latenciesOf(&b.Cells[len(b.Cells)-1], took))
			}
			all = append(all, b)
		}
	}
	return all
}
