package accesslog

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

func TestCells(t *testing.T) {
	text := logLine{took: "12.5ms"}.String() +
		logLine{took: "40ms", end: "02:30:01.500"}.String() +
		logLine{took: "1600ms", end: "02:30:02.600"}.String() + // started in the second of the others
		logLine{status: "502", target: "10.0.1.12:8080", targetStatus: "-", wait: "-1", end: "02:30:01.900"}.String() +
		logLine{kind: "wss", status: "101", targetStatus: "101", took: "900ms", end: "02:30:02.700"}.String() +
		logLine{status: "503", target: "-", targetStatus: "-", wait: "-1"}.String() +
		logLine{path: "/actuator/health"}.String()
	b := rollUp(t, benchRules(t), []byte(text))
	type row struct {
		key         string
		count       int
		first, last string
	}
	var got []row
	for _, c := range b.Cells {
		if c.Source != "alb" || c.TargetGroup != "shop-api" && c.Target != "" || c.Node != "203.0.113.200" {
			t.Errorf("cell of source %q, group %q, node %q", c.Source, c.TargetGroup, c.Node)
		}
		got = append(got, row{
			fmt.Sprintf("%s %q %s %s %s %d %d", at(c.Second*1e6).Format("05"), c.Target, c.Class, c.Outcome, c.Route, c.Status, c.TargetStatus),
			c.Count, c.First.Format("05.000000"), c.Last.Format("05.000000"),
		})
	}
	want := []row{
		{`01 "api-1" user ok order 101 101`, 1, "01.800000", "02.700000"},
		{`01 "api-1" user ok order 200 200`, 3, "01.000000", "02.600000"},
		{`01 "api-1" health ok other 200 200`, 1, "01.190000", "01.200000"},
		{`01 "api-2" user lb_5xx order 502 0`, 1, "01.890000", "01.900000"},
		{`01 "" user lb_5xx order 503 0`, 1, "01.190000", "01.200000"},
	}
	slices.SortFunc(got, func(a, b row) int { return strings.Compare(a.key, b.key) })
	slices.SortFunc(want, func(a, b row) int { return strings.Compare(a.key, b.key) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("cells\n%v\nwant\n%v", got, want)
	}
	var took []string
	for _, l := range b.Latencies {
		took = append(took, fmt.Sprintf("%s %s %s %s %s: %d up to %d µs", at(l.Second*1e6).Format("05"), l.Source, l.Node, l.Class, l.Route, l.Took.Count(), l.Took.Max()))
	}
	// Neither the WebSocket nor what failed.
	if want := []string{"01 alb 203.0.113.200 user order: 3 up to 1600000 µs", "01 alb 203.0.113.200 health other: 1 up to 10000 µs"}; !slices.Equal(took, want) {
		t.Errorf("latencies\n%q\nwant\n%q", took, want)
	}
}

func TestLineWithoutStartIsCountedByItsEnd(t *testing.T) {
	line := logLine{}.String()
	line = line[:strings.Index(line, ` "session-reused"`)] + "\n"
	b := rollUp(t, benchRules(t), []byte(line))
	c := b.Cells[0]
	end := time.Date(2026, 10, 14, 2, 30, 1, 200e6, time.UTC)
	if c.Second != end.Unix() || len(b.Latencies) != 0 || !c.First.Equal(end) || !c.Last.Equal(end) {
		t.Errorf("cell %+v", c)
	}
}

// A request that ends before it starts took no time that is known: it is counted, and
// is in no percentile.
func TestEndBeforeStartIsNoLatency(t *testing.T) {
	text := logLine{took: "-5ms"}.String() + logLine{took: "0s"}.String() + logLine{took: "40ms"}.String()
	b := rollUp(t, benchRules(t), []byte(text))
	count := 0
	for _, c := range b.Cells {
		count += c.Count
	}
	if count != 3 || len(b.Latencies) != 1 || b.Latencies[0].Took.Count() != 2 || b.Latencies[0].Took.Max() != 40000 {
		t.Errorf("%d counted, latencies %+v", count, b.Latencies)
	}
}

func TestFailuresAreKeptOneByOne(t *testing.T) {
	text := logLine{}.String() +
		logLine{status: "502", targetStatus: "-", wait: "-1", path: `/v1/orders?q=\x22x\x22`, agent: `curl/8 \xC3\x88`}.String() +
		logLine{status: "500", targetStatus: "500"}.String() +
		logLine{status: "404", targetStatus: "404"}.String() +
		logLine{status: "460", targetStatus: "-"}.String() +
		logLine{status: "460", targetStatus: "-", agent: "gapless-probe/1.0 r1-000007"}.String() +
		logLine{status: "504", targetStatus: "-", agent: "gapless-probe/1.0 r1-000008"}.String()
	b := rollUp(t, benchRules(t), []byte(text))
	var got []string
	for _, q := range b.Requests {
		got = append(got, fmt.Sprintf("%d %s %s %s %s-%d connected=%v", q.Line, q.Outcome, q.Class, q.URL, q.ProbeRun, q.ProbeSeq, q.Connected))
	}
	want := []string{
		`2 lb_5xx user https://shop.example.test:443/v1/orders?q="x" -0 connected=false`,
		`3 target_5xx user https://shop.example.test:443/v1/orders -0 connected=true`,
		`6 client_abort probe https://shop.example.test:443/v1/orders r1-7 connected=true`,
		`7 lb_5xx probe https://shop.example.test:443/v1/orders r1-8 connected=true`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	first := b.Requests[0]
	if first.UserAgent != "curl/8 È" || first.Client != "203.0.113.7" || first.Method != "GET" || first.Duration != 10*time.Millisecond ||
		!first.End.Equal(first.Start.Add(10*time.Millisecond)) || first.Object != "k" || first.Target != "api-1" {
		t.Errorf("request %+v", first)
	}
	if want := []analysis.KnownRequests{{Source: "alb", Node: "203.0.113.200", Run: "r1", Seqs: []uint32{7, 8}}}; !reflect.DeepEqual(b.Known, want) {
		t.Errorf("known %+v", b.Known)
	}
}

// Anybody can call himself a prober: runs that nobody can have made up in numbers are
// forgotten, and a prober at work is not.
func TestManyRunsOfNobody(t *testing.T) {
	var text strings.Builder
	agent := func(run string, seq int) {
		text.WriteString(logLine{agent: fmt.Sprintf("gapless-probe/1 %s-%06d", run, seq)}.String())
	}
	agent("r1", 1)
	agent("r1", 2)
	for i := range 3 * runsKept {
		agent(fmt.Sprintf("x%d", i), 1)
		if i%100 == 0 {
			agent("r1", 3+i/100)
		}
	}
	b := rollUp(t, benchRules(t), []byte(text.String()))
	i := slices.IndexFunc(b.Known, func(k analysis.KnownRequests) bool { return k.Run == "r1" })
	if len(b.Known) > runsKept || i < 0 || len(b.Known[i].Seqs) != 2+(3*runsKept+99)/100 {
		t.Errorf("%d runs, of r1 %+v", len(b.Known), b.Known[max(i, 0)].Seqs)
	}
}

func TestKnownRequestsOfSeveralRuns(t *testing.T) {
	var text strings.Builder
	for _, id := range []string{"r2-000003", "r1-000009", "r1-000002", "r2-000001", "r1-000009", "r3-x"} {
		text.WriteString(logLine{agent: "gapless-probe/1.0 " + id}.String())
	}
	b := rollUp(t, benchRules(t), []byte(text.String()))
	want := []analysis.KnownRequests{
		{Source: "alb", Node: "203.0.113.200", Run: "r1", Seqs: []uint32{2, 9}},
		{Source: "alb", Node: "203.0.113.200", Run: "r2", Seqs: []uint32{1, 3}},
	}
	if !reflect.DeepEqual(b.Known, want) {
		t.Errorf("known %+v", b.Known)
	}
}

func TestSlowestAreKeptInABound(t *testing.T) {
	var text strings.Builder
	for i := range 3 * slowKept {
		text.WriteString(logLine{took: fmt.Sprintf("%dms", 500+(i*7919)%(3*slowKept)*10), end: "02:31:00.000"}.String())
	}
	text.WriteString(logLine{kind: "ws", took: "59s", end: "02:31:00.000"}.String())
	b := rollUp(t, benchRules(t), []byte(text.String()))
	if len(b.Requests) != slowKept {
		t.Fatalf("kept %d, want %d", len(b.Requests), slowKept)
	}
	fastest := time.Duration(math.MaxInt64)
	for i, q := range b.Requests {
		fastest = min(fastest, q.Duration)
		if i > 0 && q.Line <= b.Requests[i-1].Line {
			t.Errorf("line %d after line %d", q.Line, b.Requests[i-1].Line)
		}
	}
	if want := time.Duration(500+(2*slowKept)*10) * time.Millisecond; fastest != want {
		t.Errorf("fastest kept took %v, want %v", fastest, want)
	}
}

func TestMatchNarrowsWhatIsCounted(t *testing.T) {
	text := logLine{}.String() + logLine{elb: "app/other/1", group: "other-api", host: "other.example.test"}.String() +
		logLine{status: "400", target: "-", group: "-", request: "- http://shop.example.test:80- -"}.String()
	for name, c := range map[string]struct {
		match   Match
		counted int
	}{
		"everything":             {Match{}, 3},
		"load balancer":          {Match{LoadBalancer: "app/shop-public/50dc6c495c0c9188"}, 2},
		"load balancer's name":   {Match{LoadBalancer: "shop-public"}, 2},
		"no such load balancer":  {Match{LoadBalancer: "public"}, 0},
		"group":                  {Match{TargetGroup: "arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/shop-api/73e2d6bc24d8a067"}, 1},
		"group's name":           {Match{TargetGroup: "other-api"}, 1},
		"host":                   {Match{Host: "SHOP.example.test"}, 2},
		"all of them must agree": {Match{LoadBalancer: "shop-public", Host: "other.example.test"}, 0},
	} {
		roll := newRollup(&albFormat{}, benchRules(t), &Config{Source: "alb", Slow: time.Second, Match: c.match}, analysis.Object{})
		end, err := eachLine(t.Context(), strings.NewReader(text), roll.add)
		if err != nil {
			t.Fatal(err)
		}
		b := roll.finish(end)
		counted := 0
		for _, cell := range b.Cells {
			counted += cell.Count
		}
		if counted != c.counted || b.Unmatched != 3-c.counted || b.Understood != 3 {
			t.Errorf("%s: counted %d, want %d; unmatched %d, understood %d", name, counted, c.counted, b.Unmatched, b.Understood)
		}
	}
}

func TestTargetNamesInEverySpellingOfIPv6(t *testing.T) {
	rules, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{{Name: "six", Address: "[2001:db8::1]:80"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"[2001:db8::1]:80", "2001:db8::1:80", "2001:0db8:0:0:0:0:0:1:80"} {
		b := rollUp(t, rules, []byte(logLine{target: target}.String()))
		if got := b.Cells[0].Target; got != "six" {
			t.Errorf("%s is %q", target, got)
		}
	}
}

func TestSetAsideLinesAreBounded(t *testing.T) {
	text := strings.Repeat("nothing of ours\n", setAsideKept+10)
	b := rollUp(t, benchRules(t), []byte(text))
	if b.SetAside != setAsideKept+10 || len(b.Lines) != setAsideKept {
		t.Errorf("set aside %d, kept %d", b.SetAside, len(b.Lines))
	}
	text = strings.Repeat(strings.Repeat("x", maxRaw)+"\n", setAsideBytes/maxRaw+10)
	b = rollUp(t, benchRules(t), []byte(text))
	if want := setAsideBytes / maxRaw; b.SetAside != want+10 || len(b.Lines) != want {
		t.Errorf("set aside %d, kept %d", b.SetAside, len(b.Lines))
	}
}

// The sum over the cells of an object equals what counting each line by itself gives.
func TestCellsSumUpToTheLines(t *testing.T) {
	text := generate(5000)
	b := rollUp(t, benchRules(t), text)
	want := map[string]int{}
	var f albFormat
	var e entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if _, ok := f.parse([]byte(line), &e); !ok {
			t.Fatal(line)
		}
		want[fmt.Sprint(e.start/1e6, e.status, e.targetStatus)]++
	}
	got := map[string]int{}
	latencies := 0
	for _, c := range b.Cells {
		got[fmt.Sprint(c.Second, c.Status, c.TargetStatus)] += c.Count
		if c.First.Unix() != c.Second || c.Last.Before(c.First) {
			t.Errorf("cell of second %d from %v to %v", c.Second, c.First, c.Last)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("cells and lines differ")
	}
	for _, l := range b.Latencies {
		latencies += l.Took.Count()
	}
	if latencies == 0 || len(b.Requests) == 0 {
		t.Errorf("%d latencies, %d requests", latencies, len(b.Requests))
	}
	// What is kept must not be part of a buffer that other lines have filled since.
	if len(b.Known) != 1 || b.Known[0].Run != "r1" || len(b.Known[0].Seqs) < 5 {
		t.Errorf("known %+v", b.Known)
	}
}

// logLine writes one ALB line; what is not set is a plain request.
type logLine struct {
	kind, end, took, elb, target, wait, status, targetStatus, host, path, request, agent, group string
}

func (l logLine) String() string {
	set := func(s *string, otherwise string) {
		if *s == "" {
			*s = otherwise
		}
	}
	set(&l.kind, "h2")
	set(&l.end, "02:30:01.200")
	set(&l.took, "10ms")
	set(&l.elb, "app/shop-public/50dc6c495c0c9188")
	set(&l.target, "10.0.1.11:8080")
	set(&l.wait, "0.001")
	set(&l.status, "200")
	set(&l.targetStatus, "200")
	set(&l.host, "shop.example.test")
	set(&l.path, "/v1/orders")
	set(&l.request, "GET https://"+l.host+":443"+l.path+" HTTP/2.0")
	set(&l.agent, "Mozilla/5.0")
	set(&l.group, "shop-api")
	if l.group != "-" {
		l.group = "arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/" + l.group + "/73e2d6bc24d8a067"
	}
	end, err := time.Parse("2006-01-02T15:04:05.000", "2026-10-14T"+l.end)
	if err != nil {
		panic(err)
	}
	took, err := time.ParseDuration(l.took)
	if err != nil {
		panic(err)
	}
	const layout = "2006-01-02T15:04:05.000000Z"
	return fmt.Sprintf("%s %s %s 203.0.113.7:47772 %s %s 0.006 0.000 %s %s 945 11891 \"%s\" %s TLS_AES_128_GCM_SHA256 TLSv1.3 %s \"Root=1-68a83000-000000000000000000000001\" %q \"session-reused\" 10 %s \"forward\" \"-\" \"-\" %q %q \"-\" \"-\" TID_37acbe0641d1c34287fee137ef3a5286 \"-\" \"-\" \"-\" 203.0.113.200\n",
		l.kind, end.Format(layout), l.elb, l.target, l.wait, l.status, l.targetStatus, l.request, `"`+l.agent+`"`, l.group, l.host,
		end.Add(-took).Format(layout), l.target, l.targetStatus)
}

// However lines are ordered, and so however often sketches are packed and opened again,
// the batch is the same.
func TestOrderOfLinesDoesNotMatter(t *testing.T) {
	lines := bytes.SplitAfter(generate(30*looseLatencies), []byte("\n"))
	lines = lines[:len(lines)-1]
	shuffled := slices.Clone(lines)
	random := rand.New(rand.NewPCG(7, 8))
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	rules := benchRules(t)
	want, got := rollUp(t, rules, bytes.Join(lines, nil)), rollUp(t, rules, bytes.Join(shuffled, nil))
	if len(want.Latencies) < looseLatencies {
		t.Fatalf("only %d sketches: none is packed", len(want.Latencies))
	}
	if a, b := cellTexts(t, want), cellTexts(t, got); !slices.Equal(a, b) {
		t.Errorf("%d cells in order and %d shuffled differ", len(a), len(b))
	}
}

// cellTexts are the cells and the encoded latencies, sorted.
func cellTexts(t *testing.T, b analysis.ObjectBatch) []string {
	t.Helper()
	var texts []string
	for _, c := range b.Cells {
		texts = append(texts, fmt.Sprintf("%+v", c))
	}
	for _, l := range b.Latencies {
		took, err := l.Took.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%+v %x", l.LatencyKey, took))
	}
	slices.Sort(texts)
	return texts
}

// Of a line that stands for no request nothing is open; of what may be left of a
// request's line something is.
func TestLinesWithoutARequest(t *testing.T) {
	const request = `haproxy[1]: 192.0.2.9:1 [26/Mar/2025:14:35:48.889] web web/s1 0/0/53/1/69 200 1029 - - ---- 7/6/1/1/0 0/0 "GET /x HTTP/2.0"`
	for text, none := range map[string]bool{
		"": true,
		`Mar 26 14:35:48 edge haproxy[7]: Server web/s1 is DOWN, reason: Layer4 timeout, check duration: 2001ms.`: true,
		`Mar 26 14:35:48 edge haproxy[7]: Connect from 192.0.2.9:1 to 192.0.2.1:443 (web/HTTP)`:                   true,
		`haproxy[7]: 192.0.2.9:1 [26/Mar/2025:14:35:48.889] web~/1: SSL handshake failure`:                        true,
		`haproxy[7]: Loading success.`: true,
		request[:50]:                   false, // cut within its date
		request[:90]:                   false,
		request[:len(request)-5]:       true, // understood
		strings.Replace(request, " 0/0 ", " {a: b} ", 1): false,
		`last message repeated 4 times`:                  false,
		`x Server web/s1 is DOWN`:                        false,
	} {
		cfg := Config{Source: "edge", Kind: KindHAProxy, Slow: time.Hour}
		f, err := newFormat(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		roll := newRollup(f, benchRules(t), &cfg, analysis.Object{Source: "edge", Key: "k"})
		roll.add(&line{text: []byte(text), number: 1})
		b := roll.finish(ending{lines: 1})
		if open := b.SetAside - b.Requestless; (open == 0) != none {
			t.Errorf("%q: %d set aside, %d of them no request: %+v", text, b.SetAside, b.Requestless, b.Lines)
		}
	}
}
