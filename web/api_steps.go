package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
)

// maxSteps bounds the steps of one call.
const maxSteps = 1000

// apiSteps stores steps of a deploy: one, or a list of them.
func (s *Server) apiSteps(c echo.Context) error {
	id := param(c, "id")
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return err
	}
	events, err := decodeSteps(body)
	if err != nil {
		return badRequest("The body is neither a step nor a list of steps: " + err.Error())
	}
	if len(events) == 0 || len(events) > maxSteps {
		return badRequest(fmt.Sprintf("A call carries 1 to %d steps, this one %d.", maxSteps, len(events)))
	}
	service, err := s.stepService(c, id, events)
	if err != nil {
		return err
	}
	if err := completeSteps(events, id, service); err != nil {
		return err
	}
	stored, err := s.storeSteps(c, service, id, events)
	if err != nil {
		return err
	}
	return s.answerStored(c, id, stored)
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

// stepService is the service of the deploy; where the deploy is not known yet, the
// one that the steps name, since steps may come before the start of their deploy.
func (s *Server) stepService(c echo.Context, id string, events []analysis.StepEvent) (string, error) {
	deploy, err := s.cfg.Store.Deploy(c.Request().Context(), id)
	switch {
	case err == nil:
		return deploy.Service, nil
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	for _, event := range events {
		if event.Service != "" {
			return event.Service, s.knownService(c, event.Service)
		}
	}
	return "", notFound(fmt.Sprintf("There is no deploy %q, and the steps name no service.", id))
}

// completeSteps fills in deploy, service and source, and checks every step.
func completeSteps(events []analysis.StepEvent, id, service string) error {
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
		case err != nil:
		case event.Deploy != id:
			err = fmt.Errorf("deploy %q is not the one in the address, %q", event.Deploy, id)
		case event.Service != service:
			err = fmt.Errorf("service %q is not the deploy's, %q", event.Service, service)
		}
		if err != nil {
			return badRequest(fmt.Sprintf("Step %d: %s.", i+1, err))
		}
	}
	return nil
}

// storeSteps stores steps and says whether any was new. The start and the end of the
// deploy carry more than a step, so they are stored as such.
func (s *Server) storeSteps(c echo.Context, service, id string, events []analysis.StepEvent) (stored bool, err error) {
	ctx := c.Request().Context()
	settings, err := s.cfg.Store.Service(ctx, service)
	if err != nil {
		return false, err
	}
	classifier, err := analysis.NewClassifier(settings)
	if err != nil {
		return false, fmt.Errorf("read the rules of service %s: %w", service, err)
	}
	var steps []analysis.Step
	for _, event := range events {
		if deploy, ok := event.Started(); ok {
			news, err := s.cfg.Store.StartDeploy(ctx, deploy)
			if err != nil {
				return false, conflict(err, id)
			}
			stored = stored || news
		} else if event.Kind != analysis.StepDeployReported {
			step := event.Step()
			step.Target = classifier.Target(step.Target)
			steps = append(steps, step)
		}
	}
	if len(steps) > 0 {
		n, err := s.cfg.Store.AddSteps(ctx, service, steps)
		if err != nil {
			return false, conflict(err, id)
		}
		stored = stored || n > 0
	}
	for _, event := range events {
		if event.Kind == analysis.StepDeployReported {
			news, err := s.cfg.Store.FinishDeploy(ctx, id, event.At.Time, event.Result, event.Source)
			if errors.Is(err, store.ErrNotFound) {
				return false, notFound(fmt.Sprintf("There is no deploy %q that could end.", id))
			}
			if err != nil {
				return false, err
			}
			stored = stored || news
		}
	}
	return stored, nil
}
