package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/views"
)

// maxSpan bounds what one retrospective reads.
const maxSpan = 31 * 24 * time.Hour

// newRetrospective is the form.
func (s *Server) newRetrospective(c echo.Context) error {
	return s.retrospectiveForm(c, http.StatusOK, c.QueryParam("service"), "", "", "")
}

func (s *Server) retrospectiveForm(c echo.Context, status int, service, from, to, problem string) error {
	services, err := s.cfg.Store.Services(c.Request().Context())
	if err != nil {
		return err
	}
	page := views.NewRetrospectivePage(names(services), service, from, to, problem, s.cfg.Now(), s.cfg.Zone)
	page.Shell = s.shell("New retrospective", "retrospective")
	return s.render(c, status, views.Retrospective(page))
}

// startRetrospective takes the form and leads to the page of its progress.
func (s *Server) startRetrospective(c echo.Context) error {
	service, fromText, toText := c.FormValue("service"), c.FormValue("from"), c.FormValue("to")
	again := func(problem string) error {
		return s.retrospectiveForm(c, http.StatusUnprocessableEntity, service, fromText, toText, problem)
	}
	from, ok := s.formTime(fromText)
	to, ok2 := s.formTime(toText)
	switch {
	case !ok || !ok2:
		return again("From and to must be dates with a time.")
	case !to.After(from):
		return again("The span must end after it begins.")
	case to.Sub(from) > maxSpan:
		return again("The span is longer than 31 days.")
	case s.cfg.Collect == nil:
		return again("This console has no sources to read from.")
	}
	if _, err := s.cfg.Store.Service(c.Request().Context(), service); err != nil {
		return again("There is no such service.")
	}
	id, ok := s.read(service, from, to)
	if !ok {
		return again("A retrospective of this service is being read already.")
	}
	return c.Redirect(http.StatusSeeOther, "/retrospectives/"+id)
}

// formTime reads a date field, which browsers send with or without seconds.
func (s *Server) formTime(text string) (time.Time, bool) {
	for _, layout := range []string{views.FormLayout, "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, s.cfg.Zone); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// retrospective is the page of a reading; once it has one place to lead to, it does.
func (s *Server) retrospective(c echo.Context) error {
	reading, ok := s.readings.find(c.Param("id"))
	if !ok {
		return notFound("This retrospective is not known any more. What it read is kept: look among the deploys.")
	}
	state, _ := reading.state()
	page := views.NewReadingPage(state, s.cfg.Zone)
	if page.Goto != "" {
		return c.Redirect(http.StatusSeeOther, page.Goto)
	}
	page.Shell = s.shell("Retrospective of "+page.Service, "retrospective")
	if page.StreamURL != "" {
		page.Shell.Refresh = 2
	}
	return s.render(c, http.StatusOK, views.ReadingProgress(page))
}

func (s *Server) retrospectiveStream(c echo.Context) error {
	reading, ok := s.readings.find(c.Param("id"))
	if !ok {
		return notFound("This retrospective is not known any more.")
	}
	return s.stream(c, source{"reading " + c.Param("id"), "", 100 * time.Millisecond, reading.subscribe, func(ctx context.Context) (message, error) {
		state, _ := reading.state()
		page := views.NewReadingPage(state, s.cfg.Zone)
		body, err := markup(ctx, views.ReadingLive(page))
		m := message{event: "reading", data: body}
		if page.StreamURL == "" {
			m.last = "done"
		}
		return m, err
	}})
}
