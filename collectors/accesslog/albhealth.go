package accesslog

import (
	"fmt"
	"strconv"
	"time"

	"gapless/analysis"
)

// Fields of a line of an ALB health-check log, by position.
const (
	healthType = iota
	healthTime
	healthLatency
	healthTarget
	healthGroup
	healthStatus
	healthCode
	healthReason
	healthELB
	healthNode
	healthFields

	// healthLeast is the number of fields that a line must have: AWS's own examples
	// end after the reason.
	healthLeast = healthReason + 1
)

// healthNames are the documented names ("Health check log entries", Elastic Load
// Balancing user guide for Application Load Balancers).
var healthNames = [healthFields]string{
	"type", "time", "latency", "target_addr", "target_group_id", "status", "status_code", "reason_code", "elb", "ip_address",
}

// healthFormat parses lines of ALB health-check logs. It keeps the fields of the
// last line, so one value serves one goroutine.
type healthFormat struct {
	fields  albTokens
	pass    bool
	latency time.Duration // 0 where the line has none
	timed   bool          // the line has a latency
	reason  []byte
}

func (f *healthFormat) parse(line []byte, e *entry) (reject, bool) {
	t := &f.fields
	t.split(line)
	whole := t.n
	if t.open {
		whole--
	}
	start, timed := parseTime(t.field(healthTime))
	verdict := string(t.field(healthStatus))
	code, coded := parseCode(t.field(healthCode))
	latency, lasted := parseLatency(t.field(healthLatency))
	if whole < healthLeast || !albTypeWord(t.field(healthType)) || !timed || !coded || !lasted || verdict != "PASS" && verdict != "FAIL" {
		return diagnoseHealth(line, t), false
	}
	*e = entry{
		start: start, end: start + max(latency, 0).Microseconds(), hasStart: true,
		balancer: t.value(healthELB), node: t.value(healthNode),
		target: t.value(healthTarget), group: t.value(healthGroup), status: code, targetStatus: code,
	}
	f.pass, f.latency, f.timed, f.reason = verdict == "PASS", max(latency, 0), latency >= 0, t.value(healthReason)
	return reject{}, true
}

// outcome puts a check's end into the words for requests; empty where none fits.
func (f *healthFormat) outcome(status int) analysis.Outcome {
	if f.pass {
		return analysis.OutcomeOK
	}
	switch string(f.reason) {
	case "TimedOut", "RequestTimedOut", "ConnectionTimedOut": // the first replaces the other two
		return analysis.OutcomeTimeout
	case "ConnectionReset":
		return analysis.OutcomeConnectionError
	case "TargetError":
		return analysis.OutcomeTarget5xx
	case "ResponseStringMismatch":
		return analysis.OutcomeBadBody
	}
	switch {
	case status >= 500:
		return analysis.OutcomeTarget5xx
	case status >= 400:
		return analysis.OutcomeClientError
	}
	return analysis.OutcomeUnknown
}

// diagnoseHealth says why a line is not one of a health-check log.
func diagnoseHealth(line []byte, t *albTokens) reject {
	why, kind := otherThan(line, t, KindALBHealth)
	if kind == "" {
		return why
	}
	_, timed := parseTime(t.field(healthTime))
	_, coded := parseCode(t.field(healthCode))
	_, lasted := parseLatency(t.field(healthLatency))
	switch verdict := t.field(healthStatus); {
	case t.n < healthLeast || t.open && t.n == healthLeast:
		return few(t, healthLeast, healthNames[:], kind)
	case !timed:
		return reject{reasonTime, fmt.Sprintf("time %s is not a time", quote(t.field(healthTime))), kind}
	case !lasted:
		return reject{reasonLatency, fmt.Sprintf("latency %s is neither seconds nor -", quote(t.field(healthLatency))), kind}
	case string(verdict) != "PASS" && string(verdict) != "FAIL":
		return reject{reasonStatus, fmt.Sprintf("status %s is neither PASS nor FAIL", quote(verdict)), kind}
	case !coded:
		return reject{reasonStatus, fmt.Sprintf("status_code %s is neither a number nor -", quote(t.field(healthCode))), kind}
	}
	return reject{reasonType, fmt.Sprintf("type %s is not a word", quote(t.field(healthType))), kind}
}

// appendMore writes what a health check has beyond a request.
func (f *healthFormat) appendMore(b []byte, e *entry) []byte {
	b = append(b, `,"duration_ms":`...)
	if f.timed {
		b = strconv.AppendFloat(b, float64(f.latency)/1e6, 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"outcome":"`...)
	b = append(b, f.outcome(e.status)...)
	b = append(b, `","attempts":1,"pass":`...)
	b = strconv.AppendBool(b, f.pass)
	b = append(b, `,"reason_code":`...)
	if f.reason == nil {
		b = append(b, "null"...)
	} else {
		b = appendString(b, f.reason)
	}
	return b
}

func (f *healthFormat) appendFields(b []byte) []byte {
	return appendTokens(b, &f.fields, healthNames[:])
}

// rest has nothing to add: a short line is read whole.
func (f *healthFormat) rest(*entry) {}
