package views

import (
	"time"

	"gapless/analysis"
)

// ServiceOverview is a service with its newest deploys and its sources of evidence.
type ServiceOverview struct {
	Service    analysis.Service
	Deploys    []DeploySummary // newest first
	Collectors []CollectorStatus
}

// ServicesPage lists every service.
type ServicesPage struct {
	Shell     Shell
	Services  []ServiceCard
	StreamURL string
}

// ServiceCard is one service.
type ServiceCard struct {
	Name, DeploysURL, ClaimsURL string
	Marks                       []ClaimMark // the verdicts of its newest deploys, newest first
	Last                        *DeployRow
	Targets                     []TargetTag
	Sources                     Table
}

// TargetTag is a target by its name; the title is its address.
type TargetTag struct{ Name, Title string }

// maxTargetTags bounds the targets named of one service.
const maxTargetTags = 24

// NewServicesPage says how the services fare as of a moment.
func NewServicesPage(services []ServiceOverview, now time.Time, zone *time.Location) ServicesPage {
	page := ServicesPage{StreamURL: "/services/stream"}
	for i := range services {
		page.Services = append(page.Services, serviceCard(&services[i], now, zone))
	}
	return page
}

func serviceCard(s *ServiceOverview, now time.Time, zone *time.Location) ServiceCard {
	card := ServiceCard{Name: s.Service.Name, DeploysURL: serviceURL(s.Service.Name), ClaimsURL: claimsURL(s.Service.Name, "")}
	for i := range s.Deploys {
		row := deployRow(&s.Deploys[i], zone)
		if i == 0 {
			card.Last = &row
		}
		card.Marks = append(card.Marks, ClaimMark{Tone: row.Tone, Icon: row.Icon, State: row.Verdict, URL: row.URL,
			Title: s.Deploys[i].StartedAt.In(zone).Format("2006-01-02 15:04") + ", deploy " + row.ID + ": " + row.Verdict})
	}
	for i, target := range s.Service.Targets {
		if i == maxTargetTags {
			card.Targets = append(card.Targets, TargetTag{Name: "and " + Count(len(s.Service.Targets)-i) + " more"})
			break
		}
		card.Targets = append(card.Targets, TargetTag{target.Name, target.Address})
	}
	card.Sources = Table{Caption: "Sources of " + s.Service.Name, Columns: []Cell{left("source"), left("kind"), left("state"), left("newest evidence"), right("behind by")},
		Empty: "No source of this service has run yet."}
	for i := range s.Collectors {
		view := collectorView(&s.Collectors[i], now, zone)
		state := Cell{Text: view.Icon + " " + view.State, Class: "l nw s-" + view.Class}
		card.Sources.Rows = append(card.Sources.Rows, Row{Cells: []Cell{left(view.Source), left(view.Kind), state, at(view.Evidence), {Text: view.Lag, Class: "n", Title: view.LagTitle}}})
	}
	return card
}
