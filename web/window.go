package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/views"
)

// part is a stretch of a deploy's window; the zero value is the whole of it.
type part struct{ from, to time.Time }

func (p part) whole() bool { return p.from.IsZero() && p.to.IsZero() }

// partOf reads from and to from the address: none, or both.
func partOf(c echo.Context) (p part, err error) {
	if c.QueryParam("from") == "" && c.QueryParam("to") == "" {
		return p, nil
	}
	p.from, p.to, err = fromTo(c)
	return p, err
}

// fromTo reads the times from and to of the address.
func fromTo(c echo.Context) (from, to time.Time, err error) {
	if from, err = time.Parse(time.RFC3339Nano, c.QueryParam("from")); err != nil {
		return from, to, badRequest("from is not an RFC 3339 time.")
	}
	if to, err = time.Parse(time.RFC3339Nano, c.QueryParam("to")); err != nil {
		return from, to, badRequest("to is not an RFC 3339 time.")
	}
	if !to.After(from) || to.Sub(from) > maxSpan {
		return from, to, badRequest("The span must end after it begins, and be at most 31 days long.")
	}
	return from, to, nil
}

// window reads the evidence of a deploy's window, or of a part of it. A part that
// reaches beyond the window is refused: it would be judged by other evidence than the
// deploy.
func (s *Server) window(ctx context.Context, id string, p part) (analysis.Observations, error) {
	if p.whole() {
		return s.cfg.Store.Observations(ctx, id)
	}
	observations, err := s.cfg.Store.ObservationsBetween(ctx, "", p.from, p.to, id)
	if err != nil {
		return observations, err
	}
	from, to := analysis.WindowOf(observations.Deploy, observations.Service.Window)
	if p.from.Before(from) || p.to.After(to) {
		return observations, badRequest("The span must lie in the deploy's window, from " + from.UTC().Format(time.RFC3339Nano) + " to " + to.UTC().Format(time.RFC3339Nano) + ".")
	}
	return observations, nil
}

// tableFile is a table of a deploy as a CSV file: GET /deploys/{id}/phases.csv.
func (s *Server) tableFile(table string) echo.HandlerFunc {
	return func(c echo.Context) error {
		p, err := partOf(c)
		if err != nil {
			return err
		}
		observations, err := s.window(c.Request().Context(), param(c, "id"), p)
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
