package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/views"
)

// apiReport judges a deploy, or with from and to a part of its window, and tells the
// report.
func (s *Server) apiReport(c echo.Context) error {
	part, err := partOf(c)
	if err != nil {
		return err
	}
	observations, err := s.window(c.Request().Context(), param(c, "id"), part)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, s.report(observations))
}

func (s *Server) report(observations analysis.Observations) analysis.Report {
	report := s.cfg.Judge(observations)
	views.FillSentences(&report)
	return report
}

// apiEvents streams the report whenever evidence of the service came in: events
// "report", and "sealed" at the end.
func (s *Server) apiEvents(c echo.Context) error {
	id := param(c, "id")
	deploy, err := s.cfg.Store.Deploy(c.Request().Context(), id)
	if err != nil {
		return ofDeploy(err, id)
	}
	return s.stream(c, source{fmt.Sprintf("report %q", id), deploy.Service, s.pace.judge, s.cfg.Store.Subscribe, func(ctx context.Context) (message, error) {
		observations, err := s.cfg.Store.Observations(ctx, id)
		if err != nil {
			return message{}, err
		}
		report := s.report(observations)
		body, err := json.Marshal(report)
		if err != nil {
			return message{}, fmt.Errorf("encode the report of %s: %w", id, err)
		}
		m := message{event: "report", data: body}
		report.Provenance.GeneratedAt = analysis.Time{} // a report is no news because it was made again
		if m.says, err = json.Marshal(report); err != nil {
			return message{}, fmt.Errorf("encode the report of %s: %w", id, err)
		}
		if report.Window.State == analysis.WindowSealed {
			m.last = "sealed"
		}
		return m, nil
	}})
}
