package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/store"
	"gapless/views"
)

// compare is the page of two deploys side by side: b, and a or the one before b.
func (s *Server) compare(c echo.Context) error {
	a, b := c.QueryParam("a"), c.QueryParam("b")
	if b == "" {
		return badRequest("The address must name the deploys: /compare?a=ID&b=ID. Without a, b is compared with the deploy before it.")
	}
	first, second, err := s.cfg.Store.ObservationsOfTwo(c.Request().Context(), a, b)
	if errors.Is(err, store.ErrNotFound) {
		if a == "" {
			return notFound("There is no such deploy, or none of its service before it.")
		}
		return notFound("One of the two deploys is not known.")
	}
	if err != nil {
		return err
	}
	page := views.NewComparePage(s.cfg.Judge(first), s.cfg.Judge(second), s.cfg.Zone)
	page.Shell = s.shell("Comparison", "deploys")
	return s.render(c, http.StatusOK, views.Compare(page))
}
