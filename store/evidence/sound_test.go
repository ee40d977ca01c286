package evidence

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"gapless/analysis"
)

// Records that no collector makes are refused by their line, before anybody judges
// them.
func TestUnsoundRecords(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*analysis.Observations)
		member, says string
	}{
		"no requests":                    {func(o *analysis.Observations) { o.Cells[1].Count, o.Cells[1].Masked = 0, 0 }, "cells.ndjson", "line 2: count 0"},
		"less than none":                 {func(o *analysis.Observations) { o.Cells[1].Count = -5 }, "cells.ndjson", "line 2: count -5"},
		"more than there can be":         {func(o *analysis.Observations) { o.Cells[1].Count = math.MaxInt32 + 1 }, "cells.ndjson", "line 2: count 2147483648"},
		"more hidden than were sent":     {func(o *analysis.Observations) { o.Cells[1].Masked = o.Cells[1].Count + 1 }, "cells.ndjson", "line 2: masked"},
		"hidden less than never":         {func(o *analysis.Observations) { o.Cells[1].Masked = -1 }, "cells.ndjson", "line 2: masked -1"},
		"a cell of no class":             {func(o *analysis.Observations) { o.Cells[1].Class = "robot" }, "cells.ndjson", `line 2: class "robot"`},
		"a cell that ended in no way":    {func(o *analysis.Observations) { o.Cells[1].Outcome = "fine" }, "cells.ndjson", `line 2: outcome "fine"`},
		"a request of no class":          {func(o *analysis.Observations) { o.Requests[1].Class = "" }, "requests.ndjson", `line 2: class ""`},
		"a request that ended in no way": {func(o *analysis.Observations) { o.Requests[1].Outcome = "" }, "requests.ndjson", `line 2: outcome ""`},
		"latencies of no class":          {func(o *analysis.Observations) { o.Latencies[1].Class = "robot" }, "latencies.ndjson", `line 2: class "robot"`},
		"a probe of no class":            {func(o *analysis.Observations) { o.Probes[1].Class = "robot" }, "probes.ndjson", `line 2: class "robot"`},
		"a probe that ended in no way":   {func(o *analysis.Observations) { o.Probes[1].Outcome = "fine" }, "probes.ndjson", `line 2: outcome "fine"`},
	} {
		o := invented(8)
		if len(o.Cells) < 2 || len(o.Requests) < 2 || len(o.Latencies) < 2 || len(o.Probes) < 2 {
			t.Fatal("too little was invented")
		}
		c.change(&o)
		body := write(t, o)
		_, problems := Read(bytes.NewReader(body), int64(len(body)))
		if len(problems) != 1 || problems[0].Member != c.member || !strings.Contains(problems[0].What, c.says) {
			t.Errorf("%s: %v, want %s of %s", name, problems, c.says, c.member)
		}
	}
}
