package store

import (
	"context"
	"fmt"

	"gapless/analysis"
)

// AddProbes stores requests that we sent, and the run that sent or read them. A
// request is known by source, run and sequence number.
func (db *DB) AddProbes(ctx context.Context, service string, run analysis.Run, requests []analysis.ProbeRequest) error {
	err := db.write(ctx, service, func(t *tx) error {
		id, err := t.source(run.Source, run.Kind)
		if err != nil {
			return err
		}
		if err := t.addProbes(id, run.Source, requests); err != nil {
			return err
		}
		return t.addRun(id, run)
	})
	if err != nil {
		return fmt.Errorf("add probes of %s: %w", run.Source, err)
	}
	return nil
}

func (t *tx) addProbes(collector int64, source string, requests []analysis.ProbeRequest) error {
	insert := t.insert("probe", "collector_id", "run", "seq", "probe", "class", "sent_at", "done_at", "status", "outcome", "target", "error", "out_of_service")
	var times hull
	for i := range requests {
		p := &requests[i]
		if p.Source != source {
			return fmt.Errorf("a probe request of source %q in a run of %q", p.Source, source)
		}
		if p.Sent.IsZero() {
			return fmt.Errorf("probe request %s-%06d: it has no time", p.Run, p.Seq)
		}
		err := insert.add(collector, p.Run, p.Seq, p.Probe, string(p.Class), p.Sent.UnixMicro(), micro(p.Done), p.Status, string(p.Outcome), p.Target, p.Error, p.OutOfService)
		if err != nil {
			return err
		}
		times.add(p.Sent, p.Done)
	}
	if err := insert.flush(); err != nil || insert.stored == 0 {
		return err
	}
	if err := t.addProbeBackground(collector, requests, insert.stored); err != nil {
		return err
	}
	return t.evidence(collector, times.from, times.to)
}
