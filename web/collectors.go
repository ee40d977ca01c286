package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/store"
	"gapless/views"
)

// setAsideShown bounds the lines shown per source that were not understood.
const setAsideShown = 10

// collectors is the page of every source of evidence.
func (s *Server) collectors(c echo.Context) error {
	page, err := s.collectorsPage(c.Request().Context())
	if err != nil {
		return err
	}
	page.Shell = s.shell("Collectors", "collectors")
	return s.render(c, http.StatusOK, views.Collectors(page))
}

func (s *Server) collectorsStream(c echo.Context) error {
	return s.stream(c, source{"collectors", "", s.pace.list, s.cfg.Store.Subscribe, func(ctx context.Context) (message, error) {
		page, err := s.collectorsPage(ctx)
		if err != nil {
			return message{}, err
		}
		body, err := markup(ctx, views.CollectorsLive(page))
		return message{event: "collectors", data: body}, err
	}})
}

func (s *Server) collectorsPage(ctx context.Context) (views.CollectorsPage, error) {
	statuses, err := s.cfg.Store.Collectors(ctx)
	if err != nil {
		return views.CollectorsPage{}, err
	}
	rows := make([]views.CollectorStatus, len(statuses))
	for i := range statuses {
		if rows[i], err = s.collectorStatus(ctx, &statuses[i]); err != nil {
			return views.CollectorsPage{}, err
		}
	}
	return views.NewCollectorsPage(rows, s.cfg.Now(), s.cfg.Zone), nil
}

// collectorStatus adds to a source the lines it could not understand, if there are any.
func (s *Server) collectorStatus(ctx context.Context, c *store.CollectorStatus) (views.CollectorStatus, error) {
	status := views.CollectorStatus{
		Service: c.Service, Source: c.Source, Kind: c.Kind, LastRun: c.LastRun, LastSuccess: c.LastSuccess,
		LastError: c.LastError, LastCode: c.LastCode, LastErrorAt: c.LastErrorAt, Rows: c.Rows, Objects: c.Objects,
		Lines: c.Lines, SetAside: c.SetAside, PartialObjects: c.PartialObjects, LastEvidence: c.LastEvidence, Holes: c.Holes,
	}
	if c.SetAside == 0 {
		return status, nil
	}
	lines, err := s.cfg.Store.SetAside(ctx, c.Service, c.Source, setAsideShown)
	if err != nil {
		return status, err
	}
	for _, line := range lines {
		status.SetAsideLines = append(status.SetAsideLines, views.SetAsideLine{Object: line.Object, Line: line.Line,
			Reason: line.Reason, Detail: line.Detail, Kind: line.Kind, Raw: string(line.Raw)})
	}
	return status, nil
}
