package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
	"gapless/views"
)

// deploy is the page of one deploy.
func (s *Server) deploy(c echo.Context) error {
	part, err := partOf(c)
	if err != nil {
		return err
	}
	id := param(c, "id")
	observations, before, err := s.cfg.Store.ObservationsAndBefore(c.Request().Context(), id)
	if errors.Is(err, store.ErrNotFound) { // perhaps it was noticed first and announced later
		if into, err := s.cfg.Store.MergedInto(c.Request().Context(), id); err == nil {
			return c.Redirect(http.StatusMovedPermanently, "/deploys/"+url.PathEscape(into))
		}
	}
	if err != nil {
		return ofDeploy(err, id)
	}
	if observations, err = within(observations, part); err != nil {
		return err
	}
	page := s.deployPage(observations)
	if before == "" {
		page.Previous = ""
	}
	return s.render(c, http.StatusOK, views.Deploy(page))
}

func (s *Server) deployPage(observations analysis.Observations) views.DeployPage {
	page := views.NewDeployPage(observations, s.cfg.Judge(observations), s.cfg.Zone)
	page.Shell = s.shell(page.Service+" · "+page.Name, "deploys")
	if page.StreamURL != "" {
		page.Shell.Refresh = 5
	}
	return page
}

// deployStream sends the live region of the page whenever evidence of the service
// came in, and ends when the window is sealed.
func (s *Server) deployStream(c echo.Context) error {
	id := param(c, "id")
	part, err := partOf(c)
	if err != nil {
		return err
	}
	deploy, err := s.cfg.Store.Deploy(c.Request().Context(), id)
	if err != nil {
		return ofDeploy(err, id)
	}
	key := fmt.Sprintf("deploy %q %d %d", id, part.From.UnixMicro(), part.To.UnixMicro())
	return s.stream(c, source{key, deploy.Service, s.pace.judge, s.cfg.Store.Subscribe, func(ctx context.Context) (message, error) {
		observations, err := s.window(ctx, id, part)
		if err != nil {
			return message{}, err
		}
		page := s.deployPage(observations)
		body, err := markup(ctx, views.DeployLive(page))
		m := message{event: "deploy", data: body}
		if page.StreamURL == "" {
			m.last = "sealed"
		}
		return m, err
	}})
}
