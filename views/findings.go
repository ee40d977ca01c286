package views

import (
	"strings"

	"gapless/analysis"
)

// unnamedTarget stands at the head of a sentence for a target that a finding does not
// name.
const unnamedTarget = "A target"

// findingWords words one finding and what to do about it.
func findingWords(f *analysis.Finding, v values) (sentence, remedy string) {
	target := unnamedTarget
	if f.Target != nil && *f.Target != "" {
		target = *f.Target
	}
	switch f.Code {
	case "restart-before-eject":
		return restartBeforeEject(target, v)
	case "returned-before-eject":
		return returnedBeforeEject(target, v)
	case "reported-before-return":
		return reportedBeforeReturn(target, v)
	case "back-to-back-deploy":
		return backToBack(v)
	case "fail-open":
		return failOpen(v)
	case "single-target":
		return singleTarget(f, others{out: v.list("others")})
	case "blind-spot":
		return blindSpot(v)
	case "query-failed":
		return queryFailed(v)
	}
	return moreFindingWords(f.Code, target, v)
}

func restartBeforeEject(target string, v values) (sentence, remedy string) {
	var b strings.Builder
	b.WriteString(target + " was stopped while the load balancer still sent to it")
	if sent := v.classes("sent_after_stop"); sent != "" {
		b.WriteString(": " + sent + " went to it after the stop")
	}
	b.WriteString(".")
	b.WriteString(lost(v))
	_, marked := v.time("marked_at")
	wait, waited := v.number("wait_s")
	from, ok := v.number("predicted_from_s")
	to, ok2 := v.number("predicted_to_s")
	switch {
	case marked && waited && ok && ok2:
		b.WriteString(" It was marked " + Seconds(wait) + " before the stop; by the health-check settings ejection takes " + interval(from, to) + ".")
	case marked && waited:
		b.WriteString(" It was marked " + Seconds(wait) + " before the stop.")
	case ok && ok2:
		b.WriteString(" Nothing took it out of rotation first; by the health-check settings ejection takes " + interval(from, to) + ".")
	default:
		b.WriteString(" Nothing is known to have taken it out of rotation first.")
	}
	if ok2 {
		return b.String(), "Mark the target as draining, or deregister it, before the stop, and wait more than " + Seconds(to) + " or until it serves nothing any more."
	}
	return b.String(), "Mark the target as draining, or deregister it, before the stop, and wait until it serves nothing any more."
}

// lost says how many user and probe requests a finding is about.
func lost(v values) string {
	users, ok := v.count("failed_user")
	probes, ok2 := v.count("failed_probe")
	switch {
	case ok && ok2:
		return " " + requests(users, analysis.ClassUser) + " and " + requests(probes, analysis.ClassProbe) + " failed."
	case ok:
		return " " + requests(users, analysis.ClassUser) + " failed."
	case ok2:
		return " " + requests(probes, analysis.ClassProbe) + " failed."
	}
	return ""
}

func interval(from, to float64) string { return number(from) + "–" + Seconds(to) }

func returnedBeforeEject(target string, v values) (sentence, remedy string) {
	var b strings.Builder
	b.WriteString(target + " died and came back")
	if down, ok := v.number("down_s"); ok {
		b.WriteString(" after " + Seconds(down))
	}
	b.WriteString(", before the load balancer could take it out")
	needed, ok := v.number("needed_s")
	every, ok2 := v.number("interval_s")
	failures, ok3 := v.count("unhealthy")
	if ok {
		b.WriteString(": " + Seconds(needed) + " is the least that")
		if ok2 && ok3 {
			b.WriteString(" " + plural(failures, "failed check", "failed checks") + ", one every " + Seconds(every) + ",")
		} else {
			b.WriteString(" its health check")
		}
		b.WriteString(" could take")
	}
	b.WriteString(".")
	for _, class := range []analysis.Class{analysis.ClassUser, analysis.ClassProbe} {
		n, _ := v.class("requests", class)
		failed, ok := v.class("failed", class)
		if !ok {
			continue
		}
		b.WriteString(" Of " + requests(n, class) + " meanwhile " + Count(failed) + " failed")
		others, served := v.class("served_by_others", class)
		unattributed, _ := v.class("unattributed", class)
		switch {
		case unattributed > 0 && others > 0:
			b.WriteString(", " + Count(others) + " were served by the others and " + Count(unattributed) + " were answered, nobody knows by which target")
		case unattributed > 0:
			b.WriteString(" and " + Count(unattributed) + " were answered, nobody knows by which target")
		case served:
			b.WriteString(" and " + Count(others) + " were served by the others")
		}
		b.WriteString(".")
	}
	return b.String(), "Health checks cannot help against an outage this short: let the load balancer retry safe requests on another target, or check more often if false alarms can be borne."
}

func reportedBeforeReturn(target string, v values) (sentence, remedy string) {
	remedy = "Let the deploy wait until every target has served a request through the load balancer before it reports success."
	if late, ok := v.number("late_s"); ok {
		return "Success was reported " + Seconds(late) + " before " + lowerTarget(target) + " served its first request. A deploy started then could have left no target.", remedy
	}
	return "Success was reported before " + lowerTarget(target) + " served a request; none has been seen since.", remedy
}

func lowerTarget(target string) string {
	if target == unnamedTarget {
		return "a target"
	}
	return target
}

func backToBack(v values) (sentence, remedy string) {
	previous := v.text("previous")
	if previous == "" {
		previous = "the deploy before"
	} else {
		previous = "deploy " + previous
	}
	sentence = "This deploy began before " + previous + " had all of its targets serving"
	if gap, ok := v.number("gap_s"); ok && gap >= 0 {
		sentence += ", " + Seconds(gap) + " after that one was reported done"
	}
	sentence += "."
	if names := v.list("not_serving"); len(names) > 0 {
		sentence += " Not yet serving: " + list(names) + "."
	}
	return sentence, "Hold the next deploy until every target serves again; a lock in the pipeline is enough."
}

func failOpen(v values) (sentence, remedy string) {
	group := "the target group"
	if name := v.text("target_group"); name != "" {
		group = "target group " + name
	}
	sentence = "Every target of " + group + " was unhealthy"
	if n, ok := v.number("seconds"); ok {
		sentence += " for " + Seconds(n)
	}
	if v.text("counted_by") != "" {
		sentence = "The load balancer itself counted requests that it sent although no target of " + group + " was healthy"
	} else {
		sentence += ", and the load balancer sent requests all the same"
	}
	if n, ok := v.count("requests"); ok {
		sentence += " (" + Count(n) + ")"
	} else if sent := v.classes("requests"); sent != "" {
		sentence += " (" + sent + ")"
	}
	return sentence + ".", "Find out why no target passes its health check. Until then the load balancer's states say nothing about who can serve."
}

// others are the targets beside the one that a finding is about: those that stood
// still while the load balancer went on sending to them, those that stood still and of
// which nothing is known about that, and those that it sent nothing to.
type others struct{ down, still, out []string }

// othersOf tells the others of a finding apart by what became of them in its span.
func othersOf(r *analysis.Report, f *analysis.Finding) others {
	var o others
	for _, name := range values(f.Values).list("others") {
		switch ejected := stoppedWithin(r, name, f); ejected {
		case "no":
			o.down = append(o.down, name)
		case "unknown":
			o.still = append(o.still, name)
		default:
			o.out = append(o.out, name)
		}
	}
	return o
}

// stoppedWithin says of a target that was stopped within a finding's span whether it
// was out of rotation by then: yes, no or unknown; empty where it was not stopped.
func stoppedWithin(r *analysis.Report, name string, f *analysis.Finding) string {
	for i := range r.Targets {
		target := &r.Targets[i]
		stop := target.RestartAt
		if stop.IsZero() {
			stop = target.KilledAt
		}
		back := target.FirstServedAt
		if target.Target == name && !stop.IsZero() && stop.Before(f.To.Time) && (back.IsZero() || back.After(f.From.Time)) {
			return target.Ejected
		}
	}
	return ""
}

// singleTarget says that one target alone served. It was alone in rotation only where
// the load balancer took the others out: one that is dead and still sent requests is
// in rotation, whatever became of them.
func singleTarget(f *analysis.Finding, o others) (sentence, remedy string) {
	v := values(f.Values)
	sentence = "Only one target"
	if name := value(f.Target); name != "" {
		sentence = "Only " + name
	}
	did, and := " was in rotation", " and served at least "
	switch {
	case len(o.still) > 0:
		did, and = " served", ": at least "
	case len(o.down) > 0:
		did = " could serve"
	}
	sentence += did
	if n, ok := v.number("seconds"); ok {
		sentence += " for " + Seconds(n)
	}
	if served := v.classes("requests"); served != "" {
		sentence += and + served
	}
	sentence += "."
	if len(o.down) > 0 {
		sentence += " Down meanwhile: " + list(o.down) + "."
	}
	if len(o.still) > 0 {
		sentence += " Stopped meanwhile: " + list(o.still) + "."
	}
	if len(o.out) > 0 {
		sentence += " Out meanwhile: " + list(o.out) + "."
	} else if n, ok := v.count("others"); ok && n > 0 {
		sentence += " " + plural(n, "other was", "others were") + " out meanwhile."
	}
	return sentence, "Know whether one target carries the peak. If not, add a third, or deploy away from the peak."
}

func blindSpot(v values) (sentence, remedy string) {
	source := v.text("source")
	if source == "" {
		source = "A source"
	}
	sentence = source + " saw nothing"
	if n, ok := v.number("seconds"); ok {
		sentence += " for " + Seconds(n)
	}
	if reason := v.text("reason"); reason != "" {
		sentence += " (" + word(blindWords, reason) + ")"
	}
	sentence += "."
	if detail := v.text("detail"); detail != "" {
		sentence += " It said: " + stopped(detail)
	}
	return sentence, "What happened in that time is not known. Look at the source on the collectors page."
}

func queryFailed(v values) (sentence, remedy string) {
	source := v.text("source")
	if source == "" {
		source = "a source"
	}
	sentence = "A query to " + source + " failed"
	if n, ok := v.count("count"); ok && n > 1 {
		sentence = Count(n) + " queries to " + source + " failed"
	}
	if code := v.text("code"); code != "" {
		sentence += " (" + spoken(code) + ")"
	}
	sentence += ". That is not the same as finding nothing."
	if text := v.text("error"); text != "" {
		sentence += " The last error: " + stopped(text)
	}
	return sentence, queryRemedy(v.text("code"))
}

// stopped ends what others said with a full stop, so that it does not run into the
// next sentence.
func stopped(text string) string {
	text = strings.TrimRight(text, " \n")
	if text == "" || strings.ContainsRune(".!?…", []rune(text)[len([]rune(text))-1]) {
		return text
	}
	return text + "."
}

func queryRemedy(code string) string {
	switch code {
	case "throttled":
		return "Ask less often, or ask the provider for a higher rate."
	case "forbidden":
		return "Give the role of gapless the permissions that the README lists."
	case "not_found":
		return "Correct the name, address or prefix of the source in the configuration."
	case "truncated":
		return "Raise Loki's max_entries_limit_per_query, or give the lines times that tell them apart."
	case "unreachable":
		return "Make the source reachable from where gapless runs."
	}
	return "See the collectors page for the error."
}
