package web

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
)

// answerStored says what became of events of a deploy. Ignored are warnings about the
// body that they came in.
func (s *Server) answerStored(c echo.Context, id string, told store.Told, ignored []string) error {
	status := http.StatusOK
	page := deployOf(analysis.Deploy{ID: id}).Links.Page
	if told.Stored > 0 {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, "/api/v1"+page)
	}
	return writeJSON(c, status, storedJSON{ID: id, Stored: told.Stored > 0, Page: page, Warnings: append(ignored, warningsOf(told)...)})
}

// maxOutside bounds the steps outside of a window that an answer names one by one.
const maxOutside = 5

// warningsOf words what was stored, or was not, and may be a mistake.
func warningsOf(told store.Told) (warnings []string) {
	for _, target := range told.Unknown {
		warnings = append(warnings, fmt.Sprintf("target %q is no name, address or alias of the service's targets; the step was stored and stands alone", target))
	}
	for _, step := range told.Outside[:min(len(told.Outside), maxOutside)] {
		warnings = append(warnings, outsideWarning(step))
	}
	if more := len(told.Outside) - maxOutside; more > 0 {
		warnings = append(warnings, fmt.Sprintf("%d more steps lie outside of the deploy's window, or before its start", more))
	}
	if told.Left > 0 {
		warnings = append(warnings, fmt.Sprintf("of the steps told before, %d now lie outside of the deploy's window, which ends its tail after the report: is the report's time right?", told.Left))
	}
	for _, kept := range told.Kept {
		warnings = append(warnings, keptWarning(kept))
	}
	return warnings
}

func outsideWarning(step store.OutsideStep) string {
	window := fmt.Sprintf("window, from %s to %s", instant(step.From), instant(step.To))
	if at := step.At.Time; at.Before(step.From) || !at.Before(step.To) {
		return fmt.Sprintf("%s at %s lies outside of the deploy's %s; it was stored, but only that window is judged: is its time right?", step.Kind, instant(at), window)
	}
	return fmt.Sprintf("%s at %s lies before the deploy's start at %s, though within its %s: is its time right?", step.Kind, instant(step.At.Time), instant(step.Started), window)
}

// keptWarning says what holds of a deploy where a start or a report said otherwise.
func keptWarning(kept store.KeptEvent) string {
	known := kept.Known
	if kept.Kind == analysis.StepDeployReported {
		return fmt.Sprintf("deploy %s has already reported %s at %s; that stays, and %s at %s was not stored",
			known.ID, cmp.Or(known.Result, "its end"), instant(known.ReportedAt), kept.Result, instant(kept.At.Time))
	}
	holds := []string{fmt.Sprintf("deploy %s has already started at %s", known.ID, instant(known.StartedAt))}
	told := []string{"the start at " + instant(kept.At.Time)}
	for _, field := range []struct{ as, known, told string }{
		{"kind ", string(known.Kind), string(kept.DeployKind)},
		{"version ", known.VersionAfter, kept.VersionAfter}, {"version before ", known.VersionBefore, kept.VersionBefore},
		{"rollback of ", known.RollbackOf, kept.RollbackOf}, {"environment ", known.Environment, kept.Environment},
		{"actor ", known.Actor, kept.Actor}, {"url ", known.URL, kept.URL},
	} {
		if field.told != "" && field.told != field.known {
			holds = append(holds, "as "+field.as+field.known)
			told = append(told, field.as+field.told)
		}
	}
	return strings.Join(holds, ", ") + "; that stays, and " + strings.Join(told, ", ") + " was not stored"
}

func instant(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
