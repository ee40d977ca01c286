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
// That an end is missing means something only where ends of this very process are
// told, as that of other work that it had begun: the next version may word its lines
// otherwise. And the log must have been seen from the beginning on until the process
// was gone. A process that is killed may take its last lines with it; what remains is
// work of which nobody can say that it ended.
func tornWrite(b *bench) ([]Finding, string) {
	var found []Finding
	why := whyNoStop
	for i := range b.stoppings {
		s := &b.stoppings[i]
		over := s.over()
		if over.IsZero() {
			continue
		}
		life := b.lifeOf(s.target, s.from())
		begun, worksUntold := b.unended(s.target, life)
		received, answersUntold := b.unanswered(s.target, life)
		first := over
		for _, w := range begun {
			first = earliest(first, w.At)
		}
		for _, h := range received {
			first = earliest(first, h.At)
		}
		untold := []string{worksUntold, answersUntold}
		switch {
		case b.unseenIn(b.logsOf(s.target), first, over):
			why = whyAppLogBlind
		case len(begun)+len(received) > 0:
			found = append(found, torn(s, first, begun, received))
		case slices.Contains(untold, whyNeverMatched):
			why = whyNeverMatched
		case !slices.Contains(untold, ""):
			why = whySignals
		case why == whyNoStop:
			why = ""
		}
	}
	if len(found) > 0 {
		return found, ""
	}
	return nil, why
}

// torn is the finding of a process that ended with work begun and requests received,
// the first of them at some moment.
func torn(s *stopping, first time.Time, begun []*Signal, received []HandledRequest) Finding {
	keys := []string{}
	for _, w := range begun {
		keys = append(keys, w.Key)
	}
	f := Finding{
		Severity: SeverityHigh, Target: new(s.target), From: Time{first}, To: Time{s.over()},
		Values: map[string]any{
			"works": len(keys), "keys": examples(keys), "received": len(received), "killed": !s.killed.IsZero(), "over_at": Time{s.over()},
		},
		Evidence: signalEvidence(begun...),
	}
	if len(received) > 0 {
		f.Evidence = append(f.Evidence, Evidence{Kind: "requests", Source: received[0].Source, From: Time{received[0].At}, To: Time{received[len(received)-1].At}, Count: len(received)})
	}
	return f
}

// unended are the first lines about work that a process of a target began and that
// nobody ended; or why nobody can tell, where no work of that process is known to have
// ended.
func (b *bench) unended(target string, life span) (open []*Signal, untold string) {
	ends := map[string]time.Time{}
	for _, s := range b.signals[EventWorkEnded] {
		ends[s.Key] = latest(ends[s.Key], s.At)
	}
	seen, ended := map[string]bool{}, false
	for _, s := range b.during(life.from, life.to, EventWorkBegan) {
		if s.Target != target || s.Key == "" {
			continue
		}
		if !ends[s.Key].Before(s.At.Add(-b.stopSlack())) {
			ended = true
			continue
		}
		if !seen[s.Key] {
			seen[s.Key] = true
			open = append(open, s)
		}
	}
	if ended {
		return open, ""
	}
	for _, event := range []Event{EventWorkBegan, EventWorkEnded} {
		if why := b.untold(event); why != "" {
			return nil, why
		}
	}
	return nil, whyNeverMatched // of other processes they tell
}

// unanswered are our requests that a process of a target received and that nobody
// answered, as far as application logs tell; or why nobody can tell, where none that it
// received is known to have been answered. One whose lines clocks make ambiguous is
// left out: its answer may be the line that was not believed.
func (b *bench) unanswered(target string, life span) (open []HandledRequest, untold string) {
	untold = whySignals
	for i, h := range b.obs.Handled {
		if b.doubtfulLines[i] || b.ambiguous[probeID{h.Run, h.Seq}] {
			continue
		}
		if !h.Begun || h.Target != target || !within(h.At, life.from, life.to) {
			continue
		}
		if slices.ContainsFunc(b.handled[probeID{h.Run, h.Seq}], func(other HandledRequest) bool { return !other.Begun }) {
			untold = ""
			continue
		}
		open = append(open, h)
	}
	if untold != "" && len(open) > 0 {
		return nil, whyNeverMatched
	}
	return open, untold
}
