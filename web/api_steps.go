package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
)

// maxAhead is how far the clock of whoever tells a step may be ahead of the server's: a
// step that is further ahead would wait, with its deploy, for a time that the deploy is
// not at.
const maxAhead = time.Hour

// maxSteps bounds the steps of one call.
const maxSteps = 1000

// apiSteps stores steps of a deploy: one, or a list of them.
func (s *Server) apiSteps(c echo.Context) error {
	id := param(c, "id")
	body, err := bodyOf(c)
	if err != nil {
		return err
	}
	events, err := decodeSteps(body)
	if err != nil {
		return badRequest("The body is neither a step nor a list of steps: " + unreadable(body, err))
	}
	if len(events) == 0 || len(events) > maxSteps {
		return badRequest(fmt.Sprintf("A call carries 1 to %d steps, this one %d.", maxSteps, len(events)))
	}
	service, err := s.stepService(c, id, events)
	if err != nil {
		return err
	}
	if err := s.completeSteps(events, id, service); err != nil {
		return err
	}
	told, err := s.cfg.Store.Tell(c.Request().Context(), service, events)
	if errors.Is(err, store.ErrNotFound) {
		return noDeploy(id)
	}
	if err != nil {
		return conflict(err, id)
	}
	return s.answerStored(c, id, told, ignoredKeys(body, reflect.TypeFor[analysis.StepEvent]()))
}

func noDeploy(id string) error {
	return notFound(fmt.Sprintf("There is no deploy %q. A deploy must start before its steps can be told.", id))
}

func decodeSteps(body []byte) ([]analysis.StepEvent, error) {
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("[")) {
		var events []analysis.StepEvent
		err := json.Unmarshal(body, &events)
		return events, err
	}
	var event analysis.StepEvent
	err := json.Unmarshal(body, &event)
	return []analysis.StepEvent{event}, err
}

// stepService is the service of the deploy; where the deploy is not known yet but
// starts among the steps, the one that its start names.
func (s *Server) stepService(c echo.Context, id string, events []analysis.StepEvent) (string, error) {
	deploy, err := s.cfg.Store.Deploy(c.Request().Context(), id)
	switch {
	case err == nil:
		return deploy.Service, nil
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	for _, event := range events {
		if event.Kind == analysis.StepDeployStarted && event.Service != "" {
			return event.Service, s.knownService(c, event.Service)
		}
	}
	return "", noDeploy(id)
}

// completeSteps fills in deploy, service and source, and checks every step.
func (s *Server) completeSteps(events []analysis.StepEvent, id, service string) error {
	for i := range events {
		event := &events[i]
		if event.Deploy == "" {
			event.Deploy = id
		}
		if event.Service == "" {
			event.Service = service
		}
		if event.Source == "" {
			event.Source = "api"
		}
		err := event.Validate()
		switch {
		case err != nil: // it is told below
		case event.Deploy != id:
			err = fmt.Errorf("deploy %q is not the one in the address, %q", event.Deploy, id)
		case event.Service != service:
			err = fmt.Errorf("service %q is not the deploy's, %q", event.Service, service)
		default:
			err = s.happened(event)
		}
		if err != nil {
			return badRequest(fmt.Sprintf("Step %d: %s.", i+1, err))
		}
	}
	return nil
}

// happened refuses a step that is still to come.
func (s *Server) happened(event *analysis.StepEvent) error {
	if now := s.cfg.Now(); event.At.After(now.Add(maxAhead)) {
		return fmt.Errorf("at %s is more than an hour ahead of the server's clock, %s: check the clock and the zone of whoever tells it", instant(event.At.Time), instant(now))
	}
	return nil
}
