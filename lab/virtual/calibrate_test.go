package virtual

import (
	"os"
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
	for i, d := range c.Deciles {
		if d.Windows >= 30 && (d.Off() > 3 || d.Off() < -3) {
			t.Errorf("decile %d: %.1f standard errors off", i, d.Off())
		}
	}
	for _, state := range []analysis.VerdictState{analysis.Disproved, analysis.Supported, analysis.Inconclusive} {
		if c.Verdicts[state] < n/50 {
			t.Errorf("only %d deploys are %s: the worlds do not exercise it", c.Verdicts[state], state)
		}
	}
}
