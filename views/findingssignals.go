package views

import (
	"slices"
	"strings"
)

// signalFindingWords words the findings about what applications told of themselves:
// how they stopped, what they had begun, their jobs, their calls. ok is false for any
// other code.
func signalFindingWords(code, target string, v values) (sentence, remedy string, ok bool) {
	switch code {
	case "stop-timeout-too-short":
		sentence, remedy = stopTimeoutTooShort(target, v)
	case "stop-signal-ignored":
		sentence, remedy = stopSignalIgnored(target, v)
	case "torn-write":
		sentence, remedy = tornWrite(target, v)
	case "overlap-double-run":
		sentence, remedy = overlapDoubleRun(v)
	case "job-stopped":
		sentence, remedy = jobStopped(v)
	case "step-order":
		sentence, remedy = stepOrder(v)
	case "retry-amplification":
		sentence, remedy = retryAmplification(v)
	case "burst-over-limit":
		sentence, remedy = burstOverLimit(v)
	case "unbounded-wait":
		sentence, remedy = unboundedWait(target, v)
	case "unrelated-collapse":
		sentence, remedy = unrelatedCollapse(v)
	default:
		return "", "", false
	}
	return sentence, remedy, true
}

func stopTimeoutTooShort(target string, v values) (sentence, remedy string) {
	after := ""
	if n, ok := v.number("after_s"); ok {
		after = " " + Seconds(n) + " after its stop began"
	}
	if v.text("by") == "application" {
		return target + " gave up on its graceful shutdown" + after + ", with work still going on.",
			"Raise the application's own limit for its shutdown above its longest request, and let whoever stops it wait longer than that."
	}
	return target + " was killed" + after + ", before its graceful shutdown had ended.",
		"Let whoever stops it wait longer than the application may take: docker stop kills after 10 s unless told otherwise (-t), Kubernetes after 30 s, systemd after 90 s (TimeoutStopSec)."
}

func stopSignalIgnored(target string, v values) (sentence, remedy string) {
	sentence = target + " was asked to stop and"
	if killed, ok := v.get("killed").(bool); ok && killed {
		sentence += " was killed"
	} else {
		sentence += " was gone"
	}
	if n, ok := v.number("after_s"); ok {
		sentence += " " + Seconds(n) + " later"
	}
	sentence += " without a line about a shutdown"
	if n, ok := v.count("lines"); ok {
		sentence += ", though its log had " + plural(n, "line", "lines") + " around it"
	}
	return sentence + ".", "See whether the signal reaches the process: with a shell as process 1 (ENTRYPOINT without brackets) it does not. Then see whether graceful shutdown is switched on."
}

func tornWrite(target string, v values) (sentence, remedy string) {
	var parts []string
	if n, ok := v.count("works"); ok && n > 0 {
		text := plural(n, "piece of work", "pieces of work") + " begun and not ended"
		if keys := v.list("keys"); len(keys) > 0 {
			text += " (" + strings.Join(keys, ", ") + moreOf(n, len(keys)) + ")"
		}
		parts = append(parts, text)
	}
	if n, ok := v.count("received"); ok && n > 0 {
		parts = append(parts, plural(n, "request of ours", "requests of ours")+" received and never answered")
	}
	if len(parts) == 0 {
		parts = []string{"work of which no line tells the end"}
	}
	return "The process of " + lowerTarget(target) + " ended with " + list(parts) + ".",
		"Look each of them up in the systems that it concerns: what was sent to others may have taken effect without our side knowing it. A process that is killed may also take its last lines with it."
}

// moreOf is ", …" where a list does not hold all.
func moreOf(all, listed int) string {
	if all > listed {
		return ", …"
	}
	return ""
}

func jobName(v values) string {
	if name := v.text("job"); name != "" {
		return "Job " + name
	}
	return "A scheduled job"
}

func overlapDoubleRun(v values) (sentence, remedy string) {
	sentence = jobName(v) + " ran on"
	if names := v.list("targets"); len(names) > 0 {
		sentence += " " + list(names)
	} else {
		sentence += " two targets"
	}
	sentence += " within its period"
	if n, ok := v.number("every_s"); ok {
		sentence += " of " + Seconds(n)
	}
	if n, ok := v.count("pairs"); ok && n > 1 {
		sentence += ", " + Count(n) + " times"
	}
	if n, ok := v.number("nearest_s"); ok {
		sentence += ", once " + Seconds(n) + " apart"
	}
	sentence += ", while both were up."
	if n, ok := v.count("pairs_before"); ok && n > 0 {
		sentence += " Before the deploy that happened " + times(n) + "."
	}
	return sentence, "Take a lock in the database before each run, in one statement and committed at once. The balancer moves requests only; schedulers do not ask it."
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return Count(n) + " times"
}

func jobStopped(v values) (sentence, remedy string) {
	sentence = jobName(v) + " has not run"
	if n, ok := v.number("quiet_s"); ok {
		sentence += " for " + Seconds(n)
	} else {
		sentence += " since the deploy"
	}
	if n, ok := v.number("every_s"); ok {
		sentence += ", where every " + Seconds(n) + " is usual"
	}
	if name := v.text("last_on"); name != "" {
		sentence += "; it ran last on " + name
	}
	sentence += "."
	if n, ok := v.count("skipped"); ok && n > 0 {
		return sentence + " It was skipped " + times(n) + " since, because its lock was taken.",
			"Find who holds the lock: a process that died with it, or a row that is missing, stops the job without an error."
	}
	return sentence, "See that the scheduler runs in the new version, and that no step of the deploy has to switch it on."
}

func stepOrder(v values) (sentence, remedy string) {
	n, _ := v.count("count")
	journey, later, missing := v.text("journey"), v.text("later"), v.text("missing")
	if later == "" || missing == "" {
		later, missing = "a later step", "an earlier one"
	} else {
		later, missing = "“"+later+"”", "“"+missing+"”"
	}
	what := plural(n, "journey", "journeys")
	if journey != "" {
		what += " “" + journey + "”"
	}
	if started, ok := v.count("started"); ok {
		what += " of " + Count(started)
	}
	sentence = "In " + what + ", " + later + " succeeded though " + missing
	switch late, _ := v.count("late"); late {
	case 0:
		sentence += " never did"
	case n:
		sentence += " had failed, and did only afterwards"
	default:
		sentence += " never did, or had failed and did only afterwards (" + Count(late) + ")"
	}
	if keys := v.list("keys"); len(keys) > 0 {
		sentence += ": " + strings.Join(keys, ", ") + moreOf(n, len(keys))
	}
	return sentence + ".", "Let the later step ask for the result of the earlier one, on the client and on the server: a retry must not go on from what failed."
}

func dependencyName(v values) string {
	if name := v.text("dependency"); name != "" {
		return name
	}
	return "a dependency"
}

// dependencyHead begins a sentence: a name stays as it is written.
func dependencyHead(v values) string {
	if name := v.text("dependency"); name != "" {
		return "The dependency " + name
	}
	return "A dependency"
}

func retryAmplification(v values) (sentence, remedy string) {
	sentence = dependencyHead(v) + " got"
	if n, ok := v.number("factor"); ok {
		sentence += " " + number(n) + " calls"
	} else {
		sentence += " several calls"
	}
	sentence += " for each that was wanted"
	if n, ok := v.count("sent"); ok {
		sentence += ", " + Count(n) + " in all"
	}
	if n, ok := v.number("factor_before"); ok {
		sentence += "; before, it was " + number(n)
	}
	sentence += "."
	if results := v.counts("results"); results != "" {
		sentence += " They ended: " + results + "."
	}
	return sentence, "Retries multiply the load of a dependency that is slow already. Retry only what was surely not sent, few times, with a budget; for the rest remember that the result is not known, and ask for it later."
}

func burstOverLimit(v values) (sentence, remedy string) {
	sentence = dependencyHead(v) + " got"
	if n, ok := v.count("most"); ok {
		sentence += " " + plural(n, "call", "calls") + " within one second"
	} else {
		sentence += " more calls within one second than it allows"
	}
	if n, ok := v.count("limit"); ok {
		sentence += "; it allows " + Count(n)
	}
	if n, ok := v.number("average"); ok {
		sentence += ". On average it was " + number(n) + " a second"
	}
	return sentence + ".", "A limiter with fixed windows lets two windows meet, a token bucket lets its bucket through at once. Where the limit holds for any second, count in a sliding window."
}

var waitGrounds = map[string]string{
	"threads_exhausted": "all threads were busy with them", "no_bound_seen": "none was refused and none timed out",
}

func unboundedWait(target string, v values) (sentence, remedy string) {
	sentence = "Calls to " + dependencyName(v) + " piled up"
	if target != unnamedTarget {
		sentence += " in " + target
	}
	if n, ok := v.count("most"); ok {
		sentence += ": " + Count(n) + " waited at once"
		if limit, ok := v.count("limit"); ok {
			sentence += " where " + Count(limit) + " may"
		}
		if before, ok := v.count("before"); ok {
			sentence += " (before, at most " + Count(before) + ")"
		}
	}
	if n, ok := v.number("busy_threads"); ok {
		sentence += ", and all " + number(n) + " threads were busy"
	} else if ground := v.text("ground"); ground != "" && ground != "over_limit" {
		sentence += ", and " + word(waitGrounds, ground)
	}
	return sentence + ".", "Bound both: how long one call may wait (a timeout), and how many may wait at once (a bulkhead). Threads that cost little only hide the second."
}

func unrelatedCollapse(v values) (sentence, remedy string) {
	route := v.text("route")
	what := classNoun(v.text("traffic")) + " requests"
	if route != "" {
		what += " on " + route
	}
	sentence = upperFirst(what) + ", which do not call " + dependencyName(v) + ", suffered while calls to it hung"
	failed, ok := v.count("failed")
	all, ok2 := v.count("requests")
	if ok && ok2 {
		sentence += ": " + Count(failed) + " of " + Count(all) + " failed"
	}
	slow, ok := v.number("p95_ms")
	usual, ok2 := v.number("usual_p95_ms")
	if ok && ok2 {
		sentence += ", p95 was " + number(slow) + " ms where " + number(usual) + " ms is usual"
	}
	sentence += "."
	if n, ok := v.count("scrapes_failed"); ok && n > 0 {
		sentence += " Meanwhile " + plural(n, "scrape", "scrapes") + " of its own metrics failed: nobody could look into it."
	}
	return sentence, "Keep the calls apart from everything else: a bulkhead in front of the dependency, or threads of its own. Let an alarm go off when metrics are missing."
}

// counts words counts by name, largest first.
func (v values) counts(key string) string {
	byName := map[string]int{}
	switch counts := v.get(key).(type) {
	case map[string]int:
		byName = counts
	case map[string]any:
		for name, n := range counts {
			if n, ok := (values{"n": n}).count("n"); ok {
				byName[name] = n
			}
		}
	}
	return countsByName(byName)
}

// countsByName is "timeout 60 · ok 30"; empty without any.
func countsByName(counts map[string]int) string {
	var names []string
	for name, n := range counts {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = word(resultWords, name) + " " + Count(counts[name])
	}
	return strings.Join(names, " · ")
}

var resultWords = map[string]string{"none": "end not told", "limiter": "limiter", "timeout": "timed out"}
