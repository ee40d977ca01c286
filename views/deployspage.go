package views

import (
	"net/url"
	"strings"
	"time"

	"gapless/analysis"
)

// DeploySummary is one deploy as a list shows it. Counts are nil until a revision was saved.
type DeploySummary struct {
	analysis.Deploy
	From, To                                                 time.Time
	State                                                    analysis.WindowState
	Revision                                                 int
	Verdict                                                  analysis.VerdictState
	UserRequests, UserFailures, ProbeRequests, ProbeFailures *int
	Findings                                                 []string
	First                                                    bool // the service has no deploy before it
}

// DeploysPage lists deploys, newest first.
type DeploysPage struct {
	Shell     Shell
	Services  []ServiceLink
	Deploys   []DeployRow
	More      string
	StreamURL string
	// Retrospectives says whether the server can read what is over.
	Retrospectives bool
}

// OrRead is the other way to a first deploy, where there is one.
func (p DeploysPage) OrRead() string {
	if p.Retrospectives {
		return ", or read one that is over"
	}
	return ""
}

// ServiceLink filters the list by a service.
type ServiceLink struct {
	Name, URL string
	Current   bool
}

// DeployRow is one deploy in the list.
type DeployRow struct {
	Service, ID, URL    string
	CompareURL          string // with the deploy before it; empty where there is none
	Tone, Icon, Verdict string
	State               string // of the window, where it is not sealed
	Started             Stamp
	Took                string
	Version, By         string
	Users, Probes       LossView
	Findings            []string
}

// LossView is how many requests of a class failed.
type LossView struct {
	Requests, Failures string
	Bad, Measured      bool
}

// NewDeploysPage lists deploys; services are all there are, service the one that the
// list is for, empty for all of them.
func NewDeploysPage(deploys []DeploySummary, services []string, service string, limit int, zone *time.Location) DeploysPage {
	page := DeploysPage{StreamURL: "/stream"}
	if service != "" {
		page.StreamURL += "?service=" + url.QueryEscape(service)
	}
	page.Services = filterLinks(services, service, func(name string) string {
		if name == "" {
			return "/"
		}
		return serviceURL(name)
	})
	for i := range deploys {
		row := deployRow(&deploys[i], zone)
		if deploys[i].First { // nothing to compare it with
			row.CompareURL = ""
		}
		page.Deploys = append(page.Deploys, row)
	}
	if len(deploys) == limit {
		page.More = "Only the newest " + Count(limit) + " are listed."
	}
	return page
}

func deployRow(d *DeploySummary, zone *time.Location) DeployRow {
	row := DeployRow{Service: d.Service, ID: d.ID, URL: DeployURL(d.ID), CompareURL: CompareURL("", d.ID), Started: dateClock(d.StartedAt, zone), Took: "running", By: d.Actor, Findings: d.Findings}
	row.Tone, row.Icon = tone(d.Verdict)
	row.Verdict = word(verdictWords, d.Verdict)
	if d.State != analysis.WindowSealed {
		row.State = word(windowWords, d.State)
	}
	switch {
	case d.Noticed():
		row.Took = length(d.SeenUntil.Sub(d.StartedAt))
	case !d.ReportedAt.IsZero():
		row.Took = length(d.ReportedAt.Sub(d.StartedAt))
	}
	if row.By == "" {
		row.By = d.Source
	}
	before, after := shortVersion(d.VersionBefore), shortVersion(d.VersionAfter)
	if before != "" || after != "" {
		row.Version = strings.TrimSpace(before + " → " + after)
	}
	row.Users, row.Probes = loss(d.UserRequests, d.UserFailures), loss(d.ProbeRequests, d.ProbeFailures)
	return row
}

func loss(requests, failures *int) LossView {
	if requests == nil || failures == nil {
		return LossView{Requests: Missing, Failures: Missing}
	}
	return LossView{Requests: Count(*requests), Failures: Count(*failures), Bad: *failures > 0, Measured: true}
}
