package views

import (
	"maps"
	"slices"

	"gapless/analysis"
)

// conditionSentence words one condition of a verdict.
func conditionSentence(code string, v values) string {
	class := func() string { return classNoun(v.text("traffic")) }
	source := v.text("source")
	if source == "" {
		source = "(unnamed)"
	}
	switch code {
	case "status-codes-only":
		return "Judged by status codes only: the bodies of " + class() + " requests, WebSockets and gRPC statuses were not seen."
	case "new-connections-only":
		if probe := v.text("probe"); probe != "" {
			return "Probe " + probe + " opened a new connection for every request; kept connections were not tried."
		}
		return "Every probe request opened a new connection; kept connections were not tried."
	case "noticed":
		return "Nobody announced this deploy: it begins and ends with what was seen of it, and what went on before is not known."
	case "steps-inferred":
		names := list(v.list("targets"))
		if names == "" {
			names = "the targets"
		}
		return "No step tells what was done to " + names + ": when requests stopped and came back is inferred from states and traffic; when anything was stopped or ready is not known."
	case "several-target-groups":
		return v.text("target") + " is a member of several target groups (" + list(v.list("target_groups")) + "); its figures are by the settings of " + v.text("target_group") + "."
	case "stops-unknown":
		if names := list(v.list("targets")); names != "" {
			return "No step tells when " + names + " stopped: what failed there is held against all of the time from the last request served to the first one again."
		}
		return "No step tells when any target was stopped, and nothing else shows it: that a failure lies outside of such a time cannot be told."
	case "targets-untold":
		return "No step tells what was done to " + list(v.list("targets")) + ", as steps tell of others of the group: a failure there counts as background only where the target answered others so soon before and after it that it cannot have been restarted in between."
	case "single-run":
		return "This is a single run."
	case "one-vantage-point":
		return "The probes looked from one place only."
	case "ended-after-window":
		if n, ok := v.count("count"); ok {
			return "Sent before the window's end, " + requests(n, analysis.Class(v.text("traffic"))) + " failed after it; they are not counted among its failures."
		}
		return "Requests that were sent before the window's end failed after it; they are not counted among its failures."
	case "ambiguous-joins":
		if n, ok := v.count("count"); ok {
			return "Of " + plural(n, "request", "requests") + " of probe " + v.text("probe") + " a log's record contradicts the clocks, so who served " + itThem(n) + " is not known."
		}
		return "Some records of the probes' requests contradict the clocks, so who served those is not known."
	case "low-traffic":
		if n, ok := v.count("requests"); ok {
			return "Traffic was low: " + plural(n, "user request", "user requests") + " in the risky phases."
		}
		return "Traffic was low in the risky phases."
	case "critical-route-untried":
		return "No user asked for the critical route " + v.text("route") + " in the risky phases, so nothing is known of it."
	case "census":
		if n, ok := v.count("requests"); ok {
			return "Log " + source + " is complete, so its " + plural(n, "request is", "requests are") + " all there were: a count, not a sample."
		}
		return "Log " + source + " is complete: a count, not a sample."
	case "failure-rate-bound":
		below, ok := v.number("below")
		n, counted := v.count("requests")
		switch {
		case ok && counted:
			return "With no failure in " + Count(n) + " " + class() + " requests, their failure rate is below " + percent(below) + " (95 % confidence; no bound on short windows)."
		case ok:
			return "The failure rate of " + class() + " requests is below " + percent(below) + " (95 % confidence)."
		}
	case "miss-chance":
		return missChance(v)
	case "longest-missed":
		return longestMissed(v)
	case "provisional":
		return provisional(v)
	case "revision-due":
		if n, ok := v.count("revision"); ok && n > 0 {
			return "Evidence came after revision " + Count(n) + " was sealed; this is how it stands with it, until revision " + Count(n+1) + " is written."
		}
		return "The settle time has passed; the report is final once it is sealed."
	case "blind-spot":
		sentence := "Source " + source + " was blind"
		if n, ok := v.number("seconds"); ok {
			sentence += " for " + Seconds(n)
		}
		if reason := v.text("reason"); reason != "" {
			sentence += " (" + word(blindWords, reason) + ")"
		}
		return sentence + "."
	case "lines-not-understood":
		if n, ok := v.count("lines"); ok {
			return plural(n, "line", "lines") + " of log " + source + " could not be understood; a failure may stand in them."
		}
		return "Lines of log " + source + " could not be understood; a failure may stand in them."
	case "log-silent":
		sentence := "Log " + source + " has no row"
		if node := v.text("node"); node != "" {
			sentence += " of load-balancer node " + node
		}
		if n, ok := v.number("seconds"); ok {
			sentence += " for " + Seconds(n)
		}
		return sentence + ", where many were due by the rate before the deploy."
	case "log-unchecked":
		if node := v.text("node"); node != "" {
			return "Since the start no request known to be in log " + source + " went through load-balancer node " + node + ", so nothing says that its rows are all there were."
		}
		return "No request is known to be in log " + source + ", so nothing says that its rows are all there were."
	case "balancer-without-log":
		return "Load balancer " + v.text("load_balancer") + " has no access log that counts, so what happened to its users was not measured."
	case "other-traffic-failed":
		if n, ok := v.count("count"); ok {
			return "The deploy failed " + requests(n, analysis.Class(v.text("traffic"))) + ", which do not count as users."
		}
		return "The deploy failed requests that do not count as users."
	case "log-incomplete":
		known, ok := v.count("known")
		found, ok2 := v.count("found")
		if metric := v.text("metric"); metric != "" && ok && ok2 {
			return "The load balancer counted " + Count(known) + " " + metricWord(metric) + ", and log " + source + " has " + Count(found) + " of them" + metricVerdict(known, found) + "."
		}
		if ok && ok2 {
			return "Log " + source + " is incomplete: " + Count(found) + " of " + Count(known) + " probe and health requests of ours known to be in it were found."
		}
		return "Log " + source + " is incomplete."
	case "horizon":
		return "Late lines of " + source + " are still awaited."
	case "users-not-measured":
		sentence := "User requests were not measured"
		if n, ok := v.count("probe_requests"); ok {
			failed, _ := v.count("probe_failures")
			return sentence + "; the probes lost " + Count(failed) + " of " + Count(n) + "."
		}
		return sentence + "."
	case "unexplained-failures":
		if n, ok := v.count("count"); ok {
			return plural(n, "failure", "failures") + " among " + class() + " requests " + isAre(n) + " not put down to the deploy."
		}
		return "Some failures among " + class() + " requests are not put down to the deploy."
	}
	return unknownWords("condition", code, v)
}

func missChance(v values) string {
	chance, ok := v.number("probability")
	window, ok2 := v.number("window_ms")
	if !ok || !ok2 {
		return unknownWords("condition", "miss-chance", v)
	}
	return "A failure window of " + Seconds(window/1000) + missedPlace(v) + missedBy(v) + " with a chance of " + percent(chance) + "."
}

func longestMissed(v values) string {
	window, ok := v.number("window_ms")
	if !ok {
		return unknownWords("condition", "longest-missed", v)
	}
	return "The longest failure window" + missedPlace(v) + " that" + missedBy(v) + " with a chance of 5 % or more is " + Seconds(window/1000) + "."
}

// missedPlace is " on api-1 alone in its drain".
func missedPlace(v values) string {
	place := ""
	if target := v.text("target"); target != "" {
		place += " on " + target + " alone"
	}
	if phase := v.text("phase"); phase != "" {
		place += " in " + phase
	}
	return place
}

func missedBy(v values) string {
	if probe := v.text("probe"); probe != "" {
		return " would have been missed by probe " + probe
	}
	return " would have been missed by the probes"
}

// classNoun is how a sentence names a class of traffic that it found in values.
func classNoun(class string) string {
	if class == "" {
		return "the"
	}
	return class
}

// unknownWords is the honest sentence for a code without words, or whose values are missing.
func unknownWords(kind, code string, v values) string {
	sentence := upperFirst(kind) + " " + code
	if details := v.String(); details != "" {
		sentence += ": " + details
	}
	return sentence + "."
}

// metricWord names what a metric of the load balancer counts.
func metricWord(metric string) string {
	switch metric {
	case analysis.MetricRequests:
		return "requests to targets"
	case analysis.MetricBalancer5xx:
		return "5xx answers of its own"
	case analysis.MetricTarget5xx:
		return "5xx answers of targets"
	}
	return "of " + metric
}

// metricVerdict says what it means that a log has fewer rows, or more, than the load
// balancer counted.
func metricVerdict(known, found int) string {
	if found > known {
		return ": more than there can be, so the two are not of the same requests"
	}
	return ": rows are missing"
}

// provisional says that nothing is final, and what is still expected: the logs, with
// those of their nodes that have not delivered all.
func provisional(v values) string {
	logs := v.lists("awaited")
	if len(logs) == 0 {
		return "Provisional: evidence may still arrive."
	}
	var parts []string
	for _, source := range slices.Sorted(maps.Keys(logs)) {
		nodes := logs[source]
		switch n := len(nodes); {
		case n == 0:
			parts = append(parts, source)
		case n <= 3:
			parts = append(parts, source+" from "+list(nodes))
		default:
			parts = append(parts, source+" from "+plural(n, "node", "nodes"))
		}
	}
	return "Provisional: all counts may still grow. Log objects are still expected of " + list(parts) + "."
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
