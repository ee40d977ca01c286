package analysis

import (
	"math"
	"slices"
	"time"
)

// What an Application Load Balancer counts of its own requests (Elastic Load
// Balancing user guide, "CloudWatch metrics for your Application Load Balancer").
const (
	MetricRequests      = "RequestCount"                 // a target was chosen
	MetricBalancer5xx   = "HTTPCode_ELB_5XX_Count"       // made by the load balancer; not told per target group
	MetricTarget5xx     = "HTTPCode_Target_5XX_Count"    // answered by a target
	MetricUnhealthySent = "UnhealthyRoutingRequestCount" // sent although no target was healthy: fail-open
)

// BalancerMetrics are read of a load balancer, GroupMetrics of one of its groups.
var (
	BalancerMetrics = []string{MetricRequests, MetricBalancer5xx, MetricTarget5xx, MetricUnhealthySent}
	GroupMetrics    = []string{MetricRequests, MetricTarget5xx, MetricUnhealthySent}
)

// countedSum compares one sum of the load balancer's with the rows of its log.
type countedSum struct {
	log, metric string
	from, to    time.Time // first and last minute compared
	known       int       // by the load balancer
	found       int       // rows
	astride     int       // rows that may belong to a minute that was not compared
}

// gap reports whether the two differ by more than one per cent, which the rows at
// the edges of the minutes cannot explain.
func (c *countedSum) gap() bool {
	difference := math.Abs(float64(c.known - c.found))
	return difference > 0.01*float64(c.known) && difference > float64(c.astride)
}

// values are the comparison as findings and conditions print it.
func (c *countedSum) values() map[string]any {
	return map[string]any{"source": c.log, "metric": c.metric, "known": c.known, "found": c.found}
}

// countMetrics compares, over the whole minutes of the window that the load
// balancer's monitoring has a sum of, the log's rows with it. A minute without a sum
// is left out of both: nothing is known of it.
func (b *bench) countMetrics() []countedSum {
	var sums []countedSum
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, log := range balancer.AccessLogs {
			if log.Metrics == "" || !b.counting[log.Name] {
				continue
			}
			for _, metric := range BalancerMetrics[:3] {
				if c, ok := b.countMetric(log.Name, log.Metrics, metric); ok {
					sums = append(sums, c)
				}
			}
		}
	}
	return sums
}

func (b *bench) countMetric(log, source, metric string) (countedSum, bool) {
	c := countedSum{log: log, metric: metric}
	minutes := map[int64]bool{}
	for _, m := range b.obs.Metrics {
		end := m.At.Add(m.Period)
		if m.Source != source || m.Metric != metric || m.Period != time.Minute || m.At.Before(b.from) || end.After(b.seenTo) {
			continue
		}
		minutes[m.At.Unix()/60] = true
		c.known += int(math.Round(m.Sum))
		c.from = earliest(c.from, m.At)
		c.to = latest(c.to, end)
	}
	if len(minutes) == 0 {
		return c, false
	}
	row := func(first, last time.Time, n int) {
		began, ended := minutes[floorMinute(first)], minutes[floorMinute(last)]
		if ended { // the load balancer counts a request when it has answered it
			c.found += n
		}
		if began != ended {
			c.astride += n
		}
	}
	if metric == MetricRequests {
		for i := range b.obs.Cells {
			if cell := &b.obs.Cells[i]; cell.Source == log && cell.Target != "" {
				row(cell.First, cell.Last, cell.Count)
			}
		}
		return c, true
	}
	for i := range b.obs.Requests {
		r := &b.obs.Requests[i]
		if r.Source != log {
			continue
		}
		if metric == MetricTarget5xx && r.TargetStatus >= 500 || metric == MetricBalancer5xx && r.Status >= 500 && r.TargetStatus == 0 {
			row(r.moment(), r.End, 1)
		}
	}
	for _, cell := range b.unkept {
		if cell.Source == log && (metric == MetricTarget5xx && cell.TargetStatus >= 500 || metric == MetricBalancer5xx && cell.Status >= 500 && cell.TargetStatus == 0) {
			row(cell.First, cell.Last, cell.n)
		}
	}
	return c, true
}

func floorMinute(t time.Time) int64 { return int64(math.Floor(float64(t.Unix()) / 60)) }

// metricRows are the rows of completeness that the load balancer's own counts give.
func (b *bench) metricRows() []Completeness {
	var rows []Completeness
	for _, c := range b.counted {
		if c.metric != MetricRequests {
			continue
		}
		row := Completeness{Source: c.log, Phase: WholeMinutes, Known: c.known, Found: c.found, Matched: "count"}
		if c.known > 0 {
			row.Share = new(float64(c.found) / float64(c.known))
		}
		rows = append(rows, row)
	}
	return rows
}

// WholeMinutes stands for a phase where completeness is of the whole minutes of the
// window, which phases cut.
const WholeMinutes = "whole minutes"

// metricGaps are the comparisons that differ.
func (b *bench) metricGaps(log string) []countedSum {
	var gaps []countedSum
	for _, c := range b.counted {
		if c.log == log && c.gap() {
			gaps = append(gaps, c)
		}
	}
	return gaps
}

// lacksRows reports whether the load balancer counted more than one per cent more
// requests than its log has rows.
func (b *bench) lacksRows(log string) bool {
	return slices.ContainsFunc(b.metricGaps(log), func(c countedSum) bool { return c.found < c.known })
}

// sentUnhealthy are the minutes of the window in which the load balancer says that
// it sent requests although no target was healthy, with how many.
func (b *bench) sentUnhealthy() (spans []groupSpan, requests []int) {
	for _, m := range b.obs.Metrics {
		from, to := latest(m.At, b.from), earliest(m.At.Add(m.Period), b.seenTo)
		if m.Metric != MetricUnhealthySent || m.Sum <= 0 || !from.Before(to) {
			continue
		}
		n := len(spans)
		if n > 0 && spans[n-1].source == m.Source && spans[n-1].to.Equal(from) {
			spans[n-1].to = to
			requests[n-1] += int(math.Round(m.Sum))
			continue
		}
		spans = append(spans, groupSpan{source: m.Source, span: span{from, to}})
		requests = append(requests, int(math.Round(m.Sum)))
	}
	return spans, requests
}
