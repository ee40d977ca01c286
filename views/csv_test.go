package views

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"gapless/analysis"
)

func TestCSVAddsUpToTheReport(t *testing.T) {
	_, r := lossy(t)
	r.Totals[analysis.ClassUser].Failures += 40 // more than the report lists
	phases := records(t, &r, "phases")
	if want := 1 + len(r.Phases)*len(analysis.Classes); len(phases) != want {
		t.Fatalf("%d lines, want %d", len(phases), want)
	}
	users, column := 0, index(t, phases[0], "requests")
	for _, record := range phases[1:] {
		if record[index(t, phases[0], "traffic")] == "user" {
			n, _ := strconv.Atoi(record[column])
			users += n
		}
	}
	if users != r.Totals[analysis.ClassUser].Requests {
		t.Errorf("user requests sum up to %d, the report has %d", users, r.Totals[analysis.ClassUser].Requests)
	}
	failures := records(t, &r, "failures")
	sums := map[string]int{}
	for _, record := range failures[1:] {
		n, _ := strconv.Atoi(record[len(record)-1])
		sums[record[0]] += n
	}
	if sums["user"] != 43 || sums["probe"] != 2 {
		t.Errorf("failures sum up to %v, want 43 and 2", sums)
	}
	if first := strings.Join(failures[1], ","); first != "user,2026-10-14T06:34:37.213000Z,2026-10-14T06:34:37.213000Z,api-1,lb_5xx,503,,,GET https://api.example.com:443/v1/pos/poll?store=0,api-1 restart,deploy,1" {
		t.Errorf("the first failure reads %s", first)
	}
	targets := records(t, &r, "targets")
	if eject := targets[1][index(t, targets[0], "eject_s_bound")]; len(targets) != 3 || eject != "lower" {
		t.Errorf("%d targets, the bound of the first ejection is %q", len(targets)-1, eject)
	}
	if late := targets[1][index(t, targets[0], "reported_to_first_served_s")]; !strings.HasPrefix(late, "-") {
		t.Errorf("a negative number reads %q", late)
	}
}

func TestCSVOfDetection(t *testing.T) {
	_, r := firstReport(t)
	r.Detection[1].Share = new(.05)
	r.Detection[1].LongestMissed, r.Detection[1].LongestMissedWithoutStalls = new(700.0), new(554.1)
	r.Detection[1].Miss[0].WithoutStalls = new(.15)
	all := records(t, &r, "detection")
	for i, want := range []string{
		"probe,phase,target,requests,share,gap_median_ms,gap_p99_ms,gap_max_ms,longest_missed_ms,longest_missed_without_stalls_ms,failure_rate_below,miss_400_ms,miss_400_ms_without_stalls,miss_1000_ms,miss_1000_ms_without_stalls",
		"store,,api-1,3862,,400,800,2600,555.519,,0.00078,0.16,,0.004,",
		"store,,api-2,3937,0.05,400,800,5255,700,554.1,0.00076,0.155,0.15,0.003,",
	} {
		if got := strings.Join(all[i][:15], ","); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestCSVLeavesEmptyWhatWasNotMeasured(t *testing.T) {
	_, r := firstReport(t)
	r.Phases = r.Phases[:1]
	r.Phases[0].Traffic[analysis.ClassUser] = nil
	all := records(t, &r, "phases")
	if got := all[1][index(t, all[0], "requests")]; got != "" {
		t.Errorf("users that were not measured read %q", got)
	}
}

func TestCSVRunsNoFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "＝1+1": "'＝1+1",
		"-2.5": "-2.5", "-Inf": "'-Inf", "api-1": "api-1", "": "", "GET /=1": "GET /=1",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("%q became %q, want %q", cell, got, want)
		}
	}
	evil := `=HYPERLINK("http://evil","x"),` + "\r\n@x"
	_, r := lossy(t)
	r.Failures[0].Target, r.Failures[0].Request, r.Phases[0].Name, r.Targets[0].Target = &evil, evil, evil, evil
	for _, table := range []string{"phases", "targets", "failures"} {
		for _, record := range records(t, &r, table) {
			for _, cell := range record {
				if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "@") {
					t.Errorf("%s: a cell reads %q", table, cell)
				}
			}
		}
	}
}

func TestCSVOfNoTable(t *testing.T) {
	if _, ok := CSV(&analysis.Report{}, "secrets"); ok {
		t.Error("there is a table of secrets")
	}
}

// records reads a file back, holding it to RFC 4180: every record has as many cells
// as the header, and lines end in CR LF.
func records(t *testing.T, r *analysis.Report, table string) [][]string {
	t.Helper()
	file, ok := CSV(r, table)
	if !ok {
		t.Fatalf("there is no table %s", table)
	}
	if !bytes.HasSuffix(file, []byte("\r\n")) {
		t.Errorf("%s does not end in CR LF", table)
	}
	all, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	return all
}

func index(t *testing.T, head []string, name string) int {
	t.Helper()
	for i, each := range head {
		if each == name {
			return i
		}
	}
	t.Fatalf("there is no column %s in %q", name, head)
	return -1
}
