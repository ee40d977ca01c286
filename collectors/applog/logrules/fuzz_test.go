package logrules

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever is in a log: every line whose time is known counts as tried once for every
// rule, none matches more lines than it was tried on, and reading in two stretches,
// with the state stored between them, tells the same as reading in one.
func FuzzLines(f *testing.F) {
	for _, lines := range [][]string{
		{spring("Started App in 2.3 seconds (process running for 2.9)"), "\tat x", spring("Graceful shutdown complete"), "Graceful shutdown complete"},
		{journald("systemd", "a.service: Main process exited, code=killed, status=9/KILL")},
		{`{"time":"2026-10-14T06:25:01Z","msg":"Graceful shutdown complete"}`, `{"ts":1791959101.5,"msg":"order=1 work begun"}`},
		{"banner", "Graceful shutdown complete", "2026-10-14T06:25:01Z x", "2026-10-14T06:25:01Z rid=r1-1 status=200"},
		{"14-Oct-2026 06:25:01.000 INFO [main] a.b Server startup in [1] ms", "2026/10/14 06:25:01 [error] 1#1: *1 no live upstreams while connecting to upstream, client: x, upstream: \"http://a/\""},
	} {
		f.Add(strings.Join(lines, "\n"), uint8(1))
	}
	in := interpreter(f, Config{Sets: Sets, LogMatch: answered, ReceivedMatch: received, Own: []Own{
		{Name: "work-began", Match: `order=(?P<key>\S+) work begun`, Event: "work.began"},
		{Name: "journey", Match: `^journey=(?P<journey>\S+) key=(?P<key>\S+) step=(?P<step>\S+) outcome=(?P<outcome>\S+)`, Event: "journey.step"},
	}})
	f.Fuzz(func(t *testing.T, text string, cut uint8) {
		lines := strings.Split(text, "\n")
		whole, state := NewBatch(), State{}
		placed := 0
		for _, line := range lines {
			in.Line(whole, &state, Line{Text: []byte(line)})
			if !in.line.at.IsZero() || in.line.second != whole.seconds[time.Time{}.Unix()] {
				placed++
			}
		}
		in.Settle(whole, &state)
		counts := totals(in, whole)
		for rule, n := range counts {
			if n[1] > n[0] || rule != RuleProbe && n[0] != placed {
				t.Errorf("%s: %d of %d lines matched, %d have a time", rule, n[1], n[0], placed)
			}
		}
		for _, s := range whole.Signals {
			for _, value := range append(slices.Collect(maps.Values(s.Values)), s.Name, s.Key, s.Target) {
				if !utf8.ValidString(value) || len(value) > longest {
					t.Errorf("%s took %q", s.Rule, value)
				}
			}
		}

		first, second, stored := NewBatch(), NewBatch(), State{}
		at := min(int(cut), len(lines))
		for _, line := range lines[:at] {
			in.Line(first, &stored, Line{Text: []byte(line)})
		}
		in.Settle(first, &stored)
		encoded, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		stored = State{}
		if err := json.Unmarshal(encoded, &stored); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[at:] {
			in.Line(second, &stored, Line{Text: []byte(line)})
		}
		in.Settle(second, &stored)
		if !stored.Last.Equal(state.Last) || stored.Timed != state.Timed || stored.Objects != state.Objects {
			t.Errorf("ends at %+v in two stretches, %+v in one", stored, state)
		}
		for rule, n := range totals(in, second) {
			before := totals(in, first)[rule]
			if got := [2]int{before[0] + n[0], before[1] + n[1]}; got != counts[rule] && len(totals(in, first)) > 0 {
				t.Errorf("%s: %v in two stretches, %v in one", rule, got, counts[rule])
			}
		}
		split := append(outcome(first), outcome(second)...)
		slices.Sort(split)
		one := outcome(whole)
		if slices.Sort(one); !slices.Equal(one, split) {
			t.Errorf("told %q in two stretches, %q in one", split, one)
		}
	})
}

func totals(in *Interpreter, b *Batch) map[string][2]int {
	all := map[string][2]int{}
	for _, c := range in.Counts(b) {
		n := all[c.Rule]
		all[c.Rule] = [2]int{n[0] + c.Lines, n[1] + c.Matched}
	}
	return all
}
