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
	works, requests := b.works(), b.received()
	for i := range b.stoppings {
		s := &b.stoppings[i]
		over := s.over()
		if over.IsZero() {
			continue
		}
		life := b.lifeOf(s.target, s.from())
		begun, worksUntold := b.unended(inside(works[s.target], workBegun.at, life.from, life.to))
		received, answersUntold := unanswered(inside(requests[s.target], requestReceived.at, life.from, life.to))
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
		f.Evidence = append(f.Evidence, Evidence{Kind: "requests", Source: received[0].Source, From: Time{received[0].At}, To: Time{received[len(received)-1].At}})
	}
	return f
}

// workBegun is a line about work that a target began.
type workBegun struct {
	*Signal
	ended bool // somebody ended it afterwards
}

func (w workBegun) at() time.Time { return w.At }

// works are the works that each target began, in order of time, less those without an
// identifier.
func (b *bench) works() map[string][]workBegun {
	ends := map[string]time.Time{}
	for _, s := range b.signals[EventWorkEnded] {
		ends[s.Key] = latest(ends[s.Key], s.At)
	}
	works := map[string][]workBegun{}
	for _, s := range b.during(time.Time{}, endOfTime, EventWorkBegan) {
		if s.Key != "" {
			works[s.Target] = append(works[s.Target], workBegun{s, !ends[s.Key].Before(s.At.Add(-b.stopSlack()))})
		}
	}
	return works
}

// unended are the first lines about works of a process that nobody ended; or why nobody
// can tell, where none of its works is known to have ended.
func (b *bench) unended(works []workBegun) (open []*Signal, untold string) {
	seen, ended := map[string]bool{}, false
	for _, w := range works {
		if w.ended {
			ended = true
			continue
		}
		if !seen[w.Key] {
			seen[w.Key] = true
			open = append(open, w.Signal)
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

// requestReceived is a request of ours that a target received.
type requestReceived struct {
	HandledRequest
	answered bool
}

func (r requestReceived) at() time.Time { return r.At }

// received are our requests that each target received, in order of time. One whose
// lines clocks make ambiguous is left out: its answer may be the line that was not
// believed.
func (b *bench) received() map[string][]requestReceived {
	received := map[string][]requestReceived{}
	for i, h := range b.obs.Handled {
		id := probeID{h.Run, h.Seq}
		if !h.Begun || b.doubtfulLines[i] || b.ambiguous[id] {
			continue
		}
		answered := slices.ContainsFunc(b.handled[id], func(other HandledRequest) bool { return !other.Begun })
		received[h.Target] = append(received[h.Target], requestReceived{h, answered})
	}
	for _, list := range received {
		slices.SortStableFunc(list, func(x, y requestReceived) int { return x.At.Compare(y.At) })
	}
	return received
}

// unanswered are the requests that a process received and that nobody answered, as far
// as application logs tell; or why nobody can tell, where none that it received is known
// to have been answered.
func unanswered(received []requestReceived) (open []HandledRequest, untold string) {
	untold = whySignals
	for _, r := range received {
		if r.answered {
			untold = ""
			continue
		}
		open = append(open, r.HandledRequest)
	}
	if untold != "" && len(open) > 0 {
		return nil, whyNeverMatched
	}
	return open, untold
}
