package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/views"
)

// span is the page of a stretch of time judged without a deploy.
func (s *Server) span(c echo.Context) error {
	from, to, err := fromTo(c)
	if err != nil {
		return err
	}
	observations, err := s.cfg.Store.ObservationsBetween(c.Request().Context(), param(c, "service"), from, to, "")
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Deploy(s.deployPage(observations)))
}
