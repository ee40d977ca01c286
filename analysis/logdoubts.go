package analysis

import (
	"slices"
	"time"
)

// silentExpected is how many rows must have been due in a pause of a log before the
// pause counts as missing evidence: at a steady rate the chance of none is e^-30.
const silentExpected = 30

// logDoubt is a reason not to take an access log for whole.
type logDoubt struct {
	code   string // of the condition that says so
	values map[string]any
}

// logDoubts lists what speaks against a counting access log being whole over a scope,
// though nothing of it is known to be blind: lines that were not understood, and
// pauses in which rows were due by the baseline's rate. Either may hide a failure.
func (b *bench) logDoubts(source string, from, to time.Time) []logDoubt {
	var doubts []logDoubt
	lines := 0
	for _, o := range b.obs.Objects {
		if o.Source == source && (o.To.IsZero() || o.To.After(from)) && o.From.Before(to) {
			lines += o.SetAside - o.Requestless
		}
	}
	if lines > 0 {
		doubts = append(doubts, logDoubt{"lines-not-understood", map[string]any{"source": source, "lines": lines}})
	}
	for _, s := range b.silences(source, from, to) {
		values := map[string]any{"source": source, "from": Time{s.from}, "to": Time{s.to}, "seconds": seconds(s.to.Sub(s.from))}
		if s.node != "" {
			values["node"] = s.node
		}
		doubts = append(doubts, logDoubt{"log-silent", values})
	}
	return doubts
}

// logRows is how many rows of the baseline a log has, or one of the nodes that write it, and
// the seconds with any row, in no order.
type logRows struct {
	base    int
	seconds []int64
}

// silence is a stretch in which a log, or one of the nodes that write it, has no row.
type silence struct {
	span
	node string // empty: the log as a whole
}

// silences are the pauses of a log in a scope, and those of each of its nodes while others
// wrote, that the rate in the baseline makes next to impossible. While late objects are
// awaited, the time after the last row is none. A node that the load balancer gave up looks
// like one whose log is lost: nothing here tells them apart.
func (b *bench) silences(source string, from, to time.Time) []silence {
	all, nodes, last, name := &logRows{}, map[string]*logRows{}, (*logRows)(nil), ""
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Source != source {
			continue
		}
		if last == nil || c.Node != name {
			if last, name = nodes[c.Node], c.Node; last == nil {
				last = &logRows{}
				nodes[name] = last
			}
		}
		for _, p := range []*logRows{all, last} {
			if n := len(p.seconds); n == 0 || p.seconds[n-1] != c.Second {
				p.seconds = append(p.seconds, c.Second)
			}
			if c.Second < b.started.Unix() {
				p.base += c.Count
			}
		}
	}
	var silent []silence
	whole := b.pausesOf(all, from, to)
	for _, s := range whole {
		silent = append(silent, silence{span: s})
	}
	for _, name := range sortedKeys(nodes) {
		for _, s := range b.pausesOf(nodes[name], from, to) {
			if len(without([]span{s}, whole)) > 0 {
				silent = append(silent, silence{s, name})
			}
		}
	}
	return silent
}

// pausesOf are the pauses in a scope, ascending, in which more than [silentExpected] rows
// were due by the rate in the baseline.
func (b *bench) pausesOf(p *logRows, from, to time.Time) []span {
	length := seconds(b.started.Sub(b.obs.From))
	if p.base < lowTraffic || length <= 0 {
		return nil
	}
	rate := float64(p.base) / length
	at := slices.DeleteFunc(p.seconds, func(second int64) bool { return second >= to.Unix() })
	slices.Sort(at)
	if b.settled() {
		at = append(at, to.Unix())
	}
	var silent []span
	before := from.Unix()
	for _, second := range at {
		if rate*float64(second-before-1) > silentExpected {
			silent = append(silent, span{time.Unix(before+1, 0).UTC(), time.Unix(second, 0).UTC()})
		}
		before = max(before, second)
	}
	return silent
}

// unchecked lists the nodes of a counting access log that no request known to us
// touched from the start on: of what they logged nothing says that it is all. A log
// without any known request has one entry, without a name.
func (b *bench) unchecked(source string) []string {
	if known, _ := b.knownFound(source, b.started, b.to); known == 0 {
		return []string{""}
	}
	return b.untouched(source, b.started, b.to)
}

// untouched lists the nodes that wrote to a log and that no known request met which was
// sent in [from, to), where requests are known one by one.
func (b *bench) untouched(source string, from, to time.Time) []string {
	known, touched, nodes := false, map[string]bool{}, map[string]struct{}{}
	for _, k := range b.obs.Known {
		if k.Source != source {
			continue
		}
		known = known || len(k.Seqs) > 0
		touched[k.Node] = touched[k.Node] || slices.ContainsFunc(k.Seqs, func(seq uint32) bool {
			p := b.sent[probeID{k.Run, int(seq)}]
			return p != nil && within(p.Sent, from, to)
		})
	}
	for _, o := range b.obs.Objects {
		if known && o.Source == source && o.Node != "" && o.Lines > 0 && !touched[o.Node] {
			nodes[o.Node] = struct{}{}
		}
	}
	return sortedKeys(nodes)
}

// unfinished reports whether the evidence cannot cover the deploy: it has not
// reported, it reports before it starts, or steps of its own lie at or after the
// window's end. One that nobody announced reports nothing; its window goes on for as
// long as there are signs of it.
func (b *bench) unfinished() bool {
	d := b.obs.Deploy
	if d.ID == "" || !b.obs.Part.IsZero() || d.Noticed() {
		return false
	}
	if d.ReportedAt.IsZero() || d.ReportedAt.Before(d.StartedAt) || !d.ReportedAt.Before(b.to) {
		return true
	}
	return slices.ContainsFunc(b.obs.Steps, func(s Step) bool { return s.Deploy == d.ID && !s.At.Before(b.to) })
}
