package accesslog

import (
	"bytes"
	"fmt"
)

// Fields of an ALB access-log line, by position. AWS only ever appends.
const (
	albType = iota
	albTime
	albELB
	albClient
	albTarget
	albRequestTime
	albTargetTime
	albResponseTime
	albStatus
	albTargetStatus
	albReceived
	albSent
	albRequest
	albAgent
	albCipher
	albTLS
	albGroup
	albTrace
	albDomain
	albCert
	albRule
	albCreated
	albActions
	albRedirect
	albError
	albTargetList
	albStatusList
	albClassification
	albClassificationReason
	albConnTrace
	albHost
	albURI
	albTransform
	albNode
	albFields // how many there are

	// albLeast is the number of fields that a line must have.
	albLeast = albRequest + 1
)

// albNames are the documented names ("Access log entries", Elastic Load Balancing
// user guide for Application Load Balancers).
var albNames = [albFields]string{
	"type", "time", "elb", "client:port", "target:port",
	"request_processing_time", "target_processing_time", "response_processing_time",
	"elb_status_code", "target_status_code", "received_bytes", "sent_bytes",
	"request_line", "user_agent", "ssl_cipher", "ssl_protocol", "target_group_arn",
	"trace_id", "domain_name", "chosen_cert_arn", "matched_rule_priority",
	"request_creation_time", "actions_executed", "redirect_url", "error_reason",
	"target:port_list", "target_status_code_list", "classification", "classification_reason",
	"conn_trace_id", "transformed_host", "transformed_uri", "request_transform_status", "ip_address",
}

// albFormat parses ALB access-log lines. It keeps the fields of the last line, so
// one value serves one goroutine.
type albFormat struct {
	fields albTokens
	clock  clock
}

func (f *albFormat) parse(line []byte, e *entry) (reject, bool) {
	t := &f.fields
	t.begin(line)
	t.upTo(albCipher)
	if t.n == albCipher && !t.open {
		t.upToLike(&t.same[0], albGroup+1)
		t.upTo(albDomain)
	}
	if t.n == albDomain && !t.open {
		t.upToLike(&t.same[1], albRule+1)
		t.upTo(albCreated + 1)
	}
	whole := t.n
	if t.open {
		whole--
	}
	if whole < albLeast || t.lost || !albTypeWord(t.field(albType)) || bytes.HasPrefix(t.field(albELB), []byte("net/")) {
		return diagnoseALB(line), false
	}
	end, ok := f.clock.parse(t.field(albTime))
	if !ok {
		return diagnoseALB(line), false
	}
	status, ok := parseStatus(t.field(albStatus))
	if !ok {
		return diagnoseALB(line), false
	}
	e.end, e.status = end, status
	e.targetStatus, _ = parseStatus(t.field(albTargetStatus))
	if e.start, e.hasStart = f.clock.parse(t.field(albCreated)); !e.hasStart && t.value(albCreated) != nil {
		return diagnoseALB(line), false
	}
	e.balancer, e.node, e.errorReason = t.value(albELB), nil, nil
	e.client, e.clientPort = nil, nil
	if client := t.value(albClient); client != nil {
		e.client, e.clientPort = splitAddress(client)
	}
	e.target, e.group = t.value(albTarget), t.value(albGroup)
	e.method, e.url, e.protocol = splitRequest(t.value(albRequest))
	e.agent = t.value(albAgent)
	wait := t.field(albRequestTime)
	e.connected = len(wait) > 0 && wait[0] != '-'
	word := t.field(albType)
	e.webSocket = status == 101 || word[0] == 'w' && word[1%len(word)] == 's'
	return reject{}, true
}

// rest reads what parse left out: the node and the reason of an error, which stand
// at the line's end and are needed for few lines, and where the time went.
func (f *albFormat) rest(e *entry) {
	f.fields.upTo(albFields)
	e.node, e.errorReason = f.fields.value(albNode), f.fields.value(albError)
	e.before, e.targetTook = albTook(f.fields.field(albRequestTime)), albTook(f.fields.field(albTargetTime))
}

// albTook is a processing time in microseconds; -1 where there is none, as where the
// request was sent to no target, or the target did not answer.
func albTook(b []byte) int64 {
	took, ok := parseLatency(b)
	if !ok || took < 0 {
		return -1
	}
	return took.Microseconds()
}

func (f *albFormat) appendFields(b []byte) []byte {
	return appendTokens(b, &f.fields, albNames[:])
}

// albTypeWord reports whether b can be a type: a short word. Which words there are
// is AWS's business and grows (h3 came unannounced).
func albTypeWord(b []byte) bool {
	if len(b) == 0 || len(b) > 16 {
		return false
	}
	for _, c := range b {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '/' && c != '_' {
				return false
			}
		}
	}
	return true
}

// diagnoseALB says why a line is not an ALB access-log line that can be understood.
func diagnoseALB(line []byte) reject {
	var t albTokens
	t.split(line)
	why, kind := otherThan(line, &t, KindALB)
	if kind == "" {
		return why
	}
	_, timed := parseTime(t.field(albTime))
	_, status := parseStatus(t.field(albStatus))
	switch {
	case t.n < albLeast || t.open && t.n == albLeast:
		return few(&t, albLeast, albNames[:], kind)
	case t.lost:
		return reject{reasonFormat, fmt.Sprintf("where field %d (%s) ends is not sure", t.n, albNames[t.n-1]), kind}
	case !timed:
		return reject{reasonTime, fmt.Sprintf("time %s is not a time", quote(t.field(albTime))), kind}
	case !status:
		return reject{reasonStatus, fmt.Sprintf("elb_status_code %s is neither three digits nor -", quote(t.field(albStatus))), kind}
	case !albTypeWord(t.field(albType)):
		return reject{reasonType, fmt.Sprintf("type %s is not a word", quote(t.field(albType))), kind}
	}
	return reject{reasonTime, fmt.Sprintf("request_creation_time %s is not a time", quote(t.field(albCreated))), kind}
}
