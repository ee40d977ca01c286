package store

import (
	"context"
	"fmt"

	"gapless/analysis"
)

// AddSteps stores the steps that are new, by deploy, kind, time, target and source,
// and says how many those were. A deploy.started among them begins its deploy, and
// a deploy.reported ends it, in whatever order they come. A step of a deploy that
// another service has is [ErrConflict], and then none is stored.
func (db *DB) AddSteps(ctx context.Context, service string, steps []analysis.Step) (stored int, err error) {
	if len(steps) == 0 {
		return 0, nil
	}
	err = db.write(ctx, service, func(t *tx) error {
		stored, err = t.addSteps(steps)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("add steps: %w", err)
	}
	return stored, nil
}

func (t *tx) addSteps(steps []analysis.Step) (stored int, err error) {
	for _, step := range steps {
		fresh, err := t.addStep(step)
		if err != nil {
			return 0, err
		}
		if !fresh {
			continue
		}
		stored++
		if step.Deploy == "" {
			continue
		}
		switch step.Kind {
		case analysis.StepDeployStarted:
			_, _, err = t.startDeploy(analysis.Deploy{ID: step.Deploy, StartedAt: step.At, Source: step.Source})
		case analysis.StepDeployReported:
			err = t.reportIfStarted(step)
		}
		if err != nil {
			return 0, err
		}
	}
	return stored, nil
}

func (t *tx) reportIfStarted(step analysis.Step) error {
	var started int
	if err := t.get(`SELECT count(*) FROM deploy WHERE id = ?`, []any{step.Deploy}, &started); err != nil || started == 0 {
		return err // its start will find this step
	}
	_, err := t.finishDeploy(step.Deploy, step.At, "")
	return err
}

func (t *tx) addStep(step analysis.Step) (stored bool, err error) {
	if step.At.IsZero() {
		return false, fmt.Errorf("step %s: it has no time", step.Kind)
	}
	if step.Deploy != "" {
		if err := t.owns(step.Deploy); err != nil {
			return false, err
		}
	}
	stored, err = t.execOne(`INSERT INTO step (service_id, deploy, kind, at, target, source, inferred, clock) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		t.id, step.Deploy, step.Kind, step.At.UnixMicro(), step.Target, step.Source, step.Inferred, step.Clock)
	if err != nil || !stored {
		return false, err
	}
	t.touch(step.At, step.At)
	if step.Deploy != "" { // wherever in time: a deploy's steps are all its own
		var from, to int64
		err := t.get(`SELECT coalesce(max(window_from), 0), coalesce(max(window_to), 0) FROM deploy WHERE id = ?`, []any{step.Deploy}, &from, &to)
		if err != nil {
			return false, err
		}
		if to > 0 {
			t.touch(fromMicro(from), fromMicro(to-1))
		}
	}
	return true, nil
}
