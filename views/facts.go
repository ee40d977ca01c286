package views

import (
	"net/url"
	"strings"
	"time"

	"gapless/analysis"
)

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
	var parts []string
	for i, span := range r.SingleTarget {
		if i == 4 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, Seconds(span.Seconds))
	}
	text := strings.Join(parts, " + ")
	if text == "" {
		text = "never"
	}
	if len(r.ZeroTargets) > 0 {
		text += "; none at all for " + Seconds(spanSeconds(r.ZeroTargets))
	}
	return text
}

func spanSeconds(spans []analysis.TargetGroupSpan) float64 {
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
