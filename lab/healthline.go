package lab

import (
	"strconv"
	"time"
)

// healthLogPrefix begins the names of health-check log objects.
const healthLogPrefix = "health_check_log_"

// healthCheck is one finished health check.
type healthCheck struct {
	start, end time.Time
	address    string
	status     int    // 0: none came
	reason     string // of a failure, in the API's words; empty: it passed
}

// appendHealthLine appends a check as a line of an ALB health-check log, without the
// line break: all ten fields of the documentation of November 2025, in its order.
func appendHealthLine(b []byte, id *identity, c *healthCheck) []byte {
	status, verdict, reason := "-", "PASS", "-"
	if c.status != 0 {
		status = strconv.Itoa(c.status)
	}
	if c.reason != "" {
		verdict, reason = "FAIL", logReason(c)
	}
	for _, word := range []string{
		"http", c.start.UTC().Format(albTime), strconv.FormatFloat(c.end.Sub(c.start).Seconds(), 'f', 9, 64),
		c.address, id.targetGroup, verdict, status, reason, id.loadBalancer,
	} {
		b = append(append(b, word...), ' ')
	}
	return append(b, id.node...)
}

// logReason is the log's word for why a check failed, which is not the API's.
func logReason(c *healthCheck) string {
	switch {
	case c.reason == reasonTimeout:
		return "TimedOut"
	case c.status >= 500:
		return "TargetError"
	case c.status != 0:
		return "ResponseCodeMismatch"
	}
	return "ConnectionReset"
}
