package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Which offsets most records allow.
func TestAgreement(t *testing.T) {
	four := []pairing{{low: 1, high: 3}, {low: 2, high: 5}, {low: 0, high: 4}, {low: 9, high: 10}}
	for _, c := range []struct {
		name     string
		joins    []pairing
		from, to float64
	}{
		{"one", four[:1], 1, 3},
		{"all agree", four[:3], 2, 3},
		{"three of four agree", four, 2, 3},
		{"two touch", []pairing{{low: 1, high: 3}, {low: 3, high: 5}, {low: 9, high: 10}}, 3, 3},
		{"two camps of the same size: neither is believed against the other", []pairing{{low: 1, high: 2}, {low: 7, high: 8}}, 1, 8},
	} {
		if from, to := agreement(c.joins); from != c.from || to != c.to {
			t.Errorf("%s: %v to %v, want %v to %v", c.name, from, to, c.from, c.to)
		}
	}
}

// Each request was under way for 9 ms. A line from its middle says that the server's
// clock is off by −4 to 6 ms.
func TestFindAmbiguous(t *testing.T) {
	const minute = 60_000
	agree := func(b *table) {
		b.handledAt(1000, 1009, 1005)
		b.handledAt(2000, 2009, 2005)
	}
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string // the requests whose joins are ambiguous
	}{
		{"all agree", agree, ""},
		{"one says 6 ms or more", func(b *table) { agree(b); b.handledAt(3000, 3009, 3015) }, ""},
		{"one says more than 6 ms", func(b *table) { agree(b); b.handledAt(3000, 3009, 3016) }, "2"},
		{"one says −4 ms or less", func(b *table) { agree(b); b.handledAt(3000, 3009, 2995) }, ""},
		{"one says less than −4 ms", func(b *table) { agree(b); b.handledAt(3000, 3009, 2994) }, "2"},
		{"the first says more than 6 ms", func(b *table) { b.handledAt(500, 509, 530); agree(b) }, "0"},
		{"one was never answered: its line may be from after we gave up", func(b *table) { agree(b); b.handledAt(3000, 3009, 3500).Status = 0 }, ""},
		{"one of another minute", func(b *table) { agree(b); b.handledAt(minute+3000, minute+3009, minute+3500) }, ""},
		{"one of another log", func(b *table) { agree(b); b.handledAt(3000, 3009, 3500); b.obs.Handled[2].Source = "api-2.log" }, ""},
		{"one of a prober with another clock", func(b *table) { agree(b); b.handledAt(3000, 3009, 3500).Source = "store@office" }, ""},
		{"a row of an access log of its own", func(b *table) { agree(b); b.rowOf(3000, 3009, 3500, 3505) }, ""},
		{"one row of three is late", func(b *table) {
			b.rowOf(1000, 1009, 1002, 1007)
			b.rowOf(2000, 2009, 2002, 2007)
			b.rowOf(3000, 3009, 3500, 3505)
		}, "2 row"},
		{"one row took longer than we waited, and may be right", func(b *table) {
			b.rowOf(1000, 1009, 1002, 1007) // −2 to 3
			b.rowOf(2000, 2009, 2002, 2007)
			b.rowOf(3000, 3009, 2999, 3013) // 4 to 0
		}, ""},
	} {
		b := newTable()
		c.lay(b)
		for _, h := range b.obs.Handled {
			id := probeID{h.Run, h.Seq}
			b.handled[id] = append(b.handled[id], h)
		}
		rows := len(b.logged)
		b.findAmbiguous()
		var got []string
		for id := range b.ambiguous {
			word := fmt.Sprint(id.seq)
			if len(b.logged) < rows {
				word += " row"
			} else if len(b.handled[id]) > 0 {
				word += " believed"
			}
			got = append(got, word)
		}
		for i := range b.obs.Handled {
			if h := b.obs.Handled[i]; b.doubtfulLines[i] != b.ambiguous[probeID{h.Run, h.Seq}] {
				t.Errorf("%s: line %d is doubtful: %v", c.name, i, b.doubtfulLines[i])
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A line dates that its target served where it tells an answer, names its target, and
// no clock contradicts it.
func TestServedAt(t *testing.T) {
	for _, c := range []struct {
		name string
		bend func(*table, *HandledRequest)
		want bool
	}{
		{"an answer", func(*table, *HandledRequest) {}, true},
		{"received only", func(_ *table, h *HandledRequest) { h.Begun = true }, false},
		{"nothing tells by whom", func(_ *table, h *HandledRequest) { h.Target = "" }, false},
		{"contradicted", func(b *table, _ *HandledRequest) { b.doubtfulLines[0] = true }, false},
		{"after the window", func(b *table, h *HandledRequest) { h.At = b.at(300) }, false},
	} {
		b := newTable()
		b.handledAt(1000, 1009, 1005)
		c.bend(b, &b.obs.Handled[0])
		if _, got := b.servedAt(0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
