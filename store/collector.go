package store

import (
	"time"

	"gapless/analysis"
)

// source returns the row id of a source of evidence of the service, which it
// creates when it is seen first. An empty kind leaves the kind as it is.
func (t *tx) source(name, kind string) (id int64, err error) {
	err = t.get(`INSERT INTO collector (service_id, source, kind) VALUES (?, ?, ?)
		ON CONFLICT (service_id, source) DO UPDATE SET kind = CASE excluded.kind WHEN '' THEN kind ELSE excluded.kind END
		RETURNING id`, []any{t.id, name, kind}, &id)
	return id, err
}

// evidence notes that a source brought something new about [from, to].
func (t *tx) evidence(collector int64, from, to time.Time) error {
	t.touch(from, to)
	return t.reaches(collector, to)
}

// reaches notes the latest moment that a source's evidence is about.
func (t *tx) reaches(collector int64, to time.Time) error {
	_, err := t.exec(`UPDATE collector SET last_evidence = max(coalesce(last_evidence, ?1), ?1) WHERE id = ?2`, to.UnixMicro(), collector)
	return err
}

// hull is the smallest span that holds every time it was given; zero times are
// left out.
type hull struct{ from, to time.Time }

func (h *hull) add(times ...time.Time) {
	for _, t := range times {
		if t.IsZero() {
			continue
		}
		if h.from.IsZero() || t.Before(h.from) {
			h.from = t
		}
		if h.to.IsZero() || t.After(h.to) {
			h.to = t
		}
	}
}

func (h *hull) empty() bool { return h.from.IsZero() }

// normal gives a run the span and the code that it must have to be found again: a
// missing end is the time it ended, a missing start its end, and an error without a
// code is "error".
func normal(run analysis.Run) analysis.Run {
	if run.To.IsZero() {
		run.To = run.At
	}
	if run.From.IsZero() || run.From.After(run.To) {
		run.From = run.To
	}
	if run.Error != "" && run.Code == "" {
		run.Code = "error"
	}
	return run
}
