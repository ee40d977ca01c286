package analysis

import (
	"slices"
	"time"
)

// tornWrite fires when a process ended with work that it had begun and not ended, by
// the identifier that both lines carry, or with requests of ours that it had received
// and never answered. Somebody else may have been told of the work by then, and our
// side does not know what came of it.
//
// That an end is missing means something only where ends are told at all: the rule for
// them must have matched other work, and the log must have been seen from the
// beginning on until the process was gone. A process that is killed may take its last
// lines with it; what remains is work of which nobody can say that it ended.
func tornWrite(b *bench) ([]Finding, string) {
	var found []Finding
	why := b.untold(EventWorkBegan)
	works := why == ""
	if works {
		why = b.untold(EventWorkEnded)
		works = why == ""
	}
	answers := b.requestsReceived()
	blind, judged := false, 0
	for i := range b.stoppings {
		s := &b.stoppings[i]
		over := s.over()
		if over.IsZero() {
			continue
		}
		since := b.bornBefore(s)
		var begun []*Signal
		if works {
			begun = b.unended(s.target, since, over)
		}
		var received []HandledRequest
		if answers {
			received = b.unanswered(s.target, since, over)
		}
		first := over
		for _, w := range begun {
			first = earliest(first, w.At)
		}
		for _, h := range received {
			first = earliest(first, h.At)
		}
		if b.blindIn(b.logsOf(s.target), first, over) {
			blind = true
			continue
		}
		judged++
		if len(begun)+len(received) == 0 {
			continue
		}
		keys := []string{}
		for _, w := range begun {
			keys = append(keys, w.Key)
		}
		f := Finding{
			Severity: SeverityHigh, Target: new(s.target), From: Time{first}, To: Time{over},
			Values: map[string]any{
				"works": len(slices.Compact(slices.Sorted(slices.Values(keys)))), "keys": examples(keys), "received": len(received), "killed": !s.killed.IsZero(), "over_at": Time{over},
			},
			Evidence: signalEvidence(begun...),
		}
		if len(received) > 0 {
			f.Evidence = append(f.Evidence, Evidence{Kind: "requests", Source: received[0].Source, From: Time{received[0].At}, To: Time{received[len(received)-1].At}, Count: len(received)})
		}
		found = append(found, f)
	}
	switch {
	case len(found) > 0:
		return found, ""
	case !works && !answers:
		return nil, why
	case blind:
		return nil, whyAppLogBlind
	case judged == 0:
		return nil, whyNoStop
	case why == whyNeverMatched:
		return nil, why
	}
	return nil, ""
}

// bornBefore is when the process that a stop ended is known to have begun; the
// beginning of the evidence where nothing tells.
func (b *bench) bornBefore(s *stopping) time.Time {
	born := b.from.Add(-EdgeReach)
	for _, other := range b.stoppings {
		if other.target == s.target && other.from().Before(s.from()) {
			born = latest(born, other.over())
		}
	}
	return born
}

// unended are the first lines about work that a target began in [from, to), and that
// nobody ended.
func (b *bench) unended(target string, from, to time.Time) []*Signal {
	ended := map[string]time.Time{}
	for _, s := range b.signals[EventWorkEnded] {
		ended[s.Key] = latest(ended[s.Key], s.At)
	}
	seen := map[string]bool{}
	var list []*Signal
	for _, s := range b.during(from, to, EventWorkBegan) {
		if s.Target != target || s.Key == "" || seen[s.Key] {
			continue
		}
		if end := ended[s.Key]; !end.IsZero() && !end.Before(s.At.Add(-b.stopSlack())) {
			continue
		}
		seen[s.Key] = true
		list = append(list, s)
	}
	return list
}

// requestsReceived reports whether the logs tell both that a request was received and
// that it was answered, as at least one request shows.
func (b *bench) requestsReceived() bool {
	for _, lines := range b.handled {
		begun, answered := false, false
		for _, h := range lines {
			begun, answered = begun || h.Begun, answered || !h.Begun
		}
		if begun && answered {
			return true
		}
	}
	return false
}

// unanswered are our requests that a target received in [from, to) and that nobody
// answered, as far as application logs tell. One whose lines clocks make ambiguous is
// left out: its answer may be the line that was not believed.
func (b *bench) unanswered(target string, from, to time.Time) []HandledRequest {
	var list []HandledRequest
	for i, h := range b.obs.Handled {
		if b.doubtfulLines[i] || b.ambiguous[probeID{h.Run, h.Seq}] {
			continue
		}
		if !h.Begun || h.Target != target || h.At.Before(from) || !h.At.Before(to) {
			continue
		}
		if !slices.ContainsFunc(b.handled[probeID{h.Run, h.Seq}], func(other HandledRequest) bool { return !other.Begun }) {
			list = append(list, h)
		}
	}
	return list
}
