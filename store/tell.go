package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"gapless/analysis"
)

// Told is what became of events that were told.
type Told struct {
	Stored int // events that were new, or said more than was known
	// Unknown are targets, as they were told, that are none of the service's names,
	// addresses and aliases. Steps about them are stored all the same. Where the
	// configuration names no targets, none is unknown.
	Unknown []string
}

// Tell stores events of one service's deploys: all of them, or none where one cannot
// be. Starts come first and reports last, in whatever order they are given. Targets
// become the names that the service has for them. An event of a deploy that is not
// known, and does not start among them, is [ErrNotFound]; one of another service's
// deploy is [ErrConflict]. Told again, an event changes nothing.
func (db *DB) Tell(ctx context.Context, service string, events []analysis.StepEvent) (told Told, err error) {
	err = db.write(ctx, service, func(t *tx) error {
		told, err = t.tell(events)
		return err
	})
	if err != nil {
		return Told{}, fmt.Errorf("store what was told of %s: %w", service, err)
	}
	return told, nil
}

func (t *tx) tell(events []analysis.StepEvent) (told Told, err error) {
	names, err := analysis.NewClassifier(t.service)
	if err != nil {
		return told, fmt.Errorf("read the rules of service %s: %w", t.service.Name, err)
	}
	inOrder := slices.Clone(events)
	slices.SortStableFunc(inOrder, func(a, b analysis.StepEvent) int { return turn(a) - turn(b) })
	for _, event := range inOrder {
		step := event.Step()
		step.Target = names.Target(event.Target)
		if step.Target != "" && !t.knows(step.Target) && !slices.Contains(told.Unknown, event.Target) {
			told.Unknown = append(told.Unknown, event.Target)
		}
		stored, err := t.tellOne(event, step)
		if err != nil {
			return Told{}, err
		}
		told.Stored += number(stored)
	}
	return told, nil
}

// turn is when an event's turn comes: a start before the steps, a report after them.
func turn(e analysis.StepEvent) int {
	switch e.Kind {
	case analysis.StepDeployStarted:
		return 0
	case analysis.StepDeployReported:
		return 2
	}
	return 1
}

func (t *tx) tellOne(event analysis.StepEvent, step analysis.Step) (stored bool, err error) {
	if deploy, ok := event.Started(); ok {
		created, filled, err := t.startDeploy(deploy)
		if err != nil || !created {
			return filled, err
		}
		_, err = t.addStep(step)
		return true, err
	}
	if event.Deploy == "" { // a step that its teller could not assign
		return t.addStep(step)
	}
	var known int
	var reported sql.NullInt64
	if err := t.owns(event.Deploy); err != nil {
		return false, err
	}
	if err := t.get(`SELECT count(*), max(reported_at) FROM deploy WHERE id = ?`, []any{event.Deploy}, &known, &reported); err != nil {
		return false, err
	}
	switch {
	case known == 0:
		return false, fmt.Errorf("deploy %q: %w", event.Deploy, ErrNotFound)
	case event.Kind != analysis.StepDeployReported:
		return t.addStep(step)
	}
	stored, err = t.finishDeploy(event.Deploy, event.At.Time, event.Result)
	if err != nil || reported.Valid {
		return stored, err
	}
	_, err = t.addStep(step)
	return stored, err
}

func (t *tx) knows(target string) bool {
	return len(t.service.Targets) == 0 || slices.ContainsFunc(t.service.Targets, func(n analysis.TargetName) bool { return n.Name == target })
}
