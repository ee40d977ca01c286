package virtual

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gapless/analysis"
)

// TestCalibration judges random deploys and compares with the truth. 10,000 of them
// stand in the README; CALIBRATE sets another number, CALIBRATE_SEED other deploys.
func TestCalibration(t *testing.T) {
	n := 300
	if s := os.Getenv("CALIBRATE"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	seed := uint64(1)
	if s := os.Getenv("CALIBRATE_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	c := Calibrate(seed, n)
	var table strings.Builder
	c.Print(&table)
	t.Log(table.String())
	for _, wrong := range c.Wrong {
		t.Error(wrong)
	}
	for i := range c.Deciles {
		d := &c.Deciles[i]
		if d.Windows < 30 {
			continue
		}
		// Of ten deciles one is more than 3.5 standard errors off in one run of 200.
		if math.Abs(d.Off()) > 3.5 {
			t.Errorf("decile %d: %.1f standard errors off", i, d.Off())
		}
		if math.Abs(d.Bias()) > 0.001 {
			t.Errorf("decile %d: all places taken together, %.3f %% more are missed than predicted", i, 100*d.Bias())
		}
	}
	if d := &c.Longest; math.Abs(d.Bias()) > 0.0005 || math.Abs(d.Off()) > 3.5 || d.Windows < n {
		t.Errorf("of %d outages as long as is missed with 5 %%: %.3f %% more of all places, %.1f standard errors off", d.Windows, 100*d.Bias(), d.Off())
	}
	for i := range c.Shares {
		// Where each request went has chance in it, also over all places.
		if d := &c.Shares[i]; d.Windows >= 30 && (math.Abs(d.Off()) > 3.5 || math.Abs(d.Bias()) > 0.02) {
			t.Errorf("without attribution, decile %d: %.1f standard errors off; all places taken together, %.2f %% more are missed than predicted", i, d.Off(), 100*d.Bias())
		}
	}
	for _, state := range []analysis.VerdictState{analysis.Disproved, analysis.Supported, analysis.Inconclusive} {
		if c.Verdicts[state] < n/50 {
			t.Errorf("only %d deploys are %s: the worlds do not exercise it", c.Verdicts[state], state)
		}
	}
}

// TestMissedShare holds the truth's own figure against numbers worked out by hand.
func TestMissedShare(t *testing.T) {
	for _, c := range []struct {
		name   string
		spans  []stretch
		sent   []float64
		length float64
		want   float64
	}{
		// Of 9 s of beginnings, one request at 5 meets those from 4 to 5.
		{"one request", []stretch{{0, 10}}, []float64{5}, 1, 8.0 / 9},
		// At the edges: beginnings 0 to 0.5, and 8.5 to 9 (a later one does not fit).
		{"edges", []stretch{{0, 10}}, []float64{0.5, 9.5}, 1, 8.0 / 9},
		{"requests closer than the outage count once", []stretch{{0, 10}}, []float64{5, 5.5}, 1, 7.5 / 9},
		{"two stretches, one too short", []stretch{{0, 10}, {20, 20.5}}, []float64{5, 20.1}, 1, 8.0 / 9},
		// 9 + 4 s of beginnings; 1 met in each.
		{"two stretches", []stretch{{0, 10}, {20, 25}}, []float64{5, 22}, 1, 11.0 / 13},
	} {
		got, ok := missedShare(c.spans, c.sent, c.length)
		if !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if _, ok := missedShare([]stretch{{0, 1}}, nil, 5); ok {
		t.Error("an outage longer than the time in rotation has a chance")
	}
}

// What is drawn is what is counted over all places: a hundred thousand draws into two
// stretches with requests at random, for each chance from a tenth to nine tenths.
func TestDrawnAndAllPlacesAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, perSecond := range []float64{0.2, 0.5, 1, 2, 5} {
		spans := []stretch{{0, 60}, {75, 150}}
		var sent []float64
		for at := random.ExpFloat64() / perSecond; at < 150; at += random.ExpFloat64() / perSecond {
			sent = append(sent, at)
		}
		for _, length := range []float64{0.1, 0.4, 1, 5} {
			exact, _ := missedShare(spans, sent, length)
			const draws = 100_000
			missed := 0.0
			for range draws {
				from := draw(random, spans, length)
				if !slices.ContainsFunc(sent, func(at float64) bool { return at >= from && at < from+length }) {
					missed++
				}
			}
			if off := (missed - draws*exact) / math.Sqrt(draws*exact*(1-exact)+1); math.Abs(off) > 4 {
				t.Errorf("%v a second, %v s: %.2f %% of the draws missed, %.2f %% of all places; %.1f standard errors", perSecond, length, missed/draws*100, exact*100, off)
			}
		}
	}
}
