package store

import (
	"database/sql"
	"encoding/json"
	"time"

	"gapless/analysis"
)

// pastDeploys is how many earlier deploys are asked how long their targets took to
// leave rotation.
const pastDeploys = 20

// ejectionsIn takes from a report, as JSON, how long its targets took from their drain
// mark until they were out of rotation, where that is known exactly or from above: by
// the load balancer's own health-check log, or by the poll that showed it. What traffic
// shows is a lower bound, and is left out.
func ejectionsIn(report []byte) (string, error) {
	var r struct {
		Deploy struct {
			ID string `json:"id"`
		} `json:"deploy"`
		Targets []analysis.TargetReport `json:"targets"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return "", err
	}
	list := []analysis.PastEjection{}
	for i := range r.Targets {
		t := &r.Targets[i]
		at := t.DrainMarkedAt
		if at.IsZero() || !t.DeregisteredAt.IsZero() && t.DeregisteredAt.Before(at.Time) {
			at = t.DeregisteredAt
		}
		if at.IsZero() {
			continue
		}
		past := analysis.PastEjection{Deploy: r.Deploy.ID, Target: t.Target, At: at.Time}
		switch {
		case t.Checks != nil && t.Checks.Eject != nil && t.Checks.Eject.Bound != analysis.Lower:
			past.Took, past.Bound = fromSeconds(t.Checks.Eject.Value), t.Checks.Eject.Bound
		case t.StateLagDown != nil && !t.LastServedAt.IsZero():
			past.Took, past.Bound = t.LastServedAt.Sub(at.Time)+fromSeconds(t.StateLagDown.To), analysis.Upper
		default:
			continue
		}
		if past.Took > 0 {
			list = append(list, past)
		}
	}
	return toJSON(list)
}

func fromSeconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// ejections reads what the newest sealed reports of earlier deploys measured. One whose
// window overlaps with this one is not history but part of the same events: whether it was
// sealed before this one is judged must not make a difference.
func (r *observer) ejections() error {
	lists, err := rowsOf(r.ctx, r.sql, func(rows *sql.Rows, list *[]analysis.PastEjection) error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		return json.Unmarshal(data, list)
	}, `SELECT r.ejections FROM deploy d JOIN revision r ON r.deploy_id = d.id
			AND r.number = (SELECT max(number) FROM revision WHERE deploy_id = d.id AND state = 'sealed')
		WHERE d.service_id = ?1 AND d.window_to <= ?2 AND d.id <> ?3 ORDER BY d.started_at DESC, d.id LIMIT ?4`, r.id, r.lo, r.o.Deploy.ID, pastDeploys)
	for _, list := range lists {
		r.o.Ejections = append(r.o.Ejections, list...)
	}
	return err
}
