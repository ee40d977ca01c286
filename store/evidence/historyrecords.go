package evidence

import "gapless/analysis"

type backgroundRecord struct {
	Source  string            `json:"source"`
	Class   analysis.Class    `json:"class"`
	Outcome *analysis.Outcome `json:"outcome"` // null: all requests of the class
	Status  *int              `json:"status"`
	Route   string            `json:"route"`
	Count   int               `json:"count"`
	Spans   int               `json:"spans"`
	Typical int               `json:"typical"`
	Of      int               `json:"of"`
	rawBytes
}

func backgroundOf(c *analysis.BackgroundCount) (backgroundRecord, error) {
	return backgroundRecord{
		Source: c.Source, Class: c.Class, Outcome: optional(&c.Outcome), Status: optional(&c.Status), Route: c.Route,
		Count: c.Count, Spans: c.Spans, Typical: c.Typical, Of: c.Of,
	}, nil
}

func (r backgroundRecord) background(l *lineReader) (analysis.BackgroundCount, error) {
	return analysis.BackgroundCount{
		Source: l.name(r.Source), Class: analysis.Class(l.name(string(r.Class))), Outcome: value(r.Outcome), Status: value(r.Status),
		Route: l.name(r.Route), Count: r.Count, Spans: r.Spans, Typical: r.Typical, Of: r.Of,
	}, nil
}

type ejectionRecord struct {
	Deploy string         `json:"deploy"`
	Target string         `json:"target"`
	At     moment         `json:"at"`
	Took   float64        `json:"took_s"`
	Bound  analysis.Bound `json:"bound"`
	rawBytes
}

func ejectionOf(e *analysis.PastEjection) (ejectionRecord, error) {
	return ejectionRecord{Deploy: e.Deploy, Target: e.Target, At: moment{e.At}, Took: secondsOf(e.Took), Bound: e.Bound}, nil
}

func (r ejectionRecord) ejection(l *lineReader) (analysis.PastEjection, error) {
	return analysis.PastEjection{
		Deploy: l.name(r.Deploy), Target: l.name(r.Target), At: r.At.Time, Took: fromSeconds(r.Took), Bound: analysis.Bound(l.name(string(r.Bound))),
	}, nil
}
