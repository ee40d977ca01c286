package views

import "gapless/analysis"

// moreFindingWords words the findings about drains, returns, states and surges.
func moreFindingWords(code, target string, v values) (sentence, remedy string) {
	switch code {
	case "zero-targets":
		of := ""
		if group := v.text("target_group"); group != "" {
			of = " of the group " + group
		}
		return "No target" + of + " was in rotation" + lasting(v, "seconds") + "." + lost(v),
			"Let the deploy wait until the target before serves again before it takes out the next one."
	case "drain-wait-too-short":
		return drainWaitTooShort(target, v)
	case "drain-never-seen":
		return target + " was marked as draining" + waited(v) + " before its stop, and nothing shows that it drained: its state stayed in rotation and it served until the stop.",
			"See whether the mark reaches what the load balancer checks: ask the health check of the target itself after marking it."
	case "drain-marker-expired":
		return target + " went quiet" + lasting(v, "quiet_s") + " after its drain mark and then served again before its stop: the mark had lapsed.",
			"Let the mark live longer than the whole wait, and take it away only with the stop."
	case "returned-then-failed":
		return returnedThenFailed(target, v)
	case "health-check-never-passes":
		return neverPasses(target, v)
	case "idle-target":
		sentence = target + " was in rotation and served nothing"
		if due := v.classes("due"); due != "" {
			sentence += ", where about " + due + " were due"
		}
		return sentence + ".", "See whether the load balancer really sends to it: a state alone does not prove that."
	case "draining-target-served":
		sentence = target + " served"
		if served := v.classes("requests"); served != "" {
			sentence += " " + served
		}
		sentence += " after it was deregistered"
		if n, ok := v.number("after_s"); ok {
			sentence += ", the last one " + Seconds(n) + " later"
		}
		return sentence + ".", "Do not stop it before the last of them: wait for the deregistration delay, or until it serves nothing."
	case "state-lag":
		return stateLag(target, v)
	case "retry-masked":
		return retryMasked(v)
	case "rejection-surge", "abort-surge", "client-error-surge":
		return surge(v)
	case "version-worse":
		return versionWorse(v)
	case "log-incomplete":
		return conditionSentence(code, v), "Failures may stand in the lines that are missing. Look for partial objects and late ones on the collectors page."
	case "log-late":
		return logLate(v)
	case "no-baseline":
		return "There is nothing to compare " + classNoun(v.text("traffic")) + " failures with: the time before the deploy has no requests.",
			"Keep a longer baseline, or deploy when there is traffic."
	case "health-sample-claim":
		return healthSampleClaim(v)
	case "low-traffic":
		sentence = "Hardly anybody was there in the risky phases"
		if n, ok := v.count("requests"); ok {
			sentence += ": " + requests(n, analysis.ClassUser)
		}
		return sentence + ".", "Let probes send through the risky phases, or read this verdict as one about a quiet hour."
	case "clock-skew":
		return clockSkew(v)
	case "version-mismatch":
		return versionMismatch(target, v)
	}
	if sentence, remedy, ok := witnessFindingWords(code, target, v); ok {
		return sentence, remedy
	}
	if sentence, remedy, ok := signalFindingWords(code, target, v); ok {
		return sentence, remedy
	}
	return unknownWords("finding", code, v), ""
}

// lasting is " for 12 s", or nothing where the length is not known.
func lasting(v values, key string) string {
	if n, ok := v.number(key); ok {
		return " for " + Seconds(n)
	}
	return ""
}

// waited is " 12 s", or nothing where the wait is not known.
func waited(v values) string {
	if n, ok := v.number("wait_s"); ok {
		return " " + Seconds(n)
	}
	return ""
}

func drainWaitTooShort(target string, v values) (sentence, remedy string) {
	sentence = "The wait between drain mark and stop of " + lowerTarget(target) + " was too short"
	if n, ok := v.number("wait_s"); ok {
		sentence += ": " + Seconds(n)
	}
	if sent := v.classes("sent_after_stop"); sent != "" {
		sentence += ", and " + sent + " went to it after the stop"
	}
	sentence += "."
	from, ok := v.number("predicted_from_s")
	to, ok2 := v.number("predicted_to_s")
	if ok && ok2 {
		return sentence + " By the health-check settings ejection takes " + interval(from, to) + ".", "Wait more than " + Seconds(to) + ", or until the target serves nothing any more."
	}
	return sentence, "Wait until the target serves nothing any more."
}

func returnedThenFailed(target string, v values) (sentence, remedy string) {
	sentence = target + " came back and then went bad"
	if failed := v.classes("failed"); failed != "" {
		sentence += ": " + failed + " failed on it"
	}
	if left, ok := v.get("left_rotation").(bool); ok && left {
		sentence += ", and it left rotation again"
	}
	return sentence + ".", "Its first pass of the health check came too early: let the check cover what the application needs to serve."
}

func neverPasses(target string, v values) (sentence, remedy string) {
	sentence = target + " was ready"
	if n, ok := v.number("waited_s"); ok {
		sentence += ", and " + Seconds(n) + " later"
	} else {
		sentence += ", and since then"
	}
	sentence += " its state had still not come into rotation"
	if n, ok := v.number("expected_s"); ok {
		sentence += "; the settings allow " + Seconds(n)
	}
	remedy = "Ask the target's health check by hand"
	if path := v.text("path"); path != "" {
		remedy += " (" + path + ")"
	}
	return sentence + ".", remedy + ": path, port, status and timeout have to fit the load balancer's settings."
}

func stateLag(target string, v values) (sentence, remedy string) {
	sentence = "The displayed state of " + lowerTarget(target) + " trailed what traffic shows"
	side := func(way, from, to string) string {
		a, ok := v.number(from)
		b, ok2 := v.number(to)
		if !ok || !ok2 {
			return ""
		}
		return way + " by " + interval(a, b)
	}
	down, up := side("going down", "down_from_s", "down_to_s"), side("coming up", "up_from_s", "up_to_s")
	switch {
	case down != "" && up != "":
		sentence += ", " + down + " and " + up
	case down+up != "":
		sentence += ", " + down + up
	}
	return sentence + ".", "Read the lane “serves”, not “LB says”, and let no pipeline wait on the displayed state alone."
}

func retryMasked(v values) (sentence, remedy string) {
	sentence = "Retries hid failed attempts"
	if n, ok := v.count("failed_attempts"); ok {
		sentence = "A retry hid " + plural(n, "failed attempt", "failed attempts")
	}
	if on := v.list("failed_on"); len(on) > 0 {
		sentence += " on " + list(on)
	}
	if n, ok := v.count("masked"); ok && v.text("traffic") != "" {
		sentence += " from " + requests(n, analysis.Class(v.text("traffic")))
	}
	sentence += ": another attempt was answered, so none of them is counted as lost"
	if before, ok := v.count("baseline"); ok {
		sentence += "; before the deploy there " + wereOf(before, v)
	}
	return sentence + ".", "Let the target finish what it has, and the proxy know that it leaves, before it stops: a request that must not be sent twice is not retried, and the next deploy would lose it."
}

func versionMismatch(target string, v values) (sentence, remedy string) {
	sentence = target + " does not run the version that was deployed"
	if is, deployed := v.text("version"), v.text("deployed"); is != "" && deployed != "" {
		sentence += ": it says " + is + ", deployed was " + deployed
		if v.text("before") == is {
			sentence += ", and before that " + is
		}
	}
	return sentence + ".", "Look whether the new build reached " + lowerTarget(target) + " and was started there; let the workflow ask each target for its version before it reports success."
}

// wereOf is "was 1 of 20" or "were none".
func wereOf(n int, v values) string {
	all, ok := v.count("baseline_requests")
	switch {
	case n == 0:
		return "were none"
	case !ok:
		return "were " + Count(n)
	case n == 1:
		return "was 1 of " + Count(all)
	}
	return "were " + Count(n) + " of " + Count(all)
}

func surge(v values) (sentence, remedy string) {
	what := word(outcomeNouns, analysis.Outcome(v.text("outcome")))
	if what == "" {
		what = "refusals, aborts or 4xx"
	}
	sentence = upperFirst(what) + " of " + classNoun(v.text("traffic")) + " requests"
	if route := v.text("route"); route != "" {
		sentence += " on route " + route
	}
	before, ok := v.count("baseline")
	beforeAll, ok2 := v.count("baseline_requests")
	after, ok3 := v.count("window")
	afterAll, ok4 := v.count("window_requests")
	together, ok5 := v.count("together")
	within, ok6 := v.number("within_s")
	counted := ok && ok2 && ok3 && ok4
	switch {
	case ok5 && ok6 && counted:
		sentence += " came together, " + Count(together) + " within " + Seconds(within) + ": " + Count(before) + " of " + Count(beforeAll) + " before the deploy, " + Count(after) + " of " + Count(afterAll) + " since"
	case counted:
		sentence += " rose from " + Count(before) + " of " + Count(beforeAll) + " before the deploy to " + Count(after) + " of " + Count(afterAll) + " since"
	default:
		sentence += " rose"
	}
	return sentence + ".", "They are no failures by status, but may be lost requests to whoever sent them. Find out what they were."
}

func versionWorse(v values) (sentence, remedy string) {
	sentence = "The new version fails more than the old"
	if route := v.text("route"); route != "" {
		sentence += " on route " + route
	}
	newFailed, ok := v.count("new_failed")
	newAll, ok2 := v.count("new_requests")
	oldFailed, ok3 := v.count("old_failed")
	oldAll, ok4 := v.count("old_requests")
	if ok && ok2 && ok3 && ok4 {
		sentence += ": " + Count(newFailed) + " of " + Count(newAll) + " " + classNoun(v.text("traffic")) + " requests, against " + Count(oldFailed) + " of " + Count(oldAll)
	}
	return sentence + ".", "Roll back, or look at that route's errors in the new version first."
}

func clockSkew(v values) (sentence, remedy string) {
	remedy = "Set the clocks by NTP, and see whose times the steps carry."
	if step := v.text("step"); step != "" {
		return "The step " + word(stepWords, analysis.StepKind(step)) + " told by " + v.text("b") + " contradicts the order of the others, so it was left out.", remedy
	}
	a, b := v.text("a"), v.text("b")
	if a == "" || b == "" {
		return "Two clocks cannot both be right.", remedy
	}
	return "The clocks of " + a + " and " + b + " cannot both be right.", remedy
}

func logLate(v values) (sentence, remedy string) {
	n, _ := v.count("objects")
	sentence = plural(n, "log object", "log objects") + " of " + v.text("source") + " came later than is waited for"
	if settle, ok := v.number("settle_s"); ok {
		sentence += " (" + Seconds(settle) + ")"
	}
	if late, ok := v.number("late_s"); ok {
		sentence += ", the latest " + Seconds(late) + " after the end of its period"
	}
	return sentence + ".", "A verdict sealed before they came did not know them; revisions say what they changed. If it happens often, raise window.settle."
}
