package views

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// DeployPage is everything that the page of one deploy prints.
type DeployPage struct {
	Shell Shell
	ID    string // empty where a span was judged without a deploy
	Name  string // what the page calls it

	Service string
	// StreamURL is where the live region gets its updates; empty once nothing will change.
	StreamURL string
	ReportURL string // the same report as JSON
	BundleURL string // evidence and report in one zip
	Part      *PartView
	ClaimForm *ClaimForm // nil where no server answers
	Previous  string     // address of the comparison with the deploy before; empty for a span
	path      string     // of the page's address; empty where no server answers
	query     string     // of it: a part of the window, or the span

	Verdict      VerdictPanel
	Facts        []Fact
	Evidence     []EvidenceRow
	Timeline     Timeline
	Findings     []FindingView
	MoreFindings []FindingView // folded
	RuleCounts   string
	RuleGroups   []RuleGroup
	Phases       Table
	Targets      Table
	Windows      Table
	Failures     Table
	Causes       string
	Journeys     Table
	Reconciled   Table // empty unless two sources tell a journey
	Dependencies Table
	Breakers     Table
	Gauges       Table
	Attribution  Table
	Detection    Table
	Completeness Table
	Coverage     Table
	Claims       Table
	Steps        Table
	Baseline     Table
	Controls     Table
	Provenance   []Fact
	Measured     Measured
	Provisional  bool  // counts may still grow
	Revisions    Table // empty unless late evidence made more than one
}

// Measured says which parts of the page something tells of at all: the others are left
// out.
type Measured struct{ Journeys, Dependencies, Gauges bool }

// VerdictPanel is the answer.
type VerdictPanel struct {
	Tone, Icon string
	Heading    string
	About      string // the claim that it is the verdict on
	Badge      string // says that it is not final
	Sentence   string
	Conditions []string
	More       []string // further conditions, folded
	Claims     []ClaimChip
}

// ClaimChip is one claim with its state.
type ClaimChip struct{ Tone, Icon, Label, Title string }

// Fact is a labelled value.
type Fact struct {
	Label string
	Text  string
	Code  bool
	Link  string // only http and https addresses
	Stamp *Stamp
	To    *Stamp // the end, where the fact is a span
	Note  string
}

// EvidenceRow says what one source brought. Its bar shows where it saw, 0 to 100 across the window.
type EvidenceRow struct {
	Name  string
	Class string // ok or warn
	Icon  string
	Text  string
	Seen  []Bar // nil: no bar
	Blind []Bar
}

// FindingView is one finding.
type FindingView struct {
	Code, Severity, Class, Icon string
	Where                       string
	From, To                    *Stamp
	Sentence, Remedy            string
	Evidence                    []string
}

// RuleGroup lists rules that share a state.
type RuleGroup struct {
	State, Icon string
	Rules       []RuleView
}

// RuleView is one rule and, where it could not be evaluated, why.
type RuleView struct{ Code, Why string }

// NewDeployPage makes the page of one deploy from what was observed and judged. The
// report's sentences are filled in where they are missing.
func NewDeployPage(obs analysis.Observations, report analysis.Report, zone *time.Location) DeployPage {
	FillSentences(&report)
	r := &report
	page := DeployPage{ID: r.Deploy.ID, Name: r.Deploy.ID, Service: r.Deploy.Service}
	if page.Service == "" {
		page.Service = obs.Service.Name
	}
	page.address(r)
	page.Shell = NewShell(page.Service+" · "+page.Name, "deploys", zone, r.Provenance.Binary)
	page.Verdict = verdictPanel(r)
	page.Facts = facts(r, zone)
	page.Evidence = evidence(r)
	page.Timeline = newTimeline(&obs, r, zone)
	page.Findings = findingViews(r, zone)
	if len(page.Findings) > maxFindings+1 {
		page.Findings, page.MoreFindings = page.Findings[:maxFindings], page.Findings[maxFindings:]
	}
	page.RuleCounts, page.RuleGroups = ruleGroups(r)
	page.Phases = phaseTable(r, zone)
	page.Part = partView(r, zone)
	page.claimForm(r, zone)
	page.linkPhases(r)
	page.Targets, page.Windows = targetTable(r), windowTable(r, zone)
	page.Failures, page.Causes = failureTable(r, zone), causesOf(r)
	page.Failures.AllURL = page.CSVURL("failures")
	page.Journeys, page.Reconciled, page.Gauges = journeyTable(r), reconciledTable(r), gaugeTable(r, zone)
	page.Dependencies, page.Breakers = dependencyTable(r, zone), breakerTable(r, zone)
	page.Measured = Measured{Journeys: r.Journeys != nil, Dependencies: r.Dependencies != nil || r.Breakers != nil, Gauges: r.Gauges != nil}
	page.Attribution, page.Detection = attributionTable(r), detectionTable(r)
	page.Completeness, page.Coverage = completenessTable(r), coverageTable(r, zone)
	page.Claims, page.Steps = claimTable(r, zone), stepTable(r, zone)
	page.Baseline, page.Controls = baselineTable(r), controlTable(r)
	page.Provenance = provenance(r, zone)
	page.Provisional = r.Window.State != analysis.WindowSealed
	page.Revisions = revisionTable(obs.Revisions, r.Claims, zone)
	return page
}

// address fills in where the page is, and what answers beside it.
func (p *DeployPage) address(r *analysis.Report) {
	if p.ID == "" {
		p.Name, p.path, p.query = "span without a deploy", spanPath(p.Service), spanQuery(r.Window.From.Time, r.Window.To.Time)
		return
	}
	p.path = DeployURL(p.ID)
	suffix := ""
	if r.Window.PartOf != nil {
		p.query = spanQuery(r.Window.From.Time, r.Window.To.Time)
		suffix = "?" + p.query
	}
	p.ReportURL = "/api/v1" + p.path + "/report" + suffix
	if p.ID != "" {
		p.BundleURL = "/api/v1" + p.path + "/bundle" // of the whole window, always
	}
	if r.Window.State != analysis.WindowSealed {
		p.StreamURL = p.path + "/stream" + suffix
	}
}

// claimForm asks for a claim about what the page shows.
func (p *DeployPage) claimForm(r *analysis.Report, zone *time.Location) {
	form := ClaimForm{Service: p.Service, Deploy: p.ID}
	if p.ID == "" || p.Part != nil {
		form.From, form.To = r.Window.From.In(zone).Format(FormLayout), r.Window.To.In(zone).Format(FormLayout)
	}
	form = form.Complete(zone)
	p.ClaimForm = &form
	if p.ID != "" {
		p.Previous = CompareURL("", p.ID)
	}
}

// maxConditions bounds what a panel shows unfolded.
const (
	maxConditions = 7
	maxFindings   = 6
)

func verdictPanel(r *analysis.Report) VerdictPanel {
	panel := VerdictPanel{Heading: word(verdictWords, r.Verdict.State), Sentence: tied(r.Verdict.Sentence)}
	panel.Tone, panel.Icon = tone(r.Verdict.State)
	panel.About = strings.TrimSuffix(verdictClaim(r).Text, ".")
	switch r.Window.State {
	case analysis.WindowOpen:
		panel.Badge = "so far · window open"
	case analysis.WindowSettling:
		panel.Badge = "provisional · waiting for late logs"
	}
	for _, condition := range r.Verdict.Conditions {
		panel.Conditions = append(panel.Conditions, tied(condition.Sentence))
	}
	if len(panel.Conditions) > maxConditions+1 {
		panel.Conditions, panel.More = panel.Conditions[:maxConditions], panel.Conditions[maxConditions:]
	}
	for _, claim := range r.Claims {
		chip := ClaimChip{Label: claimLabel(claim), Title: claim.Text + " " + word(verdictWords, claim.State)}
		chip.Tone, chip.Icon = tone(claim.State)
		if claim.Reason != "" {
			chip.Title += ": " + word(reasonWords, claim.Reason)
		}
		panel.Claims = append(panel.Claims, chip)
	}
	return panel
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// shortVersion shortens a full commit hash; anything else stays.
func shortVersion(version string) string {
	if len(version) == 40 && strings.Trim(version, "0123456789abcdef") == "" {
		return version[:10]
	}
	return version
}

func facts(r *analysis.Report, zone *time.Location) []Fact {
	var facts []Fact
	add := func(f Fact) { facts = append(facts, f) }
	before, after := shortVersion(value(r.Deploy.VersionBefore)), shortVersion(value(r.Deploy.VersionAfter))
	switch {
	case before != "" && after != "":
		add(Fact{Label: "Version", Text: before + " → " + after, Code: true})
	case before != "" || after != "":
		add(Fact{Label: "Version", Text: before + after, Code: true})
	}
	if r.Deploy.Kind != "" {
		what := upperFirst(word(kindWords, r.Deploy.Kind))
		if of := value(r.Deploy.RollbackOf); of != "" {
			what += ", rolls back " + of
		}
		if environment := value(r.Deploy.Environment); environment != "" {
			what += ", " + environment
		}
		add(Fact{Label: "What", Text: what})
	}
	if actor := value(r.Deploy.Actor); actor != "" || value(r.Deploy.URL) != "" {
		if actor == "" {
			actor = "run"
		}
		add(Fact{Label: "Rolled by", Text: actor, Link: webLink(value(r.Deploy.URL))})
	} else if r.Deploy.Source != "" {
		add(Fact{Label: "Told by", Text: r.Deploy.Source})
	}
	if !r.Deploy.StartedAt.IsZero() {
		started := dateClock(r.Deploy.StartedAt.Time, zone)
		add(Fact{Label: "Started", Stamp: &started})
	}
	from, to := clock(r.Window.From.Time, zone), clock(r.Window.To.Time, zone)
	note := word(windowWords, r.Window.State)
	if r.Window.Revision > 0 {
		note += ", revision " + Count(r.Window.Revision)
	}
	if whole := r.Window.PartOf; whole != nil {
		partFrom, partTo := clockMilli(r.Window.From.Time, zone), clockMilli(r.Window.To.Time, zone)
		add(Fact{Label: "Part judged here", Stamp: &partFrom, To: &partTo})
		from, to = clock(whole.From.Time, zone), clock(whole.To.Time, zone)
	}
	window := Fact{Label: "Window", Stamp: &from, To: &to, Note: note}
	if r.Window.State == analysis.WindowOpen { // its end is only the latest that it may have
		window.To, window.Text, window.Note = nil, " – ", "("+note+")"
	}
	add(window)
	late, typed := changesOf(r.Provenance.Changes, r.Claims)
	if n := len(late); n > 0 {
		add(Fact{Label: "Late evidence changed", Text: list(late[:min(n, maxChanges)]), Note: moreChanges(n)})
	}
	if n := len(typed); n > 0 {
		add(Fact{Label: "Claimed since the revision before", Text: list(typed[:min(n, maxChanges)]), Note: moreChanges(n)})
	}
	add(Fact{Label: "One target only", Text: singleTargetFact(r)})
	if fact := reportedFact(r, zone); fact.Label != "" {
		add(fact)
	}
	return facts
}

// maxChanges bounds the changes of a revision that stand beside the verdict; the
// table of revisions has all.
const maxChanges = 3

func moreChanges(n int) string {
	if n <= maxChanges {
		return ""
	}
	return "and " + Count(n-maxChanges) + " more"
}

// changesOf parts what a revision changed into what came of late evidence and the
// claims that somebody typed, and puts those into the words of their claims. Typing a
// claim is no evidence.
func changesOf(changes []string, claims []analysis.Claim) (late, typed []string) {
	for _, change := range changes {
		id, rest, found := strings.Cut(strings.TrimPrefix(change, "claim "), ": new, ")
		if !found || !strings.HasPrefix(change, "claim "+typedPrefix) {
			late = append(late, claimNamed(change, claims))
			continue
		}
		typed = append(typed, claimQuoted(id, claims)+", "+rest)
	}
	return late, typed
}

// typedPrefix begins the ids of claims that somebody typed.
const typedPrefix = "typed-"

// claimQuoted is a typed claim by its text.
func claimQuoted(id string, claims []analysis.Claim) string {
	i := slices.IndexFunc(claims, func(c analysis.Claim) bool { return c.ID == id })
	if i < 0 || claims[i].Text == "" {
		return "a typed claim"
	}
	return "“" + Short(strings.TrimSuffix(claims[i].Text, "."), 80) + "”"
}

// claimNamed names the typed claim that a change is about by its text.
func claimNamed(change string, claims []analysis.Claim) string {
	about, found := strings.CutPrefix(change, "claim ")
	if end := strings.IndexAny(about, ":,"); found && end > 0 && strings.HasPrefix(about, typedPrefix) {
		if quoted := claimQuoted(about[:end], claims); strings.HasPrefix(quoted, "“") {
			return "claim " + quoted + about[end:]
		}
		return "a typed claim" + about[end:]
	}
	return change
}

// changeWords are all changes of a revision in words, as one list.
func changeWords(changes []string, claims []analysis.Claim) []string {
	late, typed := changesOf(changes, claims)
	for _, claim := range typed {
		late = append(late, "claimed: "+claim)
	}
	return late
}

func revisionTable(revisions []analysis.RevisionNote, claims []analysis.Claim, zone *time.Location) Table {
	table := Table{Caption: "Revisions of this report, newest first", Columns: []Cell{right("revision"), left("judged at"), left("verdict"), left("what it changed")}}
	if len(revisions) < 2 {
		return table
	}
	for _, n := range slices.Backward(revisions) {
		changed := Cell{Text: "the first", Class: "l z"}
		if n.Number > 1 {
			changed = Cell{Class: "l w"}
			for _, change := range changeWords(n.Changes, claims) {
				changed.Spans = append(changed.Spans, SpanText{Text: change})
			}
			if len(n.Changes) == 0 {
				changed = Cell{Text: "nothing that counts", Class: "l z"}
			}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{right(Count(n.Number)), at(dateClock(n.At, zone)), left(word(verdictWords, n.Verdict)), changed}})
	}
	return table
}

func webLink(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return ""
	}
	return parsed.String()
}

func singleTargetFact(r *analysis.Report) string {
	if r.SingleTarget == nil {
		return "not measured"
	}
	if len(r.SingleTarget) == 0 {
		return "never"
	}
	var parts []string
	for i, span := range r.SingleTarget {
		if i == 4 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, Seconds(span.Seconds))
	}
	text := strings.Join(parts, " + ")
	if len(r.ZeroTargets) > 0 {
		text += "; none at all for " + Seconds(spanSeconds(r.ZeroTargets))
	}
	return text
}

func spanSeconds(spans []analysis.Span) float64 {
	var sum float64
	for _, span := range spans {
		sum += span.Seconds
	}
	return sum
}

// reportedFact sets the report of success beside the return of the last target.
func reportedFact(r *analysis.Report, zone *time.Location) Fact {
	if r.Deploy.ReportedAt.IsZero() {
		if r.Deploy.ID == "" {
			return Fact{}
		}
		if until := r.Deploy.SeenUntil; !until.IsZero() {
			last := clock(until.Time, zone)
			return Fact{Label: "Last seen", Stamp: &last, Note: "nobody announced it"}
		}
		return Fact{Label: "Result", Text: "not reported yet"}
	}
	reported := clock(r.Deploy.ReportedAt.Time, zone)
	fact := Fact{Label: upperFirst(reportedAs(r)), Stamp: &reported}
	var latest *analysis.TargetReport
	for i := range r.Targets {
		late := r.Targets[i].ReportedToFirstServed
		if late != nil && (latest == nil || late.Value > latest.ReportedToFirstServed.Value) {
			latest = &r.Targets[i]
		}
	}
	if latest != nil && latest.ReportedToFirstServed.Value > 0 {
		fact.Note = Seconds(latest.ReportedToFirstServed.Value) + " before " + latest.Target + " served"
	} else if latest != nil {
		fact.Note = "after every target served"
	}
	return fact
}

// reportedAs names the deploy's own report of its end.
func reportedAs(r *analysis.Report) string {
	switch value(r.Deploy.Result) {
	case "":
		return "reported"
	case "succeeded":
		return "reported success"
	case "failed":
		return "reported failure"
	}
	return "reported " + value(r.Deploy.Result)
}

func evidence(r *analysis.Report) []EvidenceRow {
	var rows []EvidenceRow
	for i := range r.Coverage {
		rows = append(rows, evidenceRow(r, &r.Coverage[i]))
	}
	for _, a := range r.Attribution {
		lacking := a.SuccessWithoutRecord + a.FailedWithoutRecord
		row := EvidenceRow{Name: "ids of " + a.Probe, Class: "ok", Icon: "✓", Text: Count(a.Attributed) + " of " + Count(a.Sent) + " attributed"}
		if a.SuccessWithoutRecord > 0 || a.Duplicates > 0 {
			row.Class, row.Icon = "warn", "!"
		}
		if lacking > 0 {
			row.Text += ", " + Count(lacking) + " unrecorded"
		}
		rows = append(rows, row)
	}
	if len(r.Clocks) > 0 {
		low, high := r.Clocks[0].Offset.From, r.Clocks[0].Offset.To
		row := EvidenceRow{Name: "clocks", Class: "ok", Icon: "✓"}
		for _, offset := range r.Clocks {
			low, high = min(low, offset.Offset.From), max(high, offset.Offset.To)
			if offset.Offset.To < offset.Offset.From {
				row.Class, row.Icon = "warn", "!"
			}
		}
		sign := ""
		if high > 0 {
			sign = "+"
		}
		row.Text = number(low) + " … " + sign + number(high) + " ms apart"
		rows = append(rows, row)
	}
	return rows
}

func evidenceRow(r *analysis.Report, c *analysis.Coverage) EvidenceRow {
	row := EvidenceRow{Name: c.Source, Class: "ok", Icon: "✓"}
	whole := c.To.Sub(c.From.Time).Seconds()
	at := func(t time.Time) float64 {
		if whole <= 0 {
			return 0
		}
		return min(max(t.Sub(c.From.Time).Seconds()/whole*100, 0), 100)
	}
	row.Seen = []Bar{{X: "0", W: "100", Class: "seen"}}
	if c.Seen <= 0 {
		row.Seen = []Bar{}
	}
	for _, hole := range c.Blind {
		x := at(hole.From.Time)
		row.Blind = append(row.Blind, Bar{X: coordinate(x), W: coordinate(max(at(hole.To.Time)-x, .8)), Class: "hole"})
	}
	var parts []string
	if known, found, ok := knownOf(r, c.Source); ok {
		parts = append(parts, Count(found)+" of "+Count(known)+" known found")
		if found < known {
			row.Class, row.Icon = "warn", "!"
		}
	}
	if blind := blindSeconds(c.Blind, c.From.Time, c.To.Time); blind > 0 {
		parts = append(parts, "blind "+Seconds(blind))
		row.Class, row.Icon = "warn", "!"
	}
	if c.Malformed != nil && *c.Malformed > 0 {
		parts = append(parts, plural(*c.Malformed, "line", "lines")+" not understood")
	}
	if c.PartialObjects != nil && *c.PartialObjects > 0 {
		parts = append(parts, plural(*c.PartialObjects, "object", "objects")+" cut short")
		row.Class, row.Icon = "warn", "!"
	}
	if c.HorizonPassed != nil && !*c.HorizonPassed {
		parts = append(parts, "late lines awaited")
		row.Class, row.Icon = "warn", "…"
	}
	if len(parts) == 0 {
		parts = []string{"whole window seen"}
		if r.Window.PartOf != nil {
			parts = []string{"whole part seen"}
		}
	}
	row.Text = strings.Join(parts, ", ")
	return row
}

// knownOf sums a source's completeness over nodes; only rows over all phases, where
// there are such, so that nothing is counted twice. What the load balancer counted
// by itself is another count, of all requests.
func knownOf(r *analysis.Report, source string) (known, found int, ok bool) {
	whole := false
	for _, row := range r.Completeness {
		whole = whole || row.Source == source && row.Phase == ""
	}
	for _, row := range r.Completeness {
		if row.Source == source && row.Phase != analysis.WholeMinutes && (!whole || row.Phase == "") {
			known, found, ok = known+row.Known, found+row.Found, true
		}
	}
	return known, found, ok
}

func findingViews(r *analysis.Report, zone *time.Location) []FindingView {
	icons := map[analysis.Severity]string{analysis.SeverityHigh: "▲", analysis.SeverityMedium: "◆", analysis.SeverityInfo: "●"}
	var views []FindingView
	for i := range r.Findings {
		f := &r.Findings[i]
		view := FindingView{Code: f.Code, Severity: string(f.Severity), Class: string(f.Severity), Icon: icons[f.Severity], Sentence: tied(f.Sentence), Remedy: tied(f.Remedy)}
		if view.Icon == "" {
			view.Icon = "●"
		}
		var where []string
		for _, text := range []string{value(f.Target), value(f.Phase)} {
			if text != "" {
				where = append(where, text)
			}
		}
		view.Where = strings.Join(where, " · ")
		if !f.From.IsZero() {
			from := clock(f.From.Time, zone)
			view.From = &from
			if !f.To.IsZero() && f.To.After(f.From.Time) && clock(f.To.Time, zone).Text != from.Text {
				to := clock(f.To.Time, zone)
				view.To = &to
			}
		}
		for _, e := range f.Evidence {
			text := plural(e.Count, strings.TrimSuffix(e.Kind, "s"), e.Kind)
			if e.Source != "" {
				text += " in " + e.Source
			}
			view.Evidence = append(view.Evidence, text)
		}
		views = append(views, view)
	}
	return views
}

// ruleGroups lists the rules by their state, and counts them beside the findings, of
// which one rule may make several.
func ruleGroups(r *analysis.Report) (string, []RuleGroup) {
	groups := []RuleGroup{{State: "fired", Icon: "▲"}, {State: "clear", Icon: "✓"}, {State: "not evaluable", Icon: "–"}}
	for _, rule := range r.Rules {
		group := slices.Index([]string{analysis.RuleFired, analysis.RuleClear, analysis.RuleNotEvaluable}, rule.State)
		if group < 0 {
			continue
		}
		view := RuleView{Code: rule.Code}
		if rule.Why != "" {
			view.Why = word(whyWords, rule.Why)
		}
		groups[group].Rules = append(groups[group].Rules, view)
	}
	counts := plural(len(r.Findings), "finding", "findings") + " · " + plural(len(groups[1].Rules), "rule", "rules") + " clear · " + Count(len(groups[2].Rules)) + " not evaluable"
	return counts, slices.DeleteFunc(groups, func(g RuleGroup) bool { return len(g.Rules) == 0 })
}

func provenance(r *analysis.Report, zone *time.Location) []Fact {
	var facts []Fact
	for _, f := range []struct{ label, text string }{
		{"Judged by", r.Provenance.Binary}, {"Configuration", r.Provenance.ConfigSHA256},
		{"Rules", r.Provenance.RulesSHA256}, {"Inputs", r.Provenance.InputsSHA256},
	} {
		if f.text != "" {
			facts = append(facts, Fact{Label: f.label, Text: f.text, Code: true})
		}
	}
	if !r.Provenance.GeneratedAt.IsZero() {
		generated := dateClock(r.Provenance.GeneratedAt.Time, zone)
		facts = append(facts, Fact{Label: "Evidence read until", Stamp: &generated})
	}
	for _, change := range changeWords(r.Provenance.Changes, r.Claims) {
		facts = append(facts, Fact{Label: "Changed", Text: change})
	}
	return facts
}

// offline takes out what only a server can answer.
func offline(page DeployPage) DeployPage {
	page.StreamURL, page.ReportURL, page.BundleURL, page.path, page.ClaimForm, page.Previous = "", "", "", "", nil, ""
	page.Failures.AllURL = ""
	if page.Part != nil {
		part := *page.Part
		part.WholeURL, page.Part = "", &part
	}
	page.unlinkPhases()
	return page
}
