package web

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
)

// startBody is a deploy as a pipeline announces it: with the fields of a deploy, or
// as a step of kind deploy.started.
type startBody struct {
	analysis.StepEvent
	ID string `json:"id"`
}

// storedJSON is the answer to a call that stores something. Told again, stored is false.
type storedJSON struct {
	ID     string `json:"id"`
	Stored bool   `json:"stored"`
	Page   string `json:"page"`
	// Warnings are about what was stored and yet may be a mistake.
	Warnings []string `json:"warnings,omitempty"`
}

// apiStartDeploy stores that a deploy began.
func (s *Server) apiStartDeploy(c echo.Context) error {
	body, err := bodyOf(c)
	if err != nil {
		return err
	}
	var told startBody
	if err := decode(body, &told, "a deploy"); err != nil {
		return err
	}
	event, err := s.startEvent(told)
	if err != nil {
		return badRequest(upper(err.Error()) + ".")
	}
	if err := s.knownService(c, event.Service); err != nil {
		return err
	}
	became, err := s.cfg.Store.Tell(c.Request().Context(), event.Service, []analysis.StepEvent{event})
	if err != nil {
		return conflict(err, event.Deploy)
	}
	return s.answerStored(c, event.Deploy, became, ignoredKeys(body, reflect.TypeFor[startBody]()))
}

// startEvent completes what may be left out: the time is then now, and the id is made
// from service and time.
func (s *Server) startEvent(told startBody) (analysis.StepEvent, error) {
	event := told.StepEvent
	if event.Kind != analysis.StepDeployStarted {
		if event.Kind != "" {
			event.DeployKind = analysis.DeployKind(event.Kind)
			if !slices.Contains(analysis.DeployKinds, event.DeployKind) {
				return event, fmt.Errorf("kind %q is none of rolling, blue_green, in_place, fault", event.Kind)
			}
		}
		event.Kind = analysis.StepDeployStarted
	}
	if event.At.IsZero() {
		event.At = analysis.Time{Time: s.cfg.Now().UTC()}
	}
	if event.Deploy == "" {
		event.Deploy = told.ID
	}
	if event.Deploy == "" {
		event.Deploy = analysis.NewDeployID(event.Service, event.At.Time)
	}
	if event.Source == "" {
		event.Source = "api"
	}
	if err := event.Validate(); err != nil {
		return event, err
	}
	return event, s.happened(&event)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// knownService refuses a service that is not configured, naming those that are.
func (s *Server) knownService(c echo.Context, name string) error {
	_, err := s.service(c, name)
	return err
}

// service reads a service, and refuses one that is not configured as
// [Server.knownService] does.
func (s *Server) service(c echo.Context, name string) (analysis.Service, error) {
	service, err := s.cfg.Store.Service(c.Request().Context(), name)
	if !errors.Is(err, store.ErrNotFound) {
		return service, err
	}
	services, err := s.cfg.Store.Services(c.Request().Context())
	if err != nil {
		return service, err
	}
	detail := fmt.Sprintf("There is no service %q; ", name)
	if len(services) == 0 {
		return service, notFound(detail + "none is configured.")
	}
	return service, notFound(detail + "known are: " + strings.Join(names(services), ", ") + ".")
}

// conflict words a conflict of ids with the id.
func conflict(err error, id string) error {
	if errors.Is(err, store.ErrConflict) {
		return &failure{http.StatusConflict, "Conflict", fmt.Sprintf("Deploy %q is one of another service.", id)}
	}
	return err
}
