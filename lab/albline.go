package lab

import (
	"strconv"
	"strings"
	"time"
)

// albTime is the time in an ALB access log: UTC with six decimals.
const albTime = "2006-01-02T15:04:05.000000Z"

// identity is what the load balancer is called in its logs and its API.
type identity struct {
	region, account string
	loadBalancer    string // app/name/id
	loadBalancerARN string
	targetGroup     string // name
	targetGroupARN  string
	node            string // address of the load-balancer node
}

// appendALBLine appends a request as a line of an ALB access log, without the line
// break: all 34 fields of the documentation of November 2026, in its order.
func appendALBLine(b []byte, id *identity, x *exchange) []byte {
	target, targetStatus := dash(x.target), "-"
	if x.targetStatus != 0 {
		targetStatus = strconv.Itoa(x.targetStatus)
	}
	word := func(s string) { b = append(append(b, s...), ' ') }
	quoted := func(s string) { b = append(append(append(b, '"'), s...), '"', ' ') }

	word("http")
	word(x.end.Format(albTime))
	word(id.loadBalancer)
	word(x.client)
	word(target)
	word(albSeconds(x.requestTime))
	word(albSeconds(x.targetTime))
	word(albSeconds(x.responseTime))
	word(strconv.Itoa(x.status))
	word(targetStatus)
	word(strconv.Itoa(x.received))
	word(strconv.Itoa(x.sent))
	quoted(x.method + " " + albEscape(x.url) + " " + x.protocol)
	quoted(albEscape(dash(cut(x.userAgent, 8<<10))))
	word("-") // ssl_cipher
	word("-") // ssl_protocol
	word(id.targetGroupARN)
	quoted(albEscape(x.trace))
	quoted("-") // domain_name: no SNI without TLS
	quoted("-") // chosen_cert_arn
	word("0")   // matched_rule_priority: the default rule
	word(x.start.Format(albTime))
	quoted("forward")
	quoted("-") // redirect_url
	quoted("-") // error_reason: not filled for ordinary 502, 503 and 504
	quoted(target)
	quoted(targetStatus)
	quoted("-") // classification
	quoted("-") // classification_reason
	word(dash(x.connTrace))
	quoted("-") // transformed_host
	quoted("-") // transformed_uri
	quoted("-") // request_transform_status
	return append(b, id.node...)
}

// albEscape writes a quotation mark, a backslash and every byte that is not
// printable ASCII as \xNN. For the quotation mark this has been seen in real logs;
// for the others it is how such logs are commonly read.
func albEscape(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// albSeconds is a duration in seconds with milliseconds, or -1.
func albSeconds(seconds float64) string {
	if seconds < 0 {
		return "-1"
	}
	return strconv.FormatFloat(seconds, 'f', 3, 64)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func cut(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}

// albKey is the key of a log object under the bucket's prefix; kind begins its last
// part. latest is the end of
// its latest entry: the name carries the next whole minute, as the end of the
// period, and the folder that day.
func albKey(id *identity, kind string, latest time.Time, random string) string {
	end := latest.UTC().Truncate(time.Minute)
	if end.Before(latest) {
		end = end.Add(time.Minute)
	}
	return "AWSLogs/" + id.account + "/elasticloadbalancing/" + id.region + "/" + end.Format("2006/01/02") + "/" +
		kind + id.account + "_elasticloadbalancing_" + id.region + "_" + strings.ReplaceAll(id.loadBalancer, "/", ".") +
		"_" + end.Format("20060102T1504Z") + "_" + id.node + "_" + random + ".log.gz"
}
