package evidence

import (
	"maps"
	"slices"

	"gapless/analysis"
)

type signalRecord struct {
	At      moment        `json:"at"`
	Event   string        `json:"event"`
	Name    *string       `json:"name"`
	Key     *string       `json:"key"`
	Outcome *string       `json:"outcome"`
	Target  *string       `json:"target"`
	Values  []signalValue `json:"values"`
	Rule    string        `json:"rule"`
	Source  string        `json:"source"`
	rawBytes
}

// signalValue is one value of a signal. Names ascend by their bytes.
type signalValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func signalOf(s *analysis.Signal) (signalRecord, error) {
	outcome := string(s.Outcome)
	r := signalRecord{
		At: moment{s.At}, Event: string(s.Event), Name: optional(&s.Name), Key: optional(&s.Key), Outcome: optional(&outcome),
		Target: optional(&s.Target), Rule: s.Rule, Source: s.Source,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		r.Values = append(r.Values, signalValue{name, s.Values[name]})
	}
	return r, nil
}

func (r signalRecord) signal(l *lineReader) (analysis.Signal, error) {
	s := analysis.Signal{
		Source: l.name(r.Source), Rule: l.name(r.Rule), Target: l.names(r.Target), At: r.At.Time, Event: analysis.Event(l.name(r.Event)),
		Name: l.names(r.Name), Key: value(r.Key), Outcome: analysis.Outcome(l.names(r.Outcome)),
	}
	for _, v := range r.Values {
		if s.Values == nil {
			s.Values = make(map[string]string, len(r.Values))
		}
		s.Values[l.name(v.Name)] = l.name(v.Value)
	}
	return s, nil
}

type journeyStepRecord struct {
	At      moment           `json:"at"`
	Journey string           `json:"journey"`
	Key     string           `json:"key"`
	Step    string           `json:"step"`
	Outcome analysis.Outcome `json:"outcome"`
	Target  *string          `json:"target"`
	Source  string           `json:"source"`
	rawBytes
}

func journeyStepOf(s *analysis.JourneyStep) (journeyStepRecord, error) {
	return journeyStepRecord{
		At: moment{s.At}, Journey: s.Journey, Key: s.Key, Step: s.Step, Outcome: s.Outcome, Target: optional(&s.Target), Source: s.Source,
	}, nil
}

func (r journeyStepRecord) step(l *lineReader) (analysis.JourneyStep, error) {
	return analysis.JourneyStep{
		Source: l.name(r.Source), Journey: l.name(r.Journey), Key: r.Key, Step: l.name(r.Step), At: r.At.Time,
		Outcome: analysis.Outcome(l.name(string(r.Outcome))), Target: l.names(r.Target),
	}, nil
}

type gaugeRecord struct {
	At     moment  `json:"at"`
	Target string  `json:"target"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Source string  `json:"source"`
	rawBytes
}

func gaugeOf(g *analysis.Gauge) (gaugeRecord, error) {
	return gaugeRecord{At: moment{g.At}, Target: g.Target, Metric: g.Metric, Value: g.Value, Source: g.Source}, nil
}

func (r gaugeRecord) gauge(l *lineReader) (analysis.Gauge, error) {
	return analysis.Gauge{Source: l.name(r.Source), Target: l.name(r.Target), Metric: l.name(r.Metric), At: r.At.Time, Value: r.Value}, nil
}
