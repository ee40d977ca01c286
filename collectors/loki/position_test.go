package loki

import (
	"slices"
	"testing"
)

// However many moments are cut, the position stays small, and none of them is ever
// taken for read.
func TestCutMomentsAreBounded(t *testing.T) {
	p := &position{}
	for i := range int64(3 * mostCut) {
		at := (i*7919)%(3*mostCut)*1e9 + 1 // every second, in no order
		p.cut(at)
		p.cut(at)
	}
	if len(p.Cut) > mostCut {
		t.Errorf("%d moments are kept", len(p.Cut))
	}
	for i := range int64(3 * mostCut) {
		at := i*1e9 + 1
		if !slices.ContainsFunc(p.Cut, func(c [2]int64) bool { return c[0] <= at && at <= c[1] }) {
			t.Fatalf("%d is not among them", at)
		}
	}
	for i := 1; i < len(p.Cut); i++ {
		if p.Cut[i-1][1] >= p.Cut[i][0] {
			t.Fatalf("%v is not before %v", p.Cut[i-1], p.Cut[i])
		}
	}
	if again, err := decodePosition(p.encode()); err != nil || !slices.Equal(again.Cut, p.Cut) {
		t.Errorf("stored and read again: %v", err)
	}
}

func TestGaps(t *testing.T) {
	p := &position{Spans: []*span{{From: 10, To: 20}, {From: 20, To: 30}, {From: 50, To: 60}}}
	for _, test := range []struct {
		from, to int64
		want     [][2]int64
	}{
		{0, 5, [][2]int64{{0, 5}}},
		{0, 10, [][2]int64{{0, 10}}},
		{12, 28, nil},
		{0, 100, [][2]int64{{0, 10}, {30, 50}, {60, 100}}},
		{25, 55, [][2]int64{{30, 50}}},
		{30, 50, [][2]int64{{30, 50}}},
		{35, 70, [][2]int64{{35, 50}, {60, 70}}},
	} {
		var got [][2]int64
		for _, g := range p.gaps(test.from, test.to) {
			got = append(got, [2]int64{g.from, g.to})
			if g.after != nil && g.after.To > g.from {
				t.Errorf("[%d, %d): the gap from %d begins inside of what was read", test.from, test.to, g.from)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("[%d, %d): %v, want %v", test.from, test.to, got, test.want)
		}
	}
}

func TestPositionThatCannotBe(t *testing.T) {
	for _, text := range []string{`{`, `{"spans":[null]}`, `{"spans":[{"from":5,"to":1,"look":5}]}`, `{"spans":[{"from":0,"to":9,"look":0},{"from":5,"to":10,"look":5}]}`,
		`{"spans":[{"from":5,"to":9,"look":1}]}`, `{"spans":[{"from":5,"to":9,"look":5,"seen":{"x":1}}]}`} {
		if _, err := decodePosition([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
