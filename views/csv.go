package views

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gapless/analysis"
)

// Tables that can be had as CSV files, by the name in their address.
var csvTables = map[string]func(*analysis.Report) [][]string{
	"phases": phaseRecords, "targets": targetRecords, "failures": failureRecords, "detection": detectionRecords,
	"journeys": journeyRecords, "dependencies": dependencyRecords, "breakers": breakerRecords, "gauges": gaugeRecords,
}

// CSVTables lists their names.
var CSVTables = []string{"phases", "targets", "failures", "detection", "journeys", "dependencies", "breakers", "gauges"}

// CSV is one table of a report as RFC 4180 wants it: a header, commas, lines that end
// in CR LF. Names are those of the JSON report, times are RFC 3339 in UTC, numbers are
// plain, and what was not measured is empty. ok is false for a table there is not.
func CSV(r *analysis.Report, table string) (file []byte, ok bool) {
	records, ok := csvTables[table]
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	for _, record := range records(r) {
		for i, cell := range record {
			record[i] = harmless(cell)
		}
		_ = w.Write(record) // a buffer takes everything
	}
	w.Flush()
	return out.Bytes(), true
}

var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// harmless keeps a spreadsheet from running a text as a formula: one that begins like
// a formula gets an apostrophe before it. Plain numbers may be negative.
// https://owasp.org/www-community/attacks/CSV_Injection
func harmless(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) && !strings.HasPrefix(cell, "＝") && !strings.HasPrefix(cell, "＋") &&
		!strings.HasPrefix(cell, "－") && !strings.HasPrefix(cell, "＠") || plainNumber.MatchString(cell) {
		return cell
	}
	return "'" + cell
}

// phaseRecords has a row for every phase and class.
func phaseRecords(r *analysis.Report) [][]string {
	targets := targetNames(r)
	for i := range r.Phases {
		for _, counts := range r.Phases[i].Traffic {
			if counts == nil {
				continue
			}
			for name := range counts.ByTarget {
				if !slices.Contains(targets, name) {
					targets = append(targets, name)
				}
			}
		}
	}
	slices.Sort(targets)
	head := []string{"phase", "kind", "inferred", "targets", "from", "to", "seconds", "traffic", "requests", "failures"}
	for _, outcome := range analysis.Outcomes {
		head = append(head, string(outcome))
	}
	head = append(head, "p50_ms", "p95_ms", "p99_ms", "max_ms")
	for _, name := range targets {
		head = append(head, "served_by "+name)
	}
	records := [][]string{head}
	for i := range r.Phases {
		p := &r.Phases[i]
		for _, class := range analysis.Classes {
			record := []string{p.Name, p.Kind, strconv.FormatBool(p.Inferred), strings.Join(p.Targets, " "), csvTime(p.From), csvTime(p.To),
				csvNumber(p.To.Sub(p.From.Time).Seconds()), string(class)}
			records = append(records, append(record, countRecord(p.Traffic[class], targets)...))
		}
	}
	return records
}

func countRecord(c *analysis.Counts, targets []string) []string {
	if c == nil {
		return make([]string, 2+len(analysis.Outcomes)+4+len(targets))
	}
	record := []string{strconv.Itoa(c.Requests), strconv.Itoa(c.Failures)}
	for _, outcome := range analysis.Outcomes {
		record = append(record, strconv.Itoa(c.Outcomes[outcome]))
	}
	for _, v := range []*float64{c.P50, c.P95, c.P99, c.Max} {
		record = append(record, csvOptional(v))
	}
	for _, name := range targets {
		record = append(record, strconv.Itoa(c.ByTarget[name]))
	}
	return record
}

func targetRecords(r *analysis.Report) [][]string {
	head := []string{"target", "target_group", "version_before", "version_after", "drain_marked_at", "deregistered_at", "last_served_at",
		"restart_at", "killed_at", "ready_at", "first_served_at"}
	for _, name := range []string{"eject_s", "last_served_to_restart_s", "kill_to_restart_s", "boot_s", "restart_to_first_request_s",
		"ready_to_first_request_s", "reported_to_first_served_s", "return_to_next_drain_s"} {
		head = append(head, name, name+"_bound")
	}
	head = append(head, "in_flight_at_stop", "state_lag_down_s_from", "state_lag_down_s_to", "state_lag_up_s_from", "state_lag_up_s_to",
		"predicted_eject_s_from", "predicted_eject_s_to", "predicted_return_s_from", "predicted_return_s_to", "recommended_drain_wait_s",
		"ejected", "ejected_basis", "failure_windows", "inferred_from")
	records := [][]string{head}
	for i := range r.Targets {
		t := &r.Targets[i]
		record := []string{t.Target, t.TargetGroup, value(t.VersionBefore), value(t.VersionAfter)}
		for _, at := range []analysis.Time{t.DrainMarkedAt, t.DeregisteredAt, t.LastServedAt, t.RestartAt, t.KilledAt, t.ReadyAt, t.FirstServedAt} {
			record = append(record, csvTime(at))
		}
		for _, b := range []*analysis.Bounded{t.Eject, t.LastServedToRestart, t.KillToRestart, t.Boot, t.RestartToFirstRequest, t.ReadyToFirstRequest, t.ReportedToFirstServed, t.ReturnToNextDrain} {
			if b == nil {
				record = append(record, "", "")
			} else {
				record = append(record, csvNumber(b.Value), string(b.Bound))
			}
		}
		record = append(record, csvCount(t.InFlightAtStop))
		predicted := [2]*analysis.Interval{}
		if t.Predicted != nil {
			predicted = [2]*analysis.Interval{&t.Predicted.Eject, &t.Predicted.Return}
		}
		for _, i := range []*analysis.Interval{t.StateLagDown, t.StateLagUp, predicted[0], predicted[1]} {
			if i == nil {
				record = append(record, "", "")
			} else {
				record = append(record, csvNumber(i.From), csvNumber(i.To))
			}
		}
		records = append(records, append(record, csvOptional(t.RecommendedDrainWait), t.Ejected, strings.Join(t.EjectedBasis, " "), strconv.Itoa(len(t.FailureWindows)), value(t.InferredFrom)))
	}
	return records
}

// failureRecords has a row for every failure that the report lists, and one for those
// of a class that it only counts, so that the counts add up to the totals.
func failureRecords(r *analysis.Report) [][]string {
	records := [][]string{{"traffic", "start", "end", "target", "outcome", "status", "target_status", "route", "request", "phase", "cause", "count"}}
	listed := map[analysis.Class]int{}
	for i := range r.Failures {
		f := &r.Failures[i]
		listed[f.Traffic] += f.Count
		records = append(records, []string{string(f.Traffic), csvTime(f.Start), csvTime(f.End), value(f.Target), string(f.Outcome), csvCount(f.Status),
			csvCount(f.TargetStatus), f.Route, cmp.Or(f.Request, "counted, not kept one by one"), value(f.Phase), string(f.Cause), strconv.Itoa(f.Count)})
	}
	for _, class := range analysis.Classes {
		if t := r.Totals[class]; t != nil && t.Failures > listed[class] {
			records = append(records, []string{string(class), "", "", "", "", "", "", "", "not listed one by one", "", "", strconv.Itoa(t.Failures - listed[class])})
		}
	}
	return records
}

// detectionRecords has a row for every row of the detection table, with a column for each
// length of outage.
func detectionRecords(r *analysis.Report) [][]string {
	windows := missWindows(r)
	head := []string{"probe", "phase", "target", "requests", "share", "gap_median_ms", "gap_p99_ms", "gap_max_ms", "longest_missed_ms", "longest_missed_without_stalls_ms", "failure_rate_below"}
	for _, window := range windows {
		head = append(head, "miss_"+csvNumber(window)+"_ms", "miss_"+csvNumber(window)+"_ms_without_stalls")
	}
	records := [][]string{head}
	for _, d := range r.Detection {
		record := []string{d.Scope, d.Phase, d.Target, strconv.Itoa(d.Requests)}
		for _, v := range []*float64{d.Share, d.GapMedian, d.GapP99, d.GapMax, d.LongestMissed, d.LongestMissedWithoutStalls, d.FailureRateBelow} {
			record = append(record, csvOptional(v))
		}
		for _, window := range windows {
			all, free := "", ""
			for _, miss := range d.Miss {
				if miss.WindowMS == window {
					all, free = csvNumber(miss.Probability), csvOptional(miss.WithoutStalls)
				}
			}
			record = append(record, all, free)
		}
		records = append(records, record)
	}
	return records
}

func csvTime(t analysis.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

func csvNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func csvOptional(v *float64) string {
	if v == nil {
		return ""
	}
	return csvNumber(*v)
}

func csvCount(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}
