package accesslog

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

const (
	// setAsideKept and setAsideBytes bound, per object, the lines that are kept where
	// they are not understood; those beyond are counted only.
	setAsideKept  = 20000
	setAsideBytes = 16 << 20

	// runsKept and knownKept bound, per object, the runs of probers that are told apart,
	// and their requests: of five minutes of one node, 800 a second.
	runsKept  = 1 << 10
	knownKept = 1 << 18

	routesKept = 1 << 15 // paths whose route is remembered
	textsKept  = 1 << 12 // texts of requests that are shared
)

// rollup turns the lines of one object into an [analysis.ObjectBatch]. It serves
// one goroutine and one object.
type rollup struct {
	format format
	rules  *analysis.Classifier
	source string
	match  Match
	slow   time.Duration
	object analysis.Object

	believed believed
	entry    entry
	health   *healthFormat // where the lines are health checks
	requests bool          // they are requests
	checks   []analysis.HealthCheckResult
	matchers [2]map[string]bool // by load balancer, by target group
	nodes    names
	groups   names
	targets  names
	routes   names
	routeOf  map[string]uint32 // by path

	plainRoutes     bool
	lastRoute       string
	lastRouteNumber uint32

	latencies  latencies
	cells      map[cellKey]int32
	sums       []cellSum
	lastKey    cellKey
	lastCell   int32
	known      map[knownKey]*[]uint32
	knownCount int
	singles    singles
	aside      []analysis.SetAsideLine
	asideSize  int
	texts      map[string]string
	scratch    []byte
}

// cellKey is [analysis.CellKey] with numbers for names.
type cellKey struct {
	second                     int64
	node, group, target, route uint32
	status, targetStatus       uint16
	class, outcome             uint8
}

type cellSum struct {
	key         cellKey
	count       int
	masked      int
	first, last int64
	latency     int32 // its place among the latencies; -1 until there is one
}

type knownKey struct {
	node uint32
	run  string
}

func newRollup(f format, rules *analysis.Classifier, cfg *Config, object analysis.Object) *rollup {
	health, _ := f.(*healthFormat)
	_, connections := f.(*connFormat)
	return &rollup{
		health: health, requests: health == nil && !connections,
		format: f, rules: rules, source: cfg.Source, match: cfg.Match, slow: cfg.Slow, object: object, believed: believedOf(object),
		routeOf: map[string]uint32{}, cells: map[cellKey]int32{}, known: map[knownKey]*[]uint32{},
		plainRoutes: rules.PrefixRoutes(), texts: map[string]string{}, matchers: [2]map[string]bool{{}, {}}, lastCell: -1, singles: newSingles(), latencies: newLatencies(),
	}
}

// add takes one line.
func (r *rollup) add(l *line) {
	r.object.Lines++
	switch {
	case l.cut:
		r.setAside(l, rejectCut)
		return
	case l.long > 0:
		r.setAside(l, rejectLong)
		return
	}
	e := &r.entry
	if why, ok := r.format.parse(withoutBOM(l), e); !ok {
		r.setAside(l, why)
		return
	}
	if !r.believed.holds(e) {
		r.setAside(l, rejectRange)
		return
	}
	r.object.Understood++
	if r.match != (Match{}) && !r.matches(e) {
		r.object.Unmatched++
		return
	}
	switch {
	case r.requests:
		r.count(e, l.number)
	case r.health != nil:
		r.check(e)
	}
}

// check keeps a health check.
func (r *rollup) check(e *entry) {
	node := r.object.Node
	if node == "" {
		node = r.text(e.node)
	}
	check := analysis.HealthCheckResult{
		Source: r.source, Node: node, TargetGroup: groupName(r.text(e.group)), At: at(e.start),
		Latency: r.health.latency, Pass: r.health.pass, Status: e.status, Reason: r.text(r.health.reason),
	}
	if e.target != nil {
		check.Target = r.targets.name(r.targets.of(e.target, r.targetName))
	}
	r.checks = append(r.checks, check)
}

// count adds an understood entry to its cell, and keeps it where it matters alone.
func (r *rollup) count(e *entry, number int) {
	path := urlPath(e.url)
	agent := e.agent
	if e.escape.escaped(agent) {
		r.scratch = e.escape.decode(r.scratch[:0], agent)
		agent = r.scratch
	}
	class := r.rules.Class(view(agent), view(path), view(e.client))
	outcome := e.outcomeOf()
	moment := e.end
	if e.hasStart {
		moment = e.start
	}
	node := uint32(0)
	if r.object.Node == "" { // the object's name says it, else the line may
		r.format.rest(e)
		node = r.nodes.of(e.node, nil)
	}
	key := cellKey{
		second: floorDiv(moment, 1e6), node: node,
		group: r.groups.of(e.group, groupName), target: r.targets.of(e.target, r.targetName), route: r.route(path),
		status: uint16(e.status), targetStatus: uint16(e.targetStatus), class: classNumber(class), outcome: outcomeNumber(outcome),
	}
	cell := r.lastCell
	if cell < 0 || key != r.lastKey {
		var ok bool
		if cell, ok = r.cells[key]; !ok {
			cell = int32(len(r.sums))
			r.cells[key] = cell
			r.sums = append(r.sums, cellSum{key: key, first: moment, last: e.end, latency: -1})
		}
		r.lastKey, r.lastCell = key, cell
	}
	sum := &r.sums[cell]
	sum.count++
	sum.first, sum.last = min(sum.first, moment), max(sum.last, e.end)
	took, timed := int64(0), e.hasStart && e.end >= e.start
	if timed {
		took = e.end - e.start
	}
	if e.masked {
		sum.masked++
	}
	if outcome == analysis.OutcomeOK && timed && !e.webSocket && !e.openEnded {
		if sum.latency < 0 {
			sum.latency = r.latencies.of(&key)
		}
		r.latencies.add(sum.latency, took)
	}
	run, seq, isKnown := analysis.ProbeUserAgent(view(agent))
	if isKnown {
		r.addKnown(node, run, seq)
	}
	switch {
	case isKnown && (outcome != analysis.OutcomeOK || e.masked) && len(r.singles.probes) < probesKept:
		r.singles.probes = append(r.singles.probes, r.request(e, key, number, took, run, seq))
	case outcome.Failure(), e.masked, class == analysis.ClassProbe && outcome != analysis.OutcomeOK:
		if weight, keep := r.singles.weigh(cell, key); keep {
			r.singles.keep(r.request(e, key, number, took, run, seq), cell, weight)
		}
	case !e.webSocket && took >= r.slow.Microseconds():
		r.singles.slow(took, func() analysis.Request { return r.request(e, key, number, took, run, seq) })
	}
}

// addKnown notes that a request of a prober is in the log. Anybody can send what looks
// like one: where there are too many runs, those with a single request are forgotten,
// which a prober at work does not have, and no more than knownKept requests are noted.
func (r *rollup) addKnown(node uint32, run string, seq int) {
	seqs := r.known[knownKey{node, run}]
	if r.knownCount++; r.knownCount > knownKept {
		return
	}
	if seqs == nil {
		if len(r.known) >= runsKept {
			maps.DeleteFunc(r.known, func(_ knownKey, seqs *[]uint32) bool { return len(*seqs) == 1 })
		}
		if len(r.known) >= runsKept {
			return
		}
		seqs = new([]uint32)
		r.known[knownKey{node, strings.Clone(run)}] = seqs // run is part of the line
	}
	*seqs = append(*seqs, uint32(seq))
}

// request is the entry as it is kept alone. Escapes in its texts are decoded.
func (r *rollup) request(e *entry, key cellKey, number int, took int64, run string, seq int) analysis.Request {
	r.format.rest(e)
	q := analysis.Request{
		CellKey: r.cellKey(key), End: at(e.end), Duration: time.Duration(took) * time.Microsecond,
		Method: r.text(e.method), URL: r.text(e.url), Client: r.text(e.client), UserAgent: r.text(e.agent), Attempts: max(e.attempts, 1),
		ProbeRun: strings.Clone(run), ProbeSeq: seq, Connected: e.connected, WebSocket: e.webSocket,
		ErrorReason: r.text(e.errorReason), Object: r.object.Key, Line: number,
	}
	if e.hasStart {
		q.Start = at(e.start)
	}
	q.Before, q.TargetTook = told(e.before), told(e.targetTook)
	if e.masked {
		for _, target := range e.failedOn {
			q.FailedOn = append(q.FailedOn, r.targets.name(r.targets.of(target, r.targetName)))
		}
	}
	return q
}

// told is a length of time in microseconds that the log may not say.
func told(micros int64) *time.Duration {
	if micros < 0 {
		return nil
	}
	return new(time.Duration(micros) * time.Microsecond)
}

// text copies a logged text, decoded; equal texts share one copy.
func (r *rollup) text(b []byte) string {
	if b == nil {
		return ""
	}
	if s, ok := r.texts[string(b)]; ok {
		return s
	}
	s := strings.ToValidUTF8(string(r.entry.escape.decode(nil, b)), "\uFFFD")
	if len(r.texts) < textsKept {
		r.texts[string(b)] = s
	}
	return s
}

func (r *rollup) setAside(l *line, why reject) {
	r.object.SetAside++
	if why.requestless() {
		r.object.Requestless++
	}
	if len(r.aside) >= setAsideKept || r.asideSize >= setAsideBytes {
		return
	}
	raw := bytes.Clone(l.text[:min(len(l.text), maxRaw)])
	r.asideSize += len(raw)
	r.aside = append(r.aside, analysis.SetAsideLine{
		Line: l.number, Offset: l.offset, Reason: why.reason, Detail: why.detail, Kind: why.kind, Raw: raw,
	})
}

// route numbers the path's route; paths seen lately are looked up, not matched.
func (r *rollup) route(path []byte) uint32 {
	if r.plainRoutes {
		return r.routeNumber(r.rules.Route(view(path)))
	}
	if number, ok := r.routeOf[string(path)]; ok {
		return number
	}
	number := r.routeNumber(r.rules.Route(view(path)))
	if len(path) <= 512 {
		if len(r.routeOf) >= routesKept {
			clear(r.routeOf)
		}
		r.routeOf[string(path)] = number
	}
	return number
}

func (r *rollup) routeNumber(name string) uint32 {
	if name == r.lastRoute {
		return r.lastRouteNumber
	}
	r.lastRoute, r.lastRouteNumber = name, r.routes.of(bytesOf(name), nil)
	return r.lastRouteNumber
}

// targetName names a target; an IPv6 address is tried in each of its spellings.
func (r *rollup) targetName(address string) string {
	name := r.rules.Target(address)
	if name != address {
		return name
	}
	host, port := splitAddress([]byte(address))
	if ip, err := netip.ParseAddr(string(host)); err == nil && ip.Is6() && port != nil {
		for _, spelling := range []string{ip.String() + ":" + string(port), "[" + ip.String() + "]:" + string(port)} {
			if name := r.rules.Target(spelling); name != spelling {
				return name
			}
		}
	}
	return name
}

// groupName is the name in a target group's ARN
// (arn:aws:elasticloadbalancing:region:account:targetgroup/NAME/id).
func groupName(arn string) string {
	_, rest, ok := strings.Cut(arn, ":targetgroup/")
	if !ok {
		return arn
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// finish answers the batch. How the object ended decides whether it is partial.
func (r *rollup) finish(end ending) analysis.ObjectBatch {
	if end.partial() {
		r.object.Partial = true
		if !errors.Is(end.err, io.ErrUnexpectedEOF) {
			r.object.Error = "unpack: " + end.err.Error()
		}
	}
	b := analysis.ObjectBatch{Object: r.object, Checks: r.checks, Lines: r.aside}
	b.Requests = r.singles.all()
	slices.SortFunc(b.Requests, func(a, c analysis.Request) int { return cmp.Compare(a.Line, c.Line) })
	slices.SortFunc(r.sums, func(a, c cellSum) int { return a.key.compare(c.key) })
	b.Cells = make([]analysis.Cell, len(r.sums))
	for i := range r.sums {
		sum := &r.sums[i]
		b.Cells[i] = analysis.Cell{
			CellKey: r.cellKey(sum.key), Count: sum.count, Masked: sum.masked, First: at(sum.first), Last: at(sum.last),
		}
	}
	b.Latencies = r.latencies.all(r)
	for key, seqs := range r.known {
		slices.Sort(*seqs)
		b.Known = append(b.Known, analysis.KnownRequests{
			Source: r.source, Node: r.node(key.node), Run: key.run, Seqs: slices.Compact(*seqs),
		})
	}
	slices.SortFunc(b.Known, func(a, c analysis.KnownRequests) int {
		return cmp.Or(cmp.Compare(a.Run, c.Run), cmp.Compare(a.Node, c.Node))
	})
	return b
}

func (r *rollup) cellKey(k cellKey) analysis.CellKey {
	return analysis.CellKey{
		Second: k.second, Source: r.source, Node: r.node(k.node), TargetGroup: r.groups.name(k.group),
		Target: r.targets.name(k.target), Class: analysis.Classes[k.class],
		Outcome: analysis.Outcomes[k.outcome], Route: r.routes.name(k.route),
		Status: int(k.status), TargetStatus: int(k.targetStatus),
	}
}

func (r *rollup) node(number uint32) string {
	if r.object.Node != "" {
		return r.object.Node
	}
	return r.nodes.name(number)
}

func (k cellKey) compare(o cellKey) int {
	return cmp.Or(
		cmp.Compare(k.second, o.second), cmp.Compare(k.node, o.node), cmp.Compare(k.group, o.group),
		cmp.Compare(k.target, o.target), cmp.Compare(k.class, o.class), cmp.Compare(k.route, o.route),
		cmp.Compare(k.status, o.status), cmp.Compare(k.targetStatus, o.targetStatus), cmp.Compare(k.outcome, o.outcome))
}

// classNumber is the class's place in [analysis.Classes].
func classNumber(c analysis.Class) uint8 {
	switch c {
	case analysis.ClassProbe:
		return 1
	case analysis.ClassHealth:
		return 2
	case analysis.ClassTool:
		return 3
	}
	return 0
}

// outcomeNumber is the outcome's place in [analysis.Outcomes].
func outcomeNumber(o analysis.Outcome) uint8 {
	switch o {
	case analysis.OutcomeOK:
		return 0
	case analysis.OutcomeClientError:
		return 1
	}
	for i, each := range analysis.Outcomes {
		if each == o {
			return uint8(i)
		}
	}
	panic("outcome " + o + " is not listed")
}

func at(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
