package analysis

import (
	"slices"
	"time"
)

// What slowed a probe request down.
const (
	stallProber       = "prober" // or the network next to it
	stallNetwork      = "network"
	stallBalancer     = "load_balancer"
	stallServer       = "server"
	stallUndetermined = "undetermined"
)

// probeStall fires for business probes that took at least a second and ten times
// their usual time; requests that overlap and have the same cause are one finding. What
// was slow is told from the other witnesses of the moment:
//
//   - server: by the access log the target itself took at least half of it, or was sent
//     it, for that long, and never answered;
//   - load_balancer: by the log the request spent at least half of it elsewhere between
//     its arrival and its answer: it waited before it was sent to the target, or after the
//     target had answered, or was sent to none;
//   - prober: the load balancer was quick with it, and so was every request that was
//     sent from another place meanwhile and succeeded: it lies with the prober or next to
//     it;
//   - network: the load balancer was quick with it, and a request from another place
//     was slow as well: it lies between, further from the prober;
//   - undetermined: the load balancer was quick with it and nobody else probed just
//     then, by clocks that are known against each other; or no log has it; or the log does
//     not say how long the target took that answered.
func probeStall(b *bench) ([]Finding, string) {
	var found []Finding
	compared := false
	for _, probe := range b.obs.Service.Probes {
		if probe.Class != ClassProbe {
			continue
		}
		limit, usual, ok := b.stallLimit(probe.Name)
		if !ok {
			continue
		}
		compared = true
		for _, one := range b.stalls(probe.Name, limit) {
			values := map[string]any{
				"probe": probe.Name, "requests": one.requests, "took_s": seconds(one.took), "usual_ms": milliseconds(usual), "cause": one.cause,
				"balancer_s": nil, "target_s": nil, "before_target_s": nil, "others_slow": b.slowAlongside(one.worst),
			}
			if r := one.row; r != nil {
				values["balancer_s"] = seconds(r.Duration)
				if r.TargetTook != nil {
					values["target_s"] = seconds(*r.TargetTook)
				}
				if r.Before != nil {
					values["before_target_s"] = seconds(*r.Before)
				}
			}
			found = append(found, Finding{
				Severity: SeverityMedium, From: Time{one.from}, To: Time{one.to}, Values: values,
				Evidence: []Evidence{{Kind: "probes", Source: one.worst.Source, Traffic: ClassProbe, From: Time{one.from}, To: Time{one.to}, Count: one.requests}},
			})
		}
	}
	if !compared {
		return nil, whyNoProbes
	}
	return found, ""
}

// stall are slow requests of one probe that overlap and were slowed by the same.
type stall struct {
	from, to time.Time
	requests int
	worst    *ProbeRequest // the slowest of them
	took     time.Duration // of the slowest
	row      *Request      // its row in the access log, nil where that has none
	cause    string
}

// stalls are those of a probe, by their beginning.
func (b *bench) stalls(probe string, limit time.Duration) []stall {
	var all []stall
	for i := range b.obs.Probes { // by when they were sent
		p := &b.obs.Probes[i]
		took := p.Done.Sub(p.Sent)
		if p.Probe != probe || took < limit || !b.inWindow(p.Sent) {
			continue
		}
		cause, row := b.stallCause(p, took)
		with := slices.IndexFunc(all, func(s stall) bool { return s.cause == cause && s.worst.Source == p.Source && !p.Sent.After(s.to) })
		if with < 0 {
			all = append(all, stall{from: p.Sent, to: p.Done, requests: 1, worst: p, took: took, row: row, cause: cause})
			continue
		}
		s := &all[with]
		s.to, s.requests = latest(s.to, p.Done), s.requests+1
		if took > s.took {
			s.worst, s.took, s.row = p, took, row
		}
	}
	return all
}

// stallFactor is how many times its median a request must take to be a stall.
const stallFactor = 10

// stallLimit is the time from which a request of a probe is a stall, and its median; ok
// is false without a single success to compare with.
func (b *bench) stallLimit(probe string) (limit, usual time.Duration, ok bool) {
	var took []time.Duration
	for i := range b.obs.Probes {
		if p := &b.obs.Probes[i]; p.Probe == probe && p.Outcome == OutcomeOK && b.inWindow(p.Sent) {
			took = append(took, p.Done.Sub(p.Sent))
		}
	}
	if len(took) == 0 {
		return 0, 0, false
	}
	slices.Sort(took)
	usual = took[nearestRank(.5, len(took))-1]
	return max(time.Second, stallFactor*usual), usual, true
}

// stallCause weighs a slow request against its row in the access log, which keeps
// slow rows one by one.
func (b *bench) stallCause(p *ProbeRequest, took time.Duration) (cause string, row *Request) {
	r := b.logged[probeID{p.Run, p.Seq}]
	switch {
	case r == nil && b.inLog(p): // and not among the slow rows, which are kept one by one
		return b.stallElsewhere(p, took), nil
	case r == nil || r.Start.IsZero():
		return stallUndetermined, nil
	case 2*r.Duration < took:
		return b.stallElsewhere(p, took), r
	}
	return r.heldBy(took), r
}

// heldBy tells the target's own time from the load balancer's, in a row that is long
// enough: which of the two is at least half of the time that a request took.
func (r *Request) heldBy(took time.Duration) string {
	target := r.TargetTook
	switch {
	case target != nil: // the log says it
	case r.TargetStatus > 0: // it answered, and nothing says after how long
		return stallUndetermined
	case r.Connected && r.Before != nil: // until the end, and never answered
		target = new(r.Duration - *r.Before)
	case r.Connected:
		target = &r.Duration
	default:
		target = new(time.Duration(0))
	}
	switch {
	case 2**target >= took:
		return stallServer
	case 2*(r.Duration-*target) >= took:
		return stallBalancer
	}
	return stallUndetermined
}

// inLog reports whether a log that counts has the row of a probe request.
func (b *bench) inLog(p *ProbeRequest) bool {
	return slices.ContainsFunc(b.obs.Known, func(k KnownRequests) bool {
		_, found := slices.BinarySearch(k.Seqs, uint32(p.Seq))
		return found && k.Run == p.Run && b.counting[k.Source]
	})
}

// stallElsewhere tells a slow way to the load balancer by what went another way at the
// time. Only a success that was quick shows that a way was: a refusal is as quick on a
// way that is broken. Of a request that may have been at the time, or not, as far as the
// two clocks are known, only this is known: whether it was slow.
func (b *bench) stallElsewhere(p *ProbeRequest, took time.Duration) string {
	quick, slow, perhaps := false, false, false
	for i := range b.obs.Probes {
		o := &b.obs.Probes[i]
		if Vantage(o.Source) == Vantage(p.Source) {
			continue
		}
		surely, maybe := b.alongside(p, o)
		switch isSlow := 2*o.Done.Sub(o.Sent) >= took; {
		case isSlow && surely:
			slow = true
		case isSlow && maybe:
			perhaps = true
		case surely && o.Outcome == OutcomeOK:
			quick = true
		}
	}
	switch {
	case slow:
		return stallNetwork
	case quick && !perhaps:
		return stallProber
	}
	return stallUndetermined
}

// alongside reports whether another request surely overlapped with one, and whether it
// may have, as far as the clocks of the two places are known against each other.
func (b *bench) alongside(p, o *ProbeRequest) (surely, maybe bool) {
	ahead, known := b.clockAhead(Vantage(p.Source), Vantage(o.Source))
	if !known {
		return false, true
	}
	least, most := fromMilliseconds(ahead.From), fromMilliseconds(ahead.To)
	surely = o.Sent.Add(-least).Before(p.Done) && o.Done.Add(-most).After(p.Sent)
	maybe = o.Sent.Add(-most).Before(p.Done) && o.Done.Add(-least).After(p.Sent)
	return surely, maybe
}

// clockAhead bounds by how much, in milliseconds, the clock of one place is ahead of
// another's: both are known against the clocks of the same logs. It is not known
// without such a log.
func (b *bench) clockAhead(of, place string) (ahead Interval, known bool) {
	return b.offset(proberAt(place), proberAt(of))
}

func fromMilliseconds(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}

// slowAlongside counts requests of the other probes that were surely as slow meanwhile.
func (b *bench) slowAlongside(p *ProbeRequest) int {
	n := 0
	for i := range b.obs.Probes {
		o := &b.obs.Probes[i]
		if o.Probe == p.Probe || 2*o.Done.Sub(o.Sent) < p.Done.Sub(p.Sent) {
			continue
		}
		if surely, _ := b.alongside(p, o); surely {
			n++
		}
	}
	return n
}
