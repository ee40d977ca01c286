package views

import (
	"strings"
	"time"
)

// RetrospectivePage asks for a service and a span to read afterwards.
type RetrospectivePage struct {
	Shell             Shell
	Services          []string
	Service, From, To string // as typed
	Problem           string // why it was not started
	ZoneName          string
}

// FormLayout is how the form's date fields hold a moment, in the configured zone.
const FormLayout = "2006-01-02T15:04:05"

// NewRetrospectivePage offers the hour before now, unless something was typed.
func NewRetrospectivePage(services []string, service, from, to, problem string, now time.Time, zone *time.Location) RetrospectivePage {
	page := RetrospectivePage{Services: services, Service: service, From: from, To: to, Problem: problem, ZoneName: zone.String()}
	if from == "" && problem == "" {
		page.From = now.Add(-time.Hour).In(zone).Format("2006-01-02T15:04") + ":00"
	}
	if to == "" && problem == "" {
		page.To = now.In(zone).Format("2006-01-02T15:04") + ":00"
	}
	if page.Service == "" && len(services) > 0 {
		page.Service = services[0]
	}
	return page
}

// ReadingPage shows how far the reading of a retrospective is.
type ReadingPage struct {
	Shell     Shell
	Service   string
	From, To  Stamp
	Stages    []StageView
	State     string   // reading, done, failed
	Problems  []string // what could not be read, one after another
	Results   []ResultLink
	Goto      string // where to go on by itself, once done
	StreamURL string
}

// StageView is how far one source has been read; Total is 0 where it is not known.
type StageView struct {
	Name        string
	Done, Total int
	Text        string
	Percent     string // 0 to 100, empty where unknown
}

// ResultLink leads to a page with a verdict.
type ResultLink struct{ Text, URL string }

// Stage is the progress of one source, in the order in which they were begun.
type Stage struct {
	Name        string
	Done, Total int
}

// Reading is the state of a retrospective that is being read.
type Reading struct {
	ID, Service string
	From, To    time.Time
	Stages      []Stage
	Finished    bool
	Problem     string // why it could not be read whole; empty when it could
	Deploys     []string
	SpanURL     string // the span judged without a deploy
}

// NewReadingPage shows a reading; it leads on by itself where there is one place to go.
func NewReadingPage(reading Reading, zone *time.Location) ReadingPage {
	page := ReadingPage{Service: reading.Service, From: dateClock(reading.From, zone), To: dateClock(reading.To, zone),
		State: "reading", StreamURL: "/retrospectives/" + reading.ID + "/stream"}
	for i, stage := range reading.Stages {
		view := StageView{Name: stage.Name, Done: stage.Done, Total: stage.Total, Text: "read"}
		if !reading.Finished && i == len(reading.Stages)-1 {
			view.Text = "being read"
		}
		if stage.Total > 0 {
			view.Text = Count(stage.Done) + " of " + plural(stage.Total, "object", "objects")
			view.Percent = coordinate(min(float64(stage.Done)/float64(stage.Total)*100, 100))
		}
		page.Stages = append(page.Stages, view)
	}
	if !reading.Finished {
		return page
	}
	page.State, page.StreamURL = "done", ""
	if reading.Problem != "" {
		page.State, page.Problems = "failed", strings.Split(reading.Problem, "\n")
	}
	for _, id := range reading.Deploys {
		page.Results = append(page.Results, ResultLink{Text: "Deploy " + id, URL: DeployURL(id)})
	}
	if len(page.Results) == 0 && reading.SpanURL != "" {
		page.Results = []ResultLink{{Text: "The span, without a deploy", URL: reading.SpanURL}}
	}
	if len(page.Problems) == 0 && len(page.Results) == 1 {
		page.Goto = page.Results[0].URL
	}
	return page
}
