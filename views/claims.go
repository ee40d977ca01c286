package views

import (
	"net/url"
	"strings"
	"time"

	"gapless/analysis"
)

// typedText is what a typed claim says where nobody put it into words.
func typedText(c analysis.Claim) string {
	text := "No " + classNoun(string(c.Scope.Traffic)) + " request failed"
	if c.Scope.Traffic == analysis.ClassHealth {
		text = "No health sample failed"
	}
	if c.Typed.Caused {
		return text + " because of the deploy."
	}
	return text + "."
}

// typedNote says what a typed claim is taken to say, by whom and when it was typed.
func typedNote(c analysis.Claim, zone *time.Location) string {
	parts := []string{"typed"}
	if c.Typed.By != nil {
		parts[0] += " by " + *c.Typed.By
	}
	if !c.RegisteredAt.IsZero() {
		parts[0] += " on " + c.RegisteredAt.In(zone).Format("2006-01-02 15:04")
	}
	parts = append(parts, aboutWords(c.Scope.Traffic, c.Typed.Caused))
	if c.Typed.Basis != nil {
		parts = append(parts, "rests on "+classMany(*c.Typed.Basis))
	}
	parts = append(parts, c.Scope.From.In(zone).Format("15:04:05")+"–"+c.Scope.To.In(zone).Format("15:04:05"))
	if c.Typed.Deploy == nil {
		parts[len(parts)-1] += " of a longer time"
	}
	return strings.Join(parts, " · ")
}

func aboutWords(class analysis.Class, caused bool) string {
	if caused {
		return "about " + classMany(class) + ", because of the deploy"
	}
	return "about " + classMany(class) + ", literally"
}

func classMany(class analysis.Class) string {
	if words, ok := classWords[class]; ok {
		return words.many
	}
	return string(class) + " requests"
}

// healthSampleClaim words the finding about a claim that rests on health samples.
func healthSampleClaim(v values) (sentence, remedy string) {
	var b strings.Builder
	if text := v.text("text"); text != "" {
		b.WriteString("“" + text + "”")
	} else {
		b.WriteString("A typed claim")
	}
	b.WriteString(" is about users and rests on health samples")
	if told, ok := v.get("told").(bool); ok && !told {
		b.WriteString(", since nothing else was measured")
	}
	b.WriteString(".")
	if n, ok := v.count("health_requests"); ok {
		b.WriteString(" " + requests(n, analysis.ClassHealth) + ", of which " + failedOf(v, "health_failures") + ", say nothing about ")
	} else {
		b.WriteString(" They say nothing about ")
	}
	n, ok := v.count("user_requests")
	if ok {
		b.WriteString(requests(n, analysis.ClassUser) + ", of which " + failedOf(v, "user_failures") + ".")
	} else {
		b.WriteString("user requests, which were not measured.")
	}
	needs := map[string]string{
		"access_log": "read the access log that counts users over that time", "whole_access_log": "get the access log whole over that time",
		"probes": "let business probes run, checked to the body",
	}
	var todo []string
	for _, need := range v.list("needs") {
		if words, ok := needs[need]; ok {
			todo = append(todo, words)
		}
	}
	if len(todo) == 0 {
		return b.String(), "Go by what was measured of users themselves: the log that counts them was whole, and the claim is judged by it."
	}
	return b.String(), "To say it of users, " + list(todo) + "."
}

func failedOf(v values, key string) string {
	n, ok := v.count(key)
	switch {
	case !ok:
		return "an unknown number failed"
	case n == 0:
		return "none failed"
	}
	return Count(n) + " failed"
}

// ClaimForm asks for a claim.
type ClaimForm struct {
	Services []string // to choose from, where no deploy is named
	Service  string
	Deploy   string
	ZoneName string
	Problem  string

	Text, By, About, Says, Basis, Of, From, To string
	Abouts, Sayings, Bases, Ofs                []Option
}

// Option is one choice of a form.
type Option struct {
	Value, Text string
	Selected    bool
}

// Complete fills in the choices of a form, the first of each where none was made.
func (f ClaimForm) Complete(zone *time.Location) ClaimForm {
	f.ZoneName = zone.String()
	choose := func(chosen string, options ...Option) []Option {
		for i := range options {
			options[i].Selected = options[i].Value == chosen
		}
		return options
	}
	f.Abouts = choose(f.About, Option{Value: "user", Text: "users"}, Option{Value: "probe", Text: "business probes"}, Option{Value: "health", Text: "health samples"})
	f.Sayings = choose(f.Says, Option{Value: "caused", Text: "no request failed because of the deploy"}, Option{Value: "literal", Text: "no request failed at all"})
	f.Bases = choose(f.Basis, Option{Value: "", Text: "it does not say"}, Option{Value: "health", Text: "health samples"})
	f.Ofs = choose(f.Of, Option{Value: "deploy", Text: "this deploy"}, Option{Value: "span", Text: "every deploy from … to …"})
	return f
}

// ClaimFormPage is a page of its own for the form.
type ClaimFormPage struct {
	Shell Shell
	Form  ClaimForm
}

// ClaimOutcome is what the latest revision of a deploy says of its claims.
type ClaimOutcome struct {
	Deploy, Service string
	StartedAt       time.Time
	Claims          []ClaimState
}

// ClaimState is what became of one claim.
type ClaimState struct {
	ID     string
	State  analysis.VerdictState
	Reason string
}

// ClaimsPage is the register of claims.
type ClaimsPage struct {
	Shell    Shell
	Services []ServiceLink
	States   []ServiceLink
	Groups   []ClaimGroup
	More     string
	Empty    string
}

// ClaimGroup is the claims of one service.
type ClaimGroup struct {
	Service, URL string
	NewURL       string // of the form
	Claims       []ClaimRow
}

// ClaimRow is one claim and what became of it, newest deploy first.
type ClaimRow struct {
	Text, Note string
	Typed      bool
	Now        *ClaimMark // nil: judged nowhere yet
	Counts     string
	Marks      []ClaimMark
	SpanURL    string // of the time that it is about, judged as a whole
}

// ClaimMark is a claim's state in one deploy.
type ClaimMark struct{ Tone, Icon, State, Title, URL string }

// builtIn are the claims that every deploy is judged by, in the order of the report.
var builtIn = []string{analysis.ClaimNoUserFailureCaused, analysis.ClaimNoUserFailure, analysis.ClaimNoProbeFailureCaused,
	analysis.ClaimNoProbeFailure, analysis.ClaimAlwaysOneTarget, analysis.ClaimEjectedBeforeStop}

// maxMarks bounds the deploys shown of one claim.
const maxMarks = 30

// NewClaimsPage lists every claim of every service, built-in and typed, with its state
// per deploy. A service and a state narrow it: of a state, only the deploys in which a
// claim was in it are shown, and claims that never were are left out. deploys come
// newest first, at most limit were read.
func NewClaimsPage(services []string, typed []analysis.TypedClaim, deploys []ClaimOutcome, service string, state analysis.VerdictState, limit int, zone *time.Location) ClaimsPage {
	page := ClaimsPage{Empty: "No claim has been judged yet: a deploy's claims come here when its window is sealed."}
	if state != "" {
		page.Empty = "No claim was " + string(state) + " in any deploy."
	}
	page.Services = filterLinks(services, service, func(name string) string { return claimsURL(name, state) })
	page.States = append(page.States, ServiceLink{Name: "any state", URL: claimsURL(service, ""), Current: state == ""})
	for _, each := range []analysis.VerdictState{analysis.Disproved, analysis.Inconclusive, analysis.Untested, analysis.Supported} {
		page.States = append(page.States, ServiceLink{Name: string(each), URL: claimsURL(service, each), Current: state == each})
	}
	for _, name := range services {
		if service != "" && name != service {
			continue
		}
		group := ClaimGroup{Service: name, URL: serviceURL(name), NewURL: "/claims/new?" + url.Values{"service": {name}}.Encode()}
		for i := range typed {
			if typed[i].Service == name {
				row := typedRow(&typed[i], zone)
				row.outcomes(typed[i].ID, name, deploys, state, zone)
				group.keep(row, state)
			}
		}
		for _, id := range builtIn {
			row := ClaimRow{Text: claimText(id)}
			row.outcomes(id, name, deploys, state, zone)
			if row.Now != nil {
				group.keep(row, state)
			}
		}
		if len(group.Claims) > 0 {
			page.Groups = append(page.Groups, group)
		}
	}
	if len(deploys) == limit {
		page.More = "What became of claims is shown for the newest " + Count(limit) + " deploys."
	}
	return page
}

func claimsURL(service string, state analysis.VerdictState) string {
	query := url.Values{}
	if service != "" {
		query.Set("service", service)
	}
	if state != "" {
		query.Set("state", string(state))
	}
	if len(query) == 0 {
		return "/claims"
	}
	return "/claims?" + query.Encode()
}

// filterLinks offers all services and each of them, where there is more than one.
func filterLinks(services []string, current string, address func(string) string) []ServiceLink {
	if len(services) < 2 {
		return nil
	}
	links := []ServiceLink{{Name: "all services", URL: address(""), Current: current == ""}}
	for _, name := range services {
		links = append(links, ServiceLink{Name: name, URL: address(name), Current: name == current})
	}
	return links
}

func (g *ClaimGroup) keep(row ClaimRow, state analysis.VerdictState) {
	if state == "" || len(row.Marks) > 0 {
		g.Claims = append(g.Claims, row)
	}
}

func typedRow(t *analysis.TypedClaim, zone *time.Location) ClaimRow {
	c := analysis.Claim{Text: t.Text, Scope: analysis.Scope{Traffic: t.About}, Typed: &analysis.Typed{Caused: t.Caused}}
	row := ClaimRow{Typed: true, Text: typedText(c)}
	if t.Text != "" {
		row.Text = "“" + t.Text + "”"
	}
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	by := "typed"
	if t.By != "" {
		by += " by " + t.By
	}
	note(by + " on " + t.RegisteredAt.In(zone).Format("2006-01-02 15:04"))
	note(aboutWords(t.About, t.Caused))
	if t.Basis != "" {
		note("rests on " + classMany(t.Basis))
	}
	if t.Deploy != "" {
		note("of deploy " + t.Deploy)
	} else {
		row.SpanURL = SpanURL(t.Service, t.From, t.To)
	}
	if !t.From.IsZero() || !t.To.IsZero() {
		moment := func(at time.Time, none string) string {
			if at.IsZero() {
				return none
			}
			return at.In(zone).Format("2006-01-02 15:04:05")
		}
		note("from " + moment(t.From, "its start") + " to " + moment(t.To, "the end of its window"))
	}
	row.Note = strings.Join(notes, " · ")
	return row
}

// outcomes fills in what became of a claim, newest first.
func (row *ClaimRow) outcomes(id, service string, deploys []ClaimOutcome, state analysis.VerdictState, zone *time.Location) {
	counts := map[analysis.VerdictState]int{}
	for i := range deploys {
		d := &deploys[i]
		if d.Service != service {
			continue
		}
		for _, c := range d.Claims {
			if c.ID != id {
				continue
			}
			mark := ClaimMark{URL: DeployURL(d.Deploy), State: strings.ToLower(word(verdictWords, c.State))}
			mark.Tone, mark.Icon = tone(c.State)
			mark.Title = d.StartedAt.In(zone).Format("2006-01-02 15:04") + ", deploy " + d.Deploy + ": " + mark.State
			if c.Reason != "" {
				mark.Title += ", " + word(reasonWords, c.Reason)
			}
			if row.Now == nil {
				row.Now = &mark
			}
			counts[c.State]++
			if (state == "" || c.State == state) && len(row.Marks) < maxMarks {
				row.Marks = append(row.Marks, mark)
			}
		}
	}
	var parts []string
	for _, each := range []analysis.VerdictState{analysis.Supported, analysis.Disproved, analysis.Inconclusive, analysis.Untested} {
		if counts[each] > 0 {
			parts = append(parts, Count(counts[each])+" "+string(each))
		}
	}
	row.Counts = strings.Join(parts, " · ")
}
