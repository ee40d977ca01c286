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
		doubts = append(doubts, logDoubt{"log-silent", map[string]any{"source": source, "from": Time{s.from}, "to": Time{s.to}, "seconds": seconds(s.to.Sub(s.from))}})
	}
	return doubts
}

// silences are the pauses of a log in a scope that its baseline's rate makes next to
// impossible. While late objects are awaited, the time after the last row is none.
func (b *bench) silences(source string, from, to time.Time) []span {
	rows, base := map[int64]struct{}{}, 0
	baselineEnds := b.started
	for i := range b.obs.Cells {
		c := &b.obs.Cells[i]
		if c.Source != source {
			continue
		}
		rows[c.Second] = struct{}{}
		if c.Second < baselineEnds.Unix() {
			base += c.Count
		}
	}
	length := seconds(baselineEnds.Sub(b.obs.From))
	if base < lowTraffic || length <= 0 {
		return nil
	}
	rate := float64(base) / length
	var at []int64
	for second := range rows {
		if second < to.Unix() {
			at = append(at, second)
		}
	}
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
// touched: of what they logged nothing says that it is all. A log without any known
// request has one entry, without a name.
func (b *bench) unchecked(source string) []string {
	if known, _ := b.knownFound(source, b.started, b.to); known == 0 {
		return []string{""}
	}
	return b.untouched(source)
}

// untouched lists the nodes that wrote to a log and that no known request met, where
// requests are known one by one.
func (b *bench) untouched(source string) []string {
	touched, nodes := map[string]bool{}, map[string]struct{}{}
	for _, k := range b.obs.Known {
		if k.Source == source && len(k.Seqs) > 0 {
			touched[k.Node] = true
		}
	}
	for _, o := range b.obs.Objects {
		if o.Source == source && o.Node != "" && o.Lines > 0 && len(touched) > 0 && !touched[o.Node] {
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
