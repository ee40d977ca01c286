package web

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/views"
)

// span is the page of a stretch of time judged without a deploy.
func (s *Server) span(c echo.Context) error {
	from, err := time.Parse(time.RFC3339Nano, c.QueryParam("from"))
	if err != nil {
		return badRequest("from is not an RFC 3339 time.")
	}
	to, err := time.Parse(time.RFC3339Nano, c.QueryParam("to"))
	if err != nil {
		return badRequest("to is not an RFC 3339 time.")
	}
	if !to.After(from) || to.Sub(from) > maxSpan {
		return badRequest("The span must end after it begins, and be at most 31 days long.")
	}
	observations, err := s.cfg.Store.ObservationsBetween(c.Request().Context(), param(c, "service"), from, to, "")
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, views.Deploy(s.deployPage(observations)))
}

func spanURL(service string, from, to time.Time) string {
	query := url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}
	return "/services/" + url.PathEscape(service) + "/span?" + query.Encode()
}
