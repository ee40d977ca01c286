package analysis

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// StepEvent is one step as it is told to gapless: a line of a steps file, or the
// body of a call to the API. Unknown keys are ignored.
type StepEvent struct {
	Deploy  string   `json:"deploy"` // id; may be empty, except when a deploy starts or reports
	Service string   `json:"service"`
	Kind    StepKind `json:"kind"`
	At      Time     `json:"at"`
	Target  string   `json:"target,omitempty"` // name, or an address of it; empty where it concerns the whole deploy
	Source  string   `json:"source,omitempty"`
	Clock   string   `json:"clock,omitempty"`

	// What only deploy.started may tell.
	DeployKind    DeployKind `json:"deploy_kind,omitempty"`
	VersionBefore string     `json:"version_before,omitempty"`
	VersionAfter  string     `json:"version_after,omitempty"`
	RollbackOf    string     `json:"rollback_of,omitempty"`
	Actor         string     `json:"actor,omitempty"`
	Environment   string     `json:"environment,omitempty"`
	URL           string     `json:"url,omitempty"`

	// Result is what only deploy.reported tells.
	Result string `json:"result,omitempty"`
}

// DeployKinds lists every deploy kind.
var DeployKinds = []DeployKind{KindRolling, KindBlueGreen, KindInPlace, KindFault}

// Results lists how a deploy may have ended by its own report.
var Results = []string{"succeeded", "failed", "cancelled"}

// maxName bounds identifiers, in bytes: they stand in addresses and in keys.
const maxName = 200

// DecodeStepEvent reads one event from JSON and validates it.
func DecodeStepEvent(b []byte) (StepEvent, error) {
	var e StepEvent
	if err := json.Unmarshal(b, &e); err != nil {
		return StepEvent{}, fmt.Errorf("decode step: %w", err)
	}
	return e, e.Validate()
}

// Validate reports the first thing that is wrong, naming the field and its value.
func (e StepEvent) Validate() error {
	if e.Service == "" {
		return fmt.Errorf("service is missing")
	}
	if !e.Kind.Known() {
		return fmt.Errorf("kind %q is none of %s", e.Kind, join(StepKinds))
	}
	if e.At.IsZero() {
		return fmt.Errorf("at is missing")
	}
	if year := e.At.UTC().Year(); year < 1970 || year > 9999 {
		return fmt.Errorf("at %s is not between the years 1970 and 9999", e.At.UTC().Format(timeLayout))
	}
	for _, field := range []struct{ name, value string }{
		{"deploy", e.Deploy}, {"service", e.Service}, {"target", e.Target}, {"source", e.Source},
		{"clock", e.Clock}, {"rollback_of", e.RollbackOf},
	} {
		if err := checkName(field.name, field.value); err != nil {
			return err
		}
	}
	if err := checkDeployID(e.Deploy); err != nil {
		return err
	}
	switch e.Kind {
	case StepDeployStarted:
		if strings.HasPrefix(e.Deploy, NoticedSource+"-") {
			return fmt.Errorf("deploy %q cannot start: ids that begin with %s- are of deploys that nobody announced", e.Deploy, NoticedSource)
		}
		if e.Deploy == "" {
			return fmt.Errorf("deploy is missing: %s needs the id of the deploy", e.Kind)
		}
		if e.DeployKind != "" && !slices.Contains(DeployKinds, e.DeployKind) {
			return fmt.Errorf("deploy_kind %q is none of %s", e.DeployKind, join(DeployKinds))
		}
	case StepDeployReported:
		if e.Deploy == "" {
			return fmt.Errorf("deploy is missing: %s needs the id of the deploy", e.Kind)
		}
		if !slices.Contains(Results, e.Result) {
			return fmt.Errorf("result %q is none of %s", e.Result, join(Results))
		}
	}
	return nil
}

// Step is the event as a step that was told, not inferred.
func (e StepEvent) Step() Step {
	return Step{Deploy: e.Deploy, Kind: e.Kind, At: e.At.Time, Target: e.Target, Source: e.Source, Clock: e.Clock}
}

// Started is the deploy that a deploy.started event begins; ok is false for every
// other kind. A deploy whose kind was not told is rolling.
func (e StepEvent) Started() (d Deploy, ok bool) {
	if e.Kind != StepDeployStarted {
		return Deploy{}, false
	}
	kind := e.DeployKind
	if kind == "" {
		kind = KindRolling
	}
	return Deploy{
		ID: e.Deploy, Service: e.Service, Kind: kind, VersionBefore: e.VersionBefore, VersionAfter: e.VersionAfter,
		RollbackOf: e.RollbackOf, Environment: e.Environment, Actor: e.Actor, URL: e.URL, Source: e.Source,
		StartedAt: e.At.Time,
	}, true
}

func checkName(field, value string) error {
	switch {
	case len(value) > maxName:
		return fmt.Errorf("%s is %d bytes long, more than %d", field, len(value), maxName)
	case !utf8.ValidString(value):
		return fmt.Errorf("%s %q is not UTF-8", field, value)
	case strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("%s %q has control characters", field, value)
	}
	return nil
}

// checkDeployID refuses ids that would not survive being a part of an address:
// browsers and proxies resolve "." and "..", and split at a slash.
func checkDeployID(id string) error {
	switch {
	case id == "." || id == "..":
		return fmt.Errorf("deploy %q cannot be an id: it means a folder in an address", id)
	case strings.ContainsAny(id, `/\`):
		return fmt.Errorf("deploy %q has a slash, which an id cannot have", id)
	}
	return nil
}

// NewDeployID makes an id from a service and the time at which its deploy began.
func NewDeployID(service string, at time.Time) string {
	name := strings.NewReplacer("/", "-", `\`, "-").Replace(service)
	return name + "-" + at.UTC().Format("20060102T150405.000000Z")
}

func join[T ~string](words []T) string {
	s := make([]string, len(words))
	for i, word := range words {
		s[i] = string(word)
	}
	return strings.Join(s, ", ")
}
