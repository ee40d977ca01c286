package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
)

// maxProbes bounds the requests of one call.
const maxProbes = 1000

// apiProbes stores what a prober at another place saw of one of a service's probes.
// Told again, a request is stored once.
func (s *Server) apiProbes(c echo.Context) error {
	ctx := c.Request().Context()
	var told analysis.ProbeReport
	if err := decodeStrictly(c, &told, "a stretch of probe requests"); err != nil {
		return err
	}
	name := param(c, "service")
	service, err := s.service(c, name)
	if err != nil {
		return err
	}
	if err := told.Validate(); err != nil {
		return badRequest(upper(err.Error()) + ".")
	}
	if len(told.Requests) > maxProbes {
		return badRequest(fmt.Sprintf("A call carries at most %d requests, this one %d.", maxProbes, len(told.Requests)))
	}
	i := slices.IndexFunc(service.Probes, func(p analysis.Probe) bool { return p.Name == told.Probe })
	if i < 0 {
		known := make([]string, len(service.Probes))
		for i := range service.Probes {
			known[i] = service.Probes[i].Name
		}
		return notFound(fmt.Sprintf("Service %s has no probe %q; it has: %s.", name, told.Probe, strings.Join(known, ", ")))
	}
	names, err := analysis.NewClassifier(service)
	if err != nil {
		return fmt.Errorf("read the rules of service %s: %w", name, err)
	}
	now, oldest := s.cfg.Now(), time.Time{}
	if s.cfg.Retention > 0 {
		oldest = now.Add(-s.cfg.Retention)
	}
	if err := told.CheckTimes(now, oldest, service.Probes[i].Timeout); err != nil {
		return badRequest(upper(err.Error()) + ".")
	}
	run := told.Run(now)
	requests := make([]analysis.ProbeRequest, len(told.Requests))
	for n := range told.Requests {
		requests[n] = told.Requests[n].Request(run.Source, told.Probe, service.Probes[i].Class, names)
	}
	if err := s.cfg.Store.AddProbes(ctx, name, run, requests); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
