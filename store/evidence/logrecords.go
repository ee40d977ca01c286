package evidence

import (
	"fmt"
	"slices"
	"time"

	"gapless/analysis"
)

// cellKey is what a cell and a single request say of whom they belong to.
type cellKey struct {
	Second       moment           `json:"second"`
	Source       string           `json:"source"`
	Node         *string          `json:"node"`
	TargetGroup  *string          `json:"target_group"`
	Target       *string          `json:"target"`
	Class        analysis.Class   `json:"class"`
	Outcome      analysis.Outcome `json:"outcome"`
	Route        *string          `json:"route"`
	Status       *int             `json:"status"`
	TargetStatus *int             `json:"target_status"`
}

func keyOf(k *analysis.CellKey) cellKey {
	return cellKey{
		Second: moment{time.Unix(k.Second, 0)}, Source: k.Source, Node: optional(&k.Node), TargetGroup: optional(&k.TargetGroup),
		Target: optional(&k.Target), Class: k.Class, Outcome: k.Outcome, Route: optional(&k.Route),
		Status: optional(&k.Status), TargetStatus: optional(&k.TargetStatus),
	}
}

func (k *cellKey) key(l *lineReader) analysis.CellKey {
	return analysis.CellKey{
		Second: k.Second.Unix(), Source: l.name(k.Source), Node: l.names(k.Node), TargetGroup: l.names(k.TargetGroup),
		Target: l.names(k.Target), Class: analysis.Class(l.name(string(k.Class))), Outcome: analysis.Outcome(l.name(string(k.Outcome))),
		Route: l.names(k.Route), Status: value(k.Status), TargetStatus: value(k.TargetStatus),
	}
}

type cellRecord struct {
	cellKey
	Count  int    `json:"count"`
	Masked int    `json:"masked"`
	First  moment `json:"first"`
	Last   moment `json:"last"`
	rawBytes
}

func cellOf(c *analysis.Cell) (cellRecord, error) {
	return cellRecord{cellKey: keyOf(&c.CellKey), Count: c.Count, Masked: c.Masked, First: moment{c.First}, Last: moment{c.Last}}, nil
}

func (r cellRecord) cell(l *lineReader) (analysis.Cell, error) {
	return analysis.Cell{CellKey: r.key(l), Count: r.Count, Masked: r.Masked, First: r.First.Time, Last: r.Last.Time}, nil
}

type requestRecord struct {
	cellKey
	Start       moment   `json:"start"`
	End         moment   `json:"end"`
	Duration    float64  `json:"duration_ms"`
	Method      string   `json:"method"`
	URL         string   `json:"url"`
	Client      string   `json:"client"`
	UserAgent   string   `json:"user_agent"`
	ID          *string  `json:"id"` // where it is a known probe request
	Connected   bool     `json:"connected"`
	WebSocket   bool     `json:"websocket"`
	Before      *float64 `json:"before_target_ms"`
	TargetTook  *float64 `json:"target_ms"`
	ErrorReason *string  `json:"error_reason"`
	Attempts    *int     `json:"attempts"`
	FailedOn    []string `json:"failed_on"`
	Object      string   `json:"object"`
	Line        int      `json:"line"`
	rawBytes
}

func requestOf(q *analysis.Request) (requestRecord, error) {
	r := requestRecord{
		cellKey: keyOf(&q.CellKey), Start: moment{q.Start}, End: moment{q.End}, Duration: milliseconds(q.Duration),
		Method: q.Method, URL: q.URL, Client: q.Client, UserAgent: q.UserAgent, Connected: q.Connected, WebSocket: q.WebSocket,
		Before: optionalMilliseconds(q.Before), TargetTook: optionalMilliseconds(q.TargetTook),
		ErrorReason: optional(&q.ErrorReason), Attempts: optional(&q.Attempts), FailedOn: q.FailedOn, Object: q.Object, Line: q.Line,
	}
	if q.ProbeRun == "" && q.ProbeSeq == 0 {
		return r, nil
	}
	id, err := idOf(q.ProbeRun, q.ProbeSeq)
	r.ID = &id
	return r, err
}

func optionalMilliseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(milliseconds(*d))
}

func fromOptional(ms *float64) *time.Duration {
	if ms == nil {
		return nil
	}
	return new(fromMilliseconds(*ms))
}

func (r requestRecord) request(l *lineReader) (analysis.Request, error) {
	q := analysis.Request{
		CellKey: r.key(l), Start: r.Start.Time, End: r.End.Time, Duration: fromMilliseconds(r.Duration),
		Method: l.name(r.Method), URL: r.URL, Client: r.Client, UserAgent: l.name(r.UserAgent), Connected: r.Connected, WebSocket: r.WebSocket,
		Before: fromOptional(r.Before), TargetTook: fromOptional(r.TargetTook),
		ErrorReason: l.names(r.ErrorReason), Attempts: value(r.Attempts), FailedOn: each(r.FailedOn, l.name), Object: l.name(r.Object), Line: r.Line,
	}
	if r.ID == nil {
		return q, nil
	}
	run, seq, err := splitID(*r.ID)
	q.ProbeRun, q.ProbeSeq = l.name(run), seq
	return q, err
}

// knownRecord has spans of sequence numbers, both ends in them.
type knownRecord struct {
	Source string      `json:"source"`
	Node   *string     `json:"node"`
	Run    string      `json:"run"`
	Seqs   [][2]uint32 `json:"seqs"`
	rawBytes
}

func knownOf(k *analysis.KnownRequests) (knownRecord, error) {
	r := knownRecord{Source: k.Source, Node: optional(&k.Node), Run: k.Run, Seqs: [][2]uint32{}}
	for i, seq := range k.Seqs {
		switch {
		case i > 0 && seq <= k.Seqs[i-1]:
			return r, fmt.Errorf("numbers of run %q do not ascend", k.Run)
		case i > 0 && seq == k.Seqs[i-1]+1:
			r.Seqs[len(r.Seqs)-1][1] = seq
		default:
			r.Seqs = append(r.Seqs, [2]uint32{seq, seq})
		}
	}
	return r, nil
}

func (r knownRecord) known(l *lineReader) (analysis.KnownRequests, error) {
	k := analysis.KnownRequests{Source: l.name(r.Source), Node: l.names(r.Node), Run: l.name(r.Run)}
	for _, span := range r.Seqs {
		n := int64(span[1]) - int64(span[0]) + 1
		if n < 1 || n > int64(*l.knownLeft) {
			return k, fmt.Errorf("numbers %d to %d: more than %d in all, or none", span[0], span[1], maxKnown)
		}
		*l.knownLeft -= int(n)
		k.Seqs = slices.Grow(k.Seqs, int(n))
		for seq := int64(span[0]); seq <= int64(span[1]); seq++ {
			k.Seqs = append(k.Seqs, uint32(seq))
		}
	}
	return k, nil
}
