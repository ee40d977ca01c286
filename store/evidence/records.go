package evidence

import (
	"errors"
	"fmt"
	"time"

	"gapless/analysis"
)

// window is what the observations say of themselves.
type window struct {
	from, to, at, sealedAt time.Time
	revision               int
}

// windowOf leaves out what is no evidence: Observations.Change, which counts what one
// database went through; Revisions, the reports saved before, of which the report says
// what it follows; and Part, which says what a reader asked for. A bundle is always of
// the whole window.
func windowOf(o *analysis.Observations) window {
	return window{o.From, o.To, o.At, o.SealedAt, o.Revision}
}

func setWindow(o *analysis.Observations, w window) {
	o.From, o.To, o.At, o.SealedAt, o.Revision = w.from, w.to, w.at, w.sealedAt, w.revision
}

type windowRecord struct {
	From     moment `json:"from"`
	To       moment `json:"to"`
	At       moment `json:"at"`
	Revision int    `json:"revision"`
	SealedAt moment `json:"sealed_at"`
}

func windowRecordOf(w *window) (windowRecord, error) {
	return windowRecord{moment{w.from}, moment{w.to}, moment{w.at}, w.revision, moment{w.sealedAt}}, nil
}

func (r windowRecord) window(*lineReader) (window, error) {
	return window{r.From.Time, r.To.Time, r.At.Time, r.SealedAt.Time, r.Revision}, nil
}

type deployRecord struct {
	ID            string              `json:"id"`
	Service       string              `json:"service"`
	Kind          analysis.DeployKind `json:"kind"`
	VersionBefore *string             `json:"version_before"`
	VersionAfter  *string             `json:"version_after"`
	RollbackOf    *string             `json:"rollback_of"`
	Environment   *string             `json:"environment"`
	Actor         *string             `json:"actor"`
	URL           *string             `json:"url"`
	Source        string              `json:"source"`
	StartedAt     moment              `json:"started_at"`
	ReportedAt    moment              `json:"reported_at"`
	Result        *string             `json:"result"`
	SeenUntil     moment              `json:"seen_until,omitzero"`
	rawBytes
}

func deployOf(d *analysis.Deploy) (deployRecord, error) {
	return deployRecord{
		ID: d.ID, Service: d.Service, Kind: d.Kind, VersionBefore: optional(&d.VersionBefore), VersionAfter: optional(&d.VersionAfter),
		RollbackOf: optional(&d.RollbackOf), Environment: optional(&d.Environment), Actor: optional(&d.Actor), URL: optional(&d.URL),
		Source: d.Source, StartedAt: moment{d.StartedAt}, ReportedAt: moment{d.ReportedAt}, Result: optional(&d.Result),
		SeenUntil: moment{d.SeenUntil},
	}, nil
}

func (r deployRecord) deploy(*lineReader) (analysis.Deploy, error) {
	return analysis.Deploy{
		ID: r.ID, Service: r.Service, Kind: r.Kind, VersionBefore: value(r.VersionBefore), VersionAfter: value(r.VersionAfter),
		RollbackOf: value(r.RollbackOf), Environment: value(r.Environment), Actor: value(r.Actor), URL: value(r.URL),
		Source: r.Source, StartedAt: r.StartedAt.Time, ReportedAt: r.ReportedAt.Time, Result: value(r.Result),
		SeenUntil: r.SeenUntil.Time,
	}, nil
}

type claimRecord struct {
	ID           string          `json:"id"`
	Service      string          `json:"service"`
	Deploy       *string         `json:"deploy"`
	About        analysis.Class  `json:"about"`
	Caused       bool            `json:"caused"`
	Basis        *analysis.Class `json:"basis"`
	Text         string          `json:"text"`
	From         moment          `json:"from"`
	To           moment          `json:"to"`
	By           *string         `json:"by"`
	RegisteredAt moment          `json:"registered_at"`
	rawBytes
}

func claimOf(c *analysis.TypedClaim) (claimRecord, error) {
	return claimRecord{
		ID: c.ID, Service: c.Service, Deploy: optional(&c.Deploy), About: c.About, Caused: c.Caused, Basis: optional(&c.Basis),
		Text: c.Text, From: moment{c.From}, To: moment{c.To}, By: optional(&c.By), RegisteredAt: moment{c.RegisteredAt},
	}, nil
}

func (r claimRecord) claim(*lineReader) (analysis.TypedClaim, error) {
	return analysis.TypedClaim{
		ID: r.ID, Service: r.Service, Deploy: value(r.Deploy), About: r.About, Caused: r.Caused, Basis: value(r.Basis),
		Text: r.Text, From: r.From.Time, To: r.To.Time, By: value(r.By), RegisteredAt: r.RegisteredAt.Time,
	}, nil
}

type stepRecord struct {
	Deploy   string            `json:"deploy"`
	Kind     analysis.StepKind `json:"kind"`
	At       moment            `json:"at"`
	Target   string            `json:"target"`
	Source   string            `json:"source"`
	Clock    string            `json:"clock"`
	Inferred bool              `json:"inferred"`
	rawBytes
}

func stepOf(s *analysis.Step) (stepRecord, error) {
	return stepRecord{Deploy: s.Deploy, Kind: s.Kind, At: moment{s.At}, Target: s.Target, Source: s.Source, Clock: s.Clock, Inferred: s.Inferred}, nil
}

func (r stepRecord) step(l *lineReader) (analysis.Step, error) {
	return analysis.Step{
		Deploy: l.name(r.Deploy), Kind: analysis.StepKind(l.name(string(r.Kind))), At: r.At.Time,
		Target: l.name(r.Target), Source: l.name(r.Source), Clock: l.name(r.Clock), Inferred: r.Inferred,
	}, nil
}

type stateRecord struct {
	At          moment `json:"at"`
	Target      string `json:"target"`
	State       string `json:"state"`
	Reason      string `json:"reason"`
	TargetGroup string `json:"target_group"`
	Source      string `json:"source"`
	rawBytes
}

func stateOf(s *analysis.StateSample) (stateRecord, error) {
	return stateRecord{At: moment{s.At}, Target: s.Target, State: string(s.State), Reason: s.Reason, TargetGroup: s.TargetGroup, Source: s.Source}, nil
}

func (r stateRecord) state(l *lineReader) (analysis.StateSample, error) {
	return analysis.StateSample{
		Source: l.name(r.Source), TargetGroup: l.name(r.TargetGroup), Target: l.name(r.Target),
		At: r.At.Time, State: analysis.TargetState(l.name(r.State)), Reason: l.name(r.Reason),
	}, nil
}

type checkRecord struct {
	At          moment  `json:"at"`
	Latency     float64 `json:"latency_ms"`
	Target      string  `json:"target"`
	TargetGroup string  `json:"target_group"`
	Node        *string `json:"node"`
	Pass        bool    `json:"pass"`
	Status      *int    `json:"status"`
	Reason      *string `json:"reason"`
	Source      string  `json:"source"`
	rawBytes
}

func checkOf(c *analysis.HealthCheckResult) (checkRecord, error) {
	return checkRecord{
		At: moment{c.At}, Latency: milliseconds(c.Latency), Target: c.Target, TargetGroup: c.TargetGroup, Node: optional(&c.Node),
		Pass: c.Pass, Status: optional(&c.Status), Reason: optional(&c.Reason), Source: c.Source,
	}, nil
}

func (r checkRecord) check(l *lineReader) (analysis.HealthCheckResult, error) {
	return analysis.HealthCheckResult{
		Source: l.name(r.Source), Node: l.names(r.Node), TargetGroup: l.name(r.TargetGroup), Target: l.name(r.Target), At: r.At.Time,
		Latency: fromMilliseconds(r.Latency), Pass: r.Pass, Status: value(r.Status), Reason: l.names(r.Reason),
	}, nil
}

type metricRecord struct {
	Source string  `json:"source"`
	Metric string  `json:"metric"`
	At     moment  `json:"at"`
	Period float64 `json:"period_s"`
	Sum    float64 `json:"sum"`
	rawBytes
}

func metricOf(m *analysis.MetricSum) (metricRecord, error) {
	return metricRecord{Source: m.Source, Metric: m.Metric, At: moment{m.At}, Period: secondsOf(m.Period), Sum: m.Sum}, nil
}

func (r metricRecord) metric(l *lineReader) (analysis.MetricSum, error) {
	return analysis.MetricSum{Source: l.name(r.Source), Metric: l.name(r.Metric), At: r.At.Time, Period: fromSeconds(r.Period), Sum: r.Sum}, nil
}

type runRecord struct {
	Source string  `json:"source"`
	Kind   string  `json:"kind"`
	From   moment  `json:"from"`
	To     moment  `json:"to"`
	At     moment  `json:"at"`
	Rows   int     `json:"rows"`
	Code   *string `json:"code"`
	Error  *string `json:"error"`
	rawBytes
}

func runOf(r *analysis.Run) (runRecord, error) {
	return runRecord{
		Source: r.Source, Kind: r.Kind, From: moment{r.From}, To: moment{r.To}, At: moment{r.At}, Rows: r.Rows,
		Code: optional(&r.Code), Error: optional(&r.Error),
	}, nil
}

func (r runRecord) run(l *lineReader) (analysis.Run, error) {
	return analysis.Run{
		Source: l.name(r.Source), Kind: l.name(r.Kind), From: r.From.Time, To: r.To.Time, At: r.At.Time, Rows: r.Rows,
		Code: l.names(r.Code), Error: l.names(r.Error),
	}, nil
}

type objectRecord struct {
	Source      string  `json:"source"`
	Node        *string `json:"node"`
	Key         string  `json:"key"`
	From        moment  `json:"from"`
	To          moment  `json:"to"`
	Lines       int     `json:"lines"`
	Understood  int     `json:"understood"`
	SetAside    int     `json:"set_aside"`
	Requestless int     `json:"requestless,omitzero"`
	Unmatched   int     `json:"unmatched"`
	Partial     bool    `json:"partial"`
	Error       *string `json:"error"`
	Arrived     moment  `json:"arrived"`
	rawBytes
}

func objectOf(o *analysis.Object) (objectRecord, error) {
	return objectRecord{
		Source: o.Source, Node: optional(&o.Node), Key: o.Key, From: moment{o.From}, To: moment{o.To}, Lines: o.Lines,
		Understood: o.Understood, SetAside: o.SetAside, Requestless: o.Requestless, Unmatched: o.Unmatched, Partial: o.Partial, Error: optional(&o.Error), Arrived: moment{o.Arrived},
	}, nil
}

func (r objectRecord) object(l *lineReader) (analysis.Object, error) {
	return analysis.Object{
		Source: l.name(r.Source), Node: l.names(r.Node), Key: l.name(r.Key), From: r.From.Time, To: r.To.Time, Lines: r.Lines,
		Understood: r.Understood, SetAside: r.SetAside, Requestless: r.Requestless, Unmatched: r.Unmatched, Partial: r.Partial, Error: value(r.Error), Arrived: r.Arrived.Time,
	}, nil
}

type probeRecord struct {
	ID           string           `json:"id"`
	Sent         moment           `json:"sent"`
	Done         moment           `json:"done"`
	Status       *int             `json:"status"`
	Outcome      analysis.Outcome `json:"outcome"`
	Target       *string          `json:"target"`
	Error        *string          `json:"error"`
	OutOfService bool             `json:"out_of_service"`
	Probe        string           `json:"probe"`
	Class        analysis.Class   `json:"class"`
	Source       string           `json:"source"`
	rawBytes
}

func probeOf(p *analysis.ProbeRequest) (probeRecord, error) {
	id, err := idOf(p.Run, p.Seq)
	return probeRecord{
		ID: id, Sent: moment{p.Sent}, Done: moment{p.Done}, Status: optional(&p.Status), Outcome: p.Outcome,
		Target: optional(&p.Target), Error: optional(&p.Error), OutOfService: p.OutOfService, Probe: p.Probe, Class: p.Class, Source: p.Source,
	}, err
}

func (r probeRecord) probe(l *lineReader) (analysis.ProbeRequest, error) {
	run, seq, err := splitID(r.ID)
	return analysis.ProbeRequest{
		Source: l.name(r.Source), Probe: l.name(r.Probe), Class: analysis.Class(l.name(string(r.Class))), Run: l.name(run), Seq: seq,
		Sent: r.Sent.Time, Done: r.Done.Time, Status: value(r.Status), Outcome: analysis.Outcome(l.name(string(r.Outcome))),
		Target: l.names(r.Target), Error: l.names(r.Error), OutOfService: r.OutOfService,
	}, err
}

type handledRecord struct {
	ID     string `json:"id"`
	At     moment `json:"at"`
	Status *int   `json:"status"`
	Begun  bool   `json:"begun"`
	Target string `json:"target"`
	Source string `json:"source"`
	rawBytes
}

func handledOf(h *analysis.HandledRequest) (handledRecord, error) {
	id, err := idOf(h.Run, h.Seq)
	return handledRecord{ID: id, At: moment{h.At}, Status: optional(&h.Status), Begun: h.Begun, Target: h.Target, Source: h.Source}, err
}

func (r handledRecord) handled(l *lineReader) (analysis.HandledRequest, error) {
	run, seq, err := splitID(r.ID)
	return analysis.HandledRequest{
		Source: l.name(r.Source), Target: l.name(r.Target), Run: l.name(run), Seq: seq, At: r.At.Time, Status: value(r.Status), Begun: r.Begun,
	}, err
}

// idOf is the id of a probe request, <run>-<number of at least six digits>.
func idOf(run string, seq int) (string, error) {
	if seq < 0 || int64(seq) > 1<<32-1 || run == "" {
		return "", fmt.Errorf("run %q with number %d has no id", run, seq)
	}
	return fmt.Sprintf("%s-%06d", run, seq), nil
}

func splitID(id string) (run string, seq int, err error) {
	run, seq, ok := analysis.ProbeID(id)
	if !ok {
		return "", 0, errors.New("an id is not <run>-<number>")
	}
	return run, seq, nil
}

type countRecord struct {
	Source  string `json:"source"`
	Rule    string `json:"rule"`
	Second  moment `json:"second"`
	Lines   int    `json:"lines"`
	Matched int    `json:"matched"`
	rawBytes
}

func countOf(c *analysis.RuleCount) (countRecord, error) {
	return countRecord{Source: c.Source, Rule: c.Rule, Second: moment{c.Second}, Lines: c.Lines, Matched: c.Matched}, nil
}

func (r countRecord) count(l *lineReader) (analysis.RuleCount, error) {
	return analysis.RuleCount{Source: l.name(r.Source), Rule: l.name(r.Rule), Second: r.Second.Time, Lines: r.Lines, Matched: r.Matched}, nil
}
