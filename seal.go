package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"gapless/analysis"
	"gapless/store"
	"gapless/store/evidence"
)

// sealer judges the deploys whose windows have settled and keeps what it found as
// revisions. Evidence that comes after a window was sealed makes another revision,
// which says what changed.
type sealer struct {
	db    *store.DB
	judge func(analysis.Observations) analysis.Report
	log   *slog.Logger
	every time.Duration // between two looks at what is due
}

// run seals until ctx ends. What fails is logged and tried again.
func (s *sealer) run(ctx context.Context) error {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for {
		if err := s.pass(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("seal windows", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// pass seals everything that is due. One deploy that cannot be sealed does not keep
// the others from it.
func (s *sealer) pass(ctx context.Context) error {
	deploys, err := s.db.Unsealed(ctx)
	if err != nil {
		return fmt.Errorf("list windows to seal: %w", err)
	}
	var errs []error
	for _, deploy := range deploys {
		err := s.sealSafely(ctx, deploy)
		if err != nil && s.merged(ctx, deploy.ID) { // meanwhile; the other deploy is sealed
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("deploy %s: %w", deploy.ID, err))
		}
	}
	return errors.Join(errs...)
}

// merged reports whether a deploy that was noticed is by now one with an announced one.
func (s *sealer) merged(ctx context.Context, id string) bool {
	_, err := s.db.MergedInto(ctx, id)
	return err == nil
}

// sealSafely turns a panic over one deploy into an error, so that the others are
// sealed and the program goes on.
func (s *sealer) sealSafely(ctx context.Context, deploy analysis.Deploy) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return s.seal(ctx, deploy)
}

// seal judges one deploy if its window has settled.
func (s *sealer) seal(ctx context.Context, deploy analysis.Deploy) error {
	service, err := s.db.Service(ctx, deploy.Service)
	if err != nil {
		return fmt.Errorf("read its service: %w", err)
	}
	_, to := analysis.WindowOf(deploy, service.Window)
	if analysis.WindowStateAt(to, service.Window, s.db.Now()) != analysis.WindowSealed {
		return nil
	}
	observations, err := s.db.Observations(ctx, deploy.ID)
	if err != nil {
		return fmt.Errorf("read its window: %w", err)
	}
	_, err = saveRevision(ctx, s.db, observations, s.judge)
	return err
}

// saveRevision judges observations and keeps the report as the deploy's next
// revision, or lets the latest one stand where the new evidence changes nothing that
// it said. It returns the report as it was kept.
func saveRevision(ctx context.Context, db *store.DB, o analysis.Observations, judge func(analysis.Observations) analysis.Report) (*analysis.Report, error) {
	latest, err := db.LatestRevision(ctx, o.Deploy.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("read the latest revision: %w", err)
	}
	o.Revision = latest.Number + 1
	o.At = o.At.Truncate(time.Microsecond) // as the store keeps it
	o.SealedAt = o.At
	report := judge(o)
	if report.Provenance.InputsSHA256, err = evidence.InputsSHA256(o); err != nil {
		return nil, fmt.Errorf("hash the evidence: %w", err)
	}
	if latest.Number > 0 {
		var before analysis.Report
		if err := json.Unmarshal(latest.Report, &before); err != nil {
			return nil, fmt.Errorf("read revision %d: %w", latest.Number, err)
		}
		changes, err := changesBetween(&before, &report)
		if err != nil {
			return nil, fmt.Errorf("compare with revision %d: %w", latest.Number, err)
		}
		if len(changes) == 0 && latest.State == analysis.WindowSealed {
			if err := db.ConfirmRevision(ctx, o.Deploy.ID, latest.Number, o.Change); err != nil {
				return nil, err
			}
			return &before, nil
		}
		previous := fmt.Sprint(latest.Number)
		report.Provenance.Previous, report.Provenance.Changes = &previous, changes
	}
	body, err := json.Marshal(&report)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	revision := store.Revision{
		Deploy: o.Deploy.ID, State: analysis.WindowSealed, At: o.At, Change: o.Change, Report: body,
		Verdict: report.Verdict.State, Findings: findingCodes(&report), Changes: report.Provenance.Changes,
	}
	for _, claim := range report.Claims {
		revision.Claims = append(revision.Claims, store.ClaimState{ID: claim.ID, State: claim.State, Reason: claim.Reason})
	}
	revision.UserRequests, revision.UserFailures = counted(&report, analysis.ClassUser)
	revision.ProbeRequests, revision.ProbeFailures = counted(&report, analysis.ClassProbe)
	if _, err := db.SaveRevision(ctx, revision); err != nil {
		return nil, fmt.Errorf("save the revision: %w", err)
	}
	return &report, nil
}

// counted are a class's totals; nil where it was not measured.
func counted(r *analysis.Report, class analysis.Class) (requests, failures *int) {
	total := r.Totals[class]
	if total == nil {
		return nil, nil
	}
	return &total.Requests, &total.Failures
}
