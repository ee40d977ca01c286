package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
)

// deployJSON is a deploy as the API tells it.
type deployJSON struct {
	analysis.DeployReport
	Links struct {
		Page   string `json:"page"`
		Report string `json:"report"`
		Events string `json:"events"`
		Bundle string `json:"bundle"`
	} `json:"links"`
}

// summaryJSON is a deploy in a list, with what its latest saved report says.
type summaryJSON struct {
	deployJSON
	Window struct {
		From     analysis.Time        `json:"from"`
		To       analysis.Time        `json:"to"`
		State    analysis.WindowState `json:"state"`
		Revision int                  `json:"revision"`
	} `json:"window"`
	Verdict *analysis.VerdictState `json:"verdict"` // null until a report was saved
	Totals  struct {
		User  lossJSON `json:"user"`
		Probe lossJSON `json:"probe"`
	} `json:"totals"`
	Findings []string `json:"findings"`
}

// lossJSON counts a class; null is not measured.
type lossJSON struct {
	Requests *int `json:"requests"`
	Failures *int `json:"failures"`
}

// apiDeploys lists deploys, newest first.
func (s *Server) apiDeploys(c echo.Context) error {
	limit := listed
	if text := c.QueryParam("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return badRequest(fmt.Sprintf("limit %q is not a number from 1 to 1000.", text))
		}
		limit = n
	}
	summaries, err := s.cfg.Store.Deploys(c.Request().Context(), c.QueryParam("service"), limit)
	if err != nil {
		return err
	}
	answer := struct {
		Deploys []summaryJSON `json:"deploys"`
	}{make([]summaryJSON, len(summaries))}
	for i := range summaries {
		answer.Deploys[i] = summaryOf(&summaries[i])
	}
	return writeJSON(c, http.StatusOK, answer)
}

func summaryOf(d *store.DeploySummary) summaryJSON {
	summary := summaryJSON{deployJSON: deployOf(d.Deploy), Findings: d.Findings}
	summary.Window.From, summary.Window.To = analysis.Time{Time: d.From}, analysis.Time{Time: d.To}
	summary.Window.State, summary.Window.Revision = d.State, d.Revision
	summary.Totals.User = lossJSON{d.UserRequests, d.UserFailures}
	summary.Totals.Probe = lossJSON{d.ProbeRequests, d.ProbeFailures}
	if d.Verdict != "" {
		summary.Verdict = &d.Verdict
	}
	return summary
}

func deployOf(d analysis.Deploy) deployJSON {
	known := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	told := deployJSON{DeployReport: analysis.DeployReport{
		ID: d.ID, Service: d.Service, Kind: d.Kind, VersionBefore: known(d.VersionBefore), VersionAfter: known(d.VersionAfter),
		RollbackOf: known(d.RollbackOf), Environment: known(d.Environment), Actor: known(d.Actor),
		StartedAt: analysis.Time{Time: d.StartedAt}, ReportedAt: analysis.Time{Time: d.ReportedAt},
		Result: known(d.Result), Source: d.Source, URL: known(d.URL),
	}}
	id := url.PathEscape(d.ID)
	told.Links.Page, told.Links.Report, told.Links.Events = "/deploys/"+id, "/api/v1/deploys/"+id+"/report", "/api/v1/deploys/"+id+"/events"
	told.Links.Bundle = "/api/v1/deploys/" + id + "/bundle"
	return told
}

// apiDeploy tells one deploy.
func (s *Server) apiDeploy(c echo.Context) error {
	id := param(c, "id")
	deploy, err := s.cfg.Store.Deploy(c.Request().Context(), id)
	if err != nil {
		return ofDeploy(err, id)
	}
	return writeJSON(c, http.StatusOK, deployOf(deploy))
}

func writeJSON(c echo.Context, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", c.Path(), err)
	}
	return c.Blob(status, "application/json", append(body, '\n'))
}
