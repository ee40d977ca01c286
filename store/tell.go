package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gapless/analysis"
)

// Told is what became of events that were told.
type Told struct {
	Stored int // events that were new, or said more than was known
	// Unknown are targets, as they were told, that are none of the service's names,
	// addresses and aliases. Steps about them are stored all the same. Where the
	// configuration names no targets, none is unknown.
	Unknown []string
	// Outside are the steps, as they were told, that lie outside of the window which
	// their deploy has now, or before its start. They are stored all the same.
	Outside []OutsideStep
	// Left are how many steps that were told earlier lie outside of the window now that
	// their deploy has reported its end.
	Left int
	// Kept are the starts and reports, as they were told, that say something else than
	// what was told of their deploy first, and so changed nothing of that.
	Kept []KeptEvent
}

// OutsideStep is a step that lies outside of its deploy's window, or before its start.
type OutsideStep struct {
	analysis.StepEvent
	Started  time.Time // when its deploy began
	From, To time.Time // of its deploy's window
}

// KeptEvent is a start or a report that contradicts what is known of its deploy.
type KeptEvent struct {
	analysis.StepEvent
	Known analysis.Deploy // what holds
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
	return told, t.doubts(inOrder, &told)
}

// doubts notes which events may be mistakes, going by what is known of their deploys
// once all of them are stored.
func (t *tx) doubts(events []analysis.StepEvent, told *Told) error {
	for _, event := range events {
		if event.Deploy == "" {
			continue
		}
		var d analysis.Deploy
		if err := t.get(selectDeploy+` WHERE d.id = ?`, []any{event.Deploy}, deployColumns(&d)...); err != nil {
			return err
		}
		from, to := analysis.WindowOf(d, t.service.Window)
		switch {
		case event.Kind == analysis.StepDeployStarted && startDiffers(event, d),
			event.Kind == analysis.StepDeployReported && (!sameMoment(event.At.Time, d.ReportedAt) || event.Result != d.Result):
			told.Kept = append(told.Kept, KeptEvent{event, d})
		case event.Kind == analysis.StepDeployStarted:
		case event.At.Before(d.StartedAt.Truncate(time.Second)), // a shell's clock has whole seconds
			event.At.Before(from), !event.At.Before(to):
			told.Outside = append(told.Outside, OutsideStep{event, d.StartedAt, from, to})
		case event.Kind == analysis.StepDeployReported && len(told.Outside) == 0:
			err := t.get(`SELECT count(*) FROM step WHERE service_id = ? AND deploy = ? AND (at < ? OR at >= ?)`,
				[]any{t.id, event.Deploy, from.UnixMicro(), to.UnixMicro()}, &told.Left)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// startDiffers says whether a start tells anything else than what is known.
func startDiffers(e analysis.StepEvent, d analysis.Deploy) bool {
	for _, field := range [][2]string{
		{string(e.DeployKind), string(d.Kind)}, {e.VersionBefore, d.VersionBefore}, {e.VersionAfter, d.VersionAfter},
		{e.RollbackOf, d.RollbackOf}, {e.Environment, d.Environment}, {e.Actor, d.Actor}, {e.URL, d.URL},
	} {
		if field[0] != "" && field[0] != field[1] {
			return true
		}
	}
	return !sameMoment(e.At.Time, d.StartedAt)
}

// sameMoment compares times to the microsecond, which is what is kept.
func sameMoment(a, b time.Time) bool { return a.UnixMicro() == b.UnixMicro() }

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
