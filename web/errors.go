package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"gapless/store"
	"gapless/views"
)

// failure is an error whose words are meant for people.
type failure struct {
	status int
	title  string
	detail string
}

func (f *failure) Error() string { return f.title + ": " + f.detail }

func badRequest(detail string) error {
	return &failure{http.StatusBadRequest, "Bad request", detail}
}

func notFound(detail string) error { return &failure{http.StatusNotFound, "Not found", detail} }

// ofDeploy words that a deploy is not known with its id.
func ofDeploy(err error, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return notFound(fmt.Sprintf("There is no deploy %q here.", id))
	}
	return err
}

// moved leads from the address of a deploy that was noticed to that of the announced
// one that it became, with the method and the body of the call.
func (s *Server) moved(handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := handler(c)
		if err == nil || failureOf(err).status != http.StatusNotFound {
			return err
		}
		into, unknown := s.cfg.Store.MergedInto(c.Request().Context(), param(c, "id"))
		if unknown != nil {
			return err
		}
		address := url.URL{RawQuery: c.Request().URL.RawQuery}
		return c.Redirect(http.StatusPermanentRedirect, strings.Replace(c.Path(), ":id", url.PathEscape(into), 1)+address.String())
	}
}

// Problem is a problem document (RFC 9457).
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail,omitempty"`
	RequestID string `json:"request_id,omitempty"`
}

// failureOf gives any error the words it may show. Whatever is not known is an
// internal error, whose detail stands in the log only.
func failureOf(err error) *failure {
	var known *failure
	var fromEcho *echo.HTTPError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &tooLarge):
		return &failure{http.StatusRequestEntityTooLarge, "Body too large", "The body is larger than this call takes."}
	case errors.Is(err, store.ErrNotFound):
		return &failure{http.StatusNotFound, "Not found", "There is nothing by that name here."}
	case errors.Is(err, store.ErrConflict):
		return &failure{http.StatusConflict, "Conflict", "A deploy of another service has that id."}
	case errors.As(err, &fromEcho):
		switch fromEcho.Code {
		case http.StatusNotFound:
			return &failure{http.StatusNotFound, "Not found", "There is no page at this address."}
		case http.StatusMethodNotAllowed:
			return &failure{http.StatusMethodNotAllowed, "Method not allowed", "This address does not take that method."}
		}
	}
	return &failure{http.StatusInternalServerError, "Internal error", "Something failed that should not have. Try again; if it stays so, tell whoever runs this server the request id."}
}

// handleError is the one place where an error becomes an answer.
func (s *Server) handleError(err error, c echo.Context) {
	f := failureOf(err)
	id := requestIDOf(c)
	if f.status >= http.StatusInternalServerError && c.Request().Context().Err() == nil {
		s.cfg.Log.Error("request failed", "method", c.Request().Method, "path", c.Request().URL.Path, "request_id", id, "error", err)
	}
	if c.Response().Committed {
		return
	}
	if wantsProblem(c.Request()) {
		s.problem(c, f, id)
		return
	}
	page := views.NewErrorPage(f.status, f.title, f.detail, id)
	page.Shell = s.shell(f.title, "")
	if err := s.render(c, f.status, views.Error(page)); err != nil {
		s.problem(c, f, id)
	}
}

func (s *Server) problem(c echo.Context, f *failure, id string) {
	body, err := json.Marshal(Problem{Type: "about:blank", Title: f.title, Status: f.status, Detail: f.detail, RequestID: id})
	if err == nil {
		err = c.Blob(f.status, "application/problem+json", body)
	}
	if err != nil {
		s.cfg.Log.Warn("answer with a problem document", "request_id", id, "error", err)
	}
}

// wantsProblem says whether an error is for a program rather than for a reader.
func wantsProblem(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/openapi.json" || r.URL.Path == "/metrics" {
		return true
	}
	accept := r.Header.Get("Accept")
	return (strings.Contains(accept, "json") || strings.Contains(accept, "text/event-stream")) && !strings.Contains(accept, "text/html")
}
