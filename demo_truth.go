package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gapless/analysis"
	"gapless/lab"
)

// compare holds a report against the lab's truth: the verdict and findings that a
// sound judge must reach, and the exact counts of users and probes.
func (d *demo) compare(ctx context.Context, name, id string, body json.RawMessage, truth lab.Truth) (*demoResult, error) {
	r := &demoResult{Name: name, Report: body}
	if err := json.Unmarshal(body, &r.report); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	observations, err := d.console.db.Observations(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the probes' own records: %w", err)
	}
	from, to := r.report.Window.From.Time, r.report.Window.To.Time
	user := demoTruth{}
	user.Requests, user.Failures = truth.Counts(from, to, analysis.ClassUser)
	r.Truth = map[analysis.Class]demoTruth{
		analysis.ClassUser:  user,
		analysis.ClassProbe: probeTruth(truth, observations.Probes, from, to),
	}
	expect := lab.Expectation(name, d.guarded(name)...)
	if codes := findingCodes(&r.report); !expect.Met(r.report.Verdict.State, codes) {
		r.differences = append(r.differences, fmt.Sprintf(
			"verdict %s with findings %v, where %s with %v was due (allowed besides: %v)",
			r.report.Verdict.State, codes, expect.Verdict, expect.Findings, expect.MayAlso))
	}
	for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe} {
		total := r.report.Totals[class]
		if total == nil {
			r.differences = append(r.differences, fmt.Sprintf("%s requests were not measured", class))
			continue
		}
		if was := (demoTruth{total.Requests, total.Failures}); was != r.Truth[class] {
			r.differences = append(r.differences, fmt.Sprintf(
				"%s: judged %d failed of %d, in truth %d of %d",
				class, was.Failures, was.Requests, r.Truth[class].Failures, r.Truth[class].Requests))
		}
	}
	r.differences = append(r.differences, compareJourneys(&r.report, truth)...)
	r.differences = append(r.differences, compareCalls(&r.report, truth)...)
	r.AsExpected = len(r.differences) == 0
	return r, nil
}

// probeTruth counts the probe requests of a half-open span as the load balancer
// truly answered them. Which of them lie in the span is decided by the sender's
// clock where the sender has a record (when it sent, or for a failure when it was
// done), as CONTRACT has it; a request that its sender does not know of counts by
// its arrival, so that a lost record shows as a difference.
func probeTruth(truth lab.Truth, records []analysis.ProbeRequest, from, to time.Time) demoTruth {
	type id struct {
		run string
		seq int
	}
	sent := make(map[id]*analysis.ProbeRequest, len(records))
	for i := range records {
		sent[id{records[i].Run, records[i].Seq}] = &records[i]
	}
	var count demoTruth
	for i := range truth.Requests {
		request := &truth.Requests[i]
		if request.Class != analysis.ClassProbe {
			continue
		}
		at, end := request.Start, request.End
		if record := sent[id{request.Run, request.Seq}]; record != nil {
			at, end = record.Sent, record.Done
		}
		failed := request.Outcome.Failure()
		if failed {
			at = end
		}
		if at.Before(from) || !at.Before(to) {
			continue
		}
		count.Requests++
		if failed {
			count.Failures++
		}
	}
	return count
}
