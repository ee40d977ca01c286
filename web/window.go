package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/views"
)

// partOf reads from and to from the address: none, which is the whole window, or both.
func partOf(c echo.Context) (part analysis.Part, err error) {
	if c.QueryParam("from") == "" && c.QueryParam("to") == "" {
		return part, nil
	}
	part.From, part.To, err = fromTo(c)
	return part, err
}

// fromTo reads the times from and to of the address.
func fromTo(c echo.Context) (from, to time.Time, err error) {
	if from, err = time.Parse(time.RFC3339Nano, c.QueryParam("from")); err != nil {
		return from, to, badRequest(fmt.Sprintf("from %q %s.", c.QueryParam("from"), analysis.NoTime))
	}
	if to, err = time.Parse(time.RFC3339Nano, c.QueryParam("to")); err != nil {
		return from, to, badRequest(fmt.Sprintf("to %q %s.", c.QueryParam("to"), analysis.NoTime))
	}
	if !to.After(from) || to.Sub(from) > maxSpan {
		return from, to, badRequest("The span must end after it begins, and be at most 31 days long.")
	}
	return from, to, nil
}

// window reads the evidence of a deploy's window, and notes which part of it the
// report is to be about. A part that reaches beyond the window is refused.
func (s *Server) window(ctx context.Context, id string, part analysis.Part) (analysis.Observations, error) {
	observations, err := s.cfg.Store.Observations(ctx, id)
	if err != nil {
		return observations, ofDeploy(err, id)
	}
	return within(observations, part)
}

// within notes which part of a window the report is to be about.
func within(observations analysis.Observations, part analysis.Part) (analysis.Observations, error) {
	if part.IsZero() {
		return observations, nil
	}
	if part.From.Before(observations.From) || part.To.After(observations.To) {
		return observations, badRequest(fmt.Sprintf("The span must lie in the deploy's window, from %s to %s.",
			observations.From.UTC().Format(time.RFC3339Nano), observations.To.UTC().Format(time.RFC3339Nano)))
	}
	observations.Part = part
	return observations, nil
}

// tableFile is a table of a deploy as a CSV file: GET /deploys/{id}/phases.csv.
func (s *Server) tableFile(table string) echo.HandlerFunc {
	return func(c echo.Context) error {
		part, err := partOf(c)
		if err != nil {
			return err
		}
		observations, err := s.window(c.Request().Context(), param(c, "id"), part)
		if err != nil {
			return err
		}
		return s.sendTable(c, observations, table)
	}
}

// spanTableFile is the same for a span that is judged without a deploy.
func (s *Server) spanTableFile(table string) echo.HandlerFunc {
	return func(c echo.Context) error {
		from, to, err := fromTo(c)
		if err != nil {
			return err
		}
		observations, err := s.cfg.Store.ObservationsBetween(c.Request().Context(), param(c, "service"), from, to, "")
		if err != nil {
			return err
		}
		return s.sendTable(c, observations, table)
	}
}

func (s *Server) sendTable(c echo.Context, observations analysis.Observations, table string) error {
	report := s.cfg.Judge(observations)
	file, ok := views.CSV(&report, table)
	if !ok {
		return notFound("There is no such table.")
	}
	name := observations.Deploy.ID
	if name == "" {
		name = observations.Service.Name
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, "attachment; filename*=UTF-8''"+url.PathEscape(name+"-"+table+".csv"))
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8; header=present", file)
}
