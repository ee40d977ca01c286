package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
	"gapless/views"
)

// listed bounds the deploys on one page.
const listed = 100

// deploys is the list of deploys.
func (s *Server) deploys(c echo.Context) error {
	page, err := s.deploysPage(c.Request().Context(), c.QueryParam("service"))
	if err != nil {
		return err
	}
	page.Shell = s.shell("Deploys", "deploys")
	return s.render(c, http.StatusOK, views.Deploys(page))
}

func (s *Server) deploysStream(c echo.Context) error {
	service := c.QueryParam("service")
	return s.stream(c, source{"deploys " + service, service, s.pace.list, s.cfg.Store.Subscribe, func(ctx context.Context) (message, error) {
		page, err := s.deploysPage(ctx, service)
		if err != nil {
			return message{}, err
		}
		body, err := markup(ctx, views.DeploysLive(page))
		return message{event: "deploys", data: body}, err
	}})
}

func (s *Server) deploysPage(ctx context.Context, service string) (views.DeploysPage, error) {
	list, err := s.cfg.Store.DeployList(ctx, service, listed)
	if err != nil {
		return views.DeploysPage{}, err
	}
	page := views.NewDeploysPage(summaryViews(list.Deploys), list.Services, service, listed, s.cfg.Zone)
	page.Retrospectives = s.cfg.Collect != nil
	return page, nil
}

func summaryViews(summaries []store.DeploySummary) []views.DeploySummary {
	rows := make([]views.DeploySummary, len(summaries))
	for i := range summaries {
		rows[i] = summaryView(&summaries[i])
	}
	return rows
}

func summaryView(d *store.DeploySummary) views.DeploySummary {
	return views.DeploySummary{
		Deploy: d.Deploy, From: d.From, To: d.To, State: d.State, Revision: d.Revision, Verdict: d.Verdict,
		UserRequests: d.UserRequests, UserFailures: d.UserFailures,
		ProbeRequests: d.ProbeRequests, ProbeFailures: d.ProbeFailures, Findings: d.Findings, First: d.First,
	}
}

func names(services []analysis.Service) []string {
	names := make([]string, len(services))
	for i := range services {
		names[i] = services[i].Name
	}
	return names
}
