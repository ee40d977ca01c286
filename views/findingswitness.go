package views

// witnessFindingWords words the findings about the witnesses themselves: probes,
// health checks, registrations and traffic rules. ok is false for any other code.
func witnessFindingWords(code, target string, v values) (sentence, remedy string, ok bool) {
	switch code {
	case "probe-stall":
		sentence, remedy = probeStall(v)
	case "shutdown-5xx":
		sentence = target + " answered 5xx while it was stopping"
		if failed := v.classes("failed"); failed != "" {
			sentence += ": " + failed
		}
		sentence += "."
		remedy = "Let it finish the requests in flight before it closes what they need, and take it out of rotation before it is stopped."
	case "health-check-blind":
		sentence, remedy = healthCheckBlind(target, v)
	case "reregistered":
		sentence = target + " was put back into its group"
		if n, known := v.number("after_s"); known {
			sentence += " " + Seconds(n) + " after it was deregistered"
		}
		sentence += ", before the deploy did so."
		remedy = "Find what else registers targets (an autoscaler, a second pipeline) and let only one of them do it during a deploy."
	case "classification-suspect":
		sentence = "The share of user requests changed with the deploy"
		before, known := v.number("share_before")
		after, known2 := v.number("share_after")
		if known && known2 {
			sentence += " from " + percent(before) + " to " + percent(after)
		}
		sentence += ", and nothing else explains it: a traffic rule may no longer fit."
		remedy = "Compare the traffic rules with the user agents, paths and clients in the access log; counts of users may be somebody else's."
	default:
		return "", "", false
	}
	return sentence, remedy, true
}

var stallCauses = map[string]string{
	"server":        "The target itself took the time",
	"load_balancer": "The load balancer held it, not a target",
	"prober":        "The load balancer was quick with it and so were requests from another place: it was the prober, or the network next to it",
	"network":       "The load balancer was quick with it, and requests from another place were slow as well: it was the network between",
	"undetermined":  "Whether prober, network or load balancer was slow cannot be told",
}

func probeStall(v values) (sentence, remedy string) {
	sentence, requests := "A request of probe "+v.text("probe")+" took", 1
	if n, ok := v.count("requests"); ok && n > 1 {
		sentence, requests = Count(n)+" requests of probe "+v.text("probe")+", one beside the other, took up to", n
	}
	if n, ok := v.number("took_s"); ok {
		sentence += " " + Seconds(n)
	} else {
		sentence += " long"
	}
	if n, ok := v.number("usual_ms"); ok {
		sentence += " where " + number(n) + " ms is usual"
	}
	sentence += ". " + word(stallCauses, v.text("cause"))
	if n, ok := v.number("balancer_s"); ok {
		what := "it"
		if requests > 1 {
			what = "the slowest"
		}
		sentence += "; the access log has " + what + " at " + Seconds(n) + stallSplit(v, n)
	}
	if n, ok := v.count("others_slow"); ok && n > 0 {
		sentence += "; " + plural(n, "request of another probe was", "requests of other probes were") + " as slow meanwhile"
	}
	sentence += "."
	switch v.text("cause") {
	case "load_balancer":
		return sentence, "See what the load balancer waited for: a connection to a target, a free place in a queue, or the way to the prober and back, which it is busy with too."
	case "server":
		return sentence, "See what the target did at that moment: its logs, its pauses, its pools."
	case "prober":
		return sentence, "Look after the machine that probes, and its network; the service was not slow."
	case "network":
		return sentence, "Look at the network between the probers and the load balancer; the service was not slow."
	}
	return sentence, "Run the probes from a second network as well: what only one of them sees lies on its own way."
}

// stallSplit says where the time of a row of the access log went, as far as that tells.
func stallSplit(v values, balancer float64) string {
	target, answered := v.number("target_s")
	before, told := v.number("before_target_s")
	switch {
	case answered && told:
		return ", of which it waited " + Seconds(before) + " until it was sent to the target, which took " + Seconds(target) + ", and " +
			Seconds(max(0, balancer-before-target)) + " after that"
	case answered:
		return ", of which the target took " + Seconds(target)
	case told:
		return ", of which it waited " + Seconds(before) + " until it was sent to the target"
	}
	return ""
}

func healthCheckBlind(target string, v values) (sentence, remedy string) {
	down, ok := v.number("down_s")
	within, ok2 := v.number("eject_within_s")
	if !ok || !ok2 {
		return "The load balancer does not check " + lowerTarget(target) + ": its health checks are disabled.",
			"Enable health checks; without them a dead target keeps its share of the requests."
	}
	return target + " was down for " + Seconds(down) + ", longer than the " + Seconds(within) + " in which it should be ejected, and its state never changed.",
		"See what the health check looks at: it did not notice that the application was gone."
}
