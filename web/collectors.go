package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/store"
	"gapless/views"
)

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
	rows := collectorViews(statuses)
	for i := range rows {
		rows[i].Ended = s.cfg.Ended != nil && s.cfg.Ended(rows[i].Service)
	}
	return views.NewCollectorsPage(rows, s.cfg.Now(), s.cfg.Zone), nil
}

func collectorViews(statuses []store.CollectorStatus) []views.CollectorStatus {
	rows := make([]views.CollectorStatus, len(statuses))
	for i := range statuses {
		rows[i] = collectorView(&statuses[i])
	}
	return rows
}

func collectorView(c *store.CollectorStatus) views.CollectorStatus {
	status := views.CollectorStatus{
		Service: c.Service, Source: c.Source, Kind: c.Kind, LastRun: c.LastRun, LastSuccess: c.LastSuccess,
		LastError: c.LastError, LastCode: c.LastCode, LastErrorAt: c.LastErrorAt, Rows: c.Rows, Objects: c.Objects,
		Lines: c.Lines, SetAside: c.SetAside, PartialObjects: c.PartialObjects, LastEvidence: c.LastEvidence, Holes: c.Holes,
		Waiting: c.Waiting, Dropped: c.Dropped,
	}
	for _, line := range c.LastSetAside {
		status.SetAsideLines = append(status.SetAsideLines, views.SetAsideLine{Object: line.Object, Line: line.Line,
			Reason: line.Reason, Detail: line.Detail, Kind: line.Kind, Raw: string(line.Raw)})
	}
	return status
}
