package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// retryMasked fires when a proxy asked another target after one had failed, so that
// the client got its answer: such a request is not lost and not counted as failed, but
// the deploy did break an attempt, and without the retry it would have lost it. It
// looks at every access log, whether it counts users or not, and at each class apart.
func retryMasked(b *bench) ([]Finding, string) {
	proxies := map[string]bool{}
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, log := range balancer.AccessLogs {
			if tellsAttempts[log.Kind] {
				proxies[log.Name] = true
			}
		}
	}
	if len(proxies) == 0 {
		return nil, whyNoAttempts
	}
	type key struct {
		source string
		class  Class
	}
	found := map[key]*masked{}
	targets := false
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if !proxies[c.Source] {
			continue
		}
		targets = targets || c.Target != ""
		k := key{c.Source, c.Class}
		if found[k] == nil {
			found[k] = &masked{}
		}
		found[k].add(c, b.started, b.seenTo)
	}
	if !targets { // the logs do not say who was asked
		return nil, whyNoAttempts
	}
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		if m := found[key{r.Source, r.Class}]; m != nil && len(r.FailedOn) > 0 && !r.Outcome.Failure() && !r.End.Before(b.started) && r.moment().Before(b.seenTo) {
			m.on = append(m.on, r.FailedOn...)
			m.kept++
		}
	}
	var findings []Finding
	for k, m := range found {
		if m.count == 0 {
			continue
		}
		slices.Sort(m.on)
		on := slices.Compact(slices.Clone(m.on))
		f := Finding{
			Severity: SeverityMedium, From: Time{m.from}, To: Time{m.to},
			Values: map[string]any{
				"source": k.source, "traffic": k.class, "masked": m.count, "requests": m.requests, "failed_attempts": max(len(m.on), m.count),
				"baseline": m.before, "baseline_requests": m.requestsBefore, "failed_on": slices.DeleteFunc(on, func(s string) bool { return s == "" }),
			},
			Evidence: []Evidence{{Kind: "requests", Source: k.source, Traffic: k.class, From: Time{m.from}, To: Time{m.to}, Count: m.count}},
		}
		if len(on) == 1 && on[0] != "" && m.kept >= m.count { // of many alike only a sample is kept, and others may have failed elsewhere
			f.Target = new(on[0])
		}
		findings = append(findings, f)
	}
	slices.SortFunc(findings, func(x, y Finding) int {
		return cmp.Or(strings.Compare(x.Values["source"].(string), y.Values["source"].(string)), cmp.Compare(x.Values["traffic"].(Class), y.Values["traffic"].(Class)))
	})
	return findings, ""
}

// tellsAttempts are the kinds of access logs that say which targets were asked before
// the one that answered. An ALB does not ask a second one.
var tellsAttempts = map[string]bool{"nginx": true, "nginx-json": true, "haproxy": true}

// masked counts the hidden failures of one class in one log.
type masked struct {
	count, requests        int // since the deploy started
	before, requestsBefore int
	from, to               time.Time
	kept                   int      // of count: kept one by one
	on                     []string // targets of the failed attempts of those kept, "" where the log does not say
}

func (m *masked) add(c *Cell, started, seenTo time.Time) {
	at := time.Unix(c.Second, 0).UTC()
	switch {
	case !at.Before(seenTo):
	case c.Last.Before(started):
		m.before += c.Masked
		m.requestsBefore += c.Count
	default:
		m.count += c.Masked
		m.requests += c.Count
		if c.Masked == 0 {
			return
		}
		m.from = earliest(m.from, c.First)
		m.to = latest(m.to, c.Last)
	}
}
