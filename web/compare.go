package web

import (
	"errors"
	"fmt"
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
	switch {
	case errors.Is(err, store.ErrFirst):
		return &failure{http.StatusNotFound, "Nothing to compare with", fmt.Sprintf("Deploy %q is the first of its service that is known here: there is none before it. To compare it with another one, name both: /compare?a=ID&b=ID.", b)}
	case errors.Is(err, store.ErrNotFound) && a == "":
		return notFound(fmt.Sprintf("There is no deploy %q.", b))
	case errors.Is(err, store.ErrNotFound):
		return notFound(fmt.Sprintf("Of the deploys %q and %q, one is not known.", a, b))
	}
	if err != nil {
		return err
	}
	page := views.NewComparePage(s.cfg.Judge(first), s.cfg.Judge(second), s.cfg.Zone)
	page.Shell = s.shell("Comparison", "deploys")
	return s.render(c, http.StatusOK, views.Compare(page))
}
