package views

import (
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
			chip.Title += ": " + ReasonWords(r, claim.Reason)
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
