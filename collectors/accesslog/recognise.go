package accesslog

import (
	"bytes"
	"fmt"
	"net/netip"
)

// logNames name the kinds of logs for people.
var logNames = map[string]string{
	KindALB: "an ALB access log", KindALBHealth: "an ALB health-check log", KindALBConnections: "an ALB connection log",
	kindClassic: "a Classic Load Balancer's access log", kindNLB: "a Network Load Balancer's access log",
	KindNginx: "an nginx access log", KindNginxJSON: "a log of JSON objects", KindHAProxy: "an HAProxy log",
}

// otherThan says that a line which the parser of one of the load balancer's logs did
// not understand is none of that log's. Else it answers, as the kind, what a damaged
// line seems to be: the kind that is wanted, or unknown.
func otherThan(line []byte, t *albTokens, want string) (why reject, kind string) {
	if len(bytes.TrimSpace(line)) == 0 {
		return rejectEmpty, ""
	}
	if bytes.HasPrefix(line, []byte("Enable ")) && bytes.Contains(line, []byte("Log for ELB: ")) {
		return reject{reasonTestFile, "the line that AWS writes to try its access to the bucket", want}, ""
	}
	kind = kindOf(t)
	if kind == "" {
		if kind, at := behindPrefix(line, t.field(albType)); kind != "" {
			return reject{reasonPrefixed, fmt.Sprintf("%s stands before the line", quote(line[:at])), kind}, ""
		}
		kind = proxyOf(line)
	}
	switch {
	case kind == want:
		return reject{}, want
	case kind == "", kind == KindALB && t.n < albLeast:
		return reject{}, kindUnknown
	}
	return notOf(want, kind), ""
}

// notProxys says that a line which a proxy's parser did not understand is another
// log's. Else it answers false and, as the kind, what the line seems to be: the kind
// that is wanted, or unknown.
func notProxys(line []byte, want string) (why reject, other bool) {
	kind := proxyOf(line)
	if kind == "" {
		var t albTokens
		t.split(line)
		if kind = kindOf(&t); kind == KindALB && t.n < albLeast {
			kind = ""
		}
	}
	switch kind {
	case want:
		return reject{kind: want}, false
	case "":
		return reject{kind: kindUnknown}, false
	}
	return notOf(want, kind), true
}

func notOf(want, kind string) reject {
	return reject{reasonOther, "not a line of " + logNames[want] + ": it looks like one of " + logNames[kind], kind}
}

// kindOf guesses which of a load balancer's logs a line is of. It is empty where it
// can't tell.
func kindOf(t *albTokens) string {
	_, timeFirst := parseTime(t.field(0))
	_, timeSecond := parseTime(t.field(1))
	isNLB := func(i int) bool { return bytes.HasPrefix(t.field(i), []byte("net/")) }
	switch {
	case albTypeWord(t.field(0)) && (isNLB(2) || isNLB(3)):
		return kindNLB
	case timeFirst && t.n >= 12 && bytes.IndexByte(t.field(2), ':') > 0:
		if _, ok := parseStatus(t.field(7)); ok {
			return kindClassic
		}
	case isHealthCheck(t, timeSecond):
		return KindALBHealth
	case isConnection(t, timeFirst):
		return KindALBConnections
	case albTypeWord(t.field(0)) && (timeSecond || bytes.HasPrefix(t.field(2), []byte("app/"))):
		return KindALB
	}
	return ""
}

// isHealthCheck reports whether at least two of three signs of a health check are
// there: a damaged line may lack one.
func isHealthCheck(t *albTokens, timed bool) bool {
	verdict := t.field(healthStatus)
	_, lasted := parseLatency(t.field(healthLatency))
	return atLeastTwo(timed, lasted, string(verdict) == "PASS" || string(verdict) == "FAIL")
}

// isConnection does so for a connection.
func isConnection(t *albTokens, timed bool) bool {
	_, err := netip.ParseAddr(string(t.field(connClient)))
	return t.n > connListenerPort && atLeastTwo(timed, err == nil, digits(t.field(connClientPort)) && digits(t.field(connListenerPort)))
}

func atLeastTwo(signs ...bool) bool {
	n := 0
	for _, sign := range signs {
		if sign {
			n++
		}
	}
	return n >= 2
}

// proxyOf guesses which proxy's log a line is of; empty where it can't tell.
func proxyOf(line []byte) string {
	if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(`{"`)) {
		return KindNginxJSON
	}
	for from := 0; ; { // a date in brackets, before a request in quotes
		i := bytes.Index(line[from:], []byte(" ["))
		if i < 0 {
			break
		}
		from += i + 2
		end := bytes.IndexByte(line[from:min(len(line), from+maxTimeText)], ']')
		if end < 0 {
			continue
		}
		if _, ok := parseLocal(line[from:from+end], nil); ok && bytes.HasPrefix(line[from+end:], []byte(`] "`)) {
			return KindNginx
		}
	}
	if _, _, _, ok := new(haproxyFormat).begin(line); ok || bytes.Contains(line, []byte("haproxy[")) {
		return KindHAProxy
	}
	return ""
}

// behindPrefix looks for a log line behind something that ends in a colon or dash
// in its first word, such as the file name and line number that grep prints.
func behindPrefix(line, word []byte) (kind string, at int) {
	var t albTokens
	tries := 0
	for i := 0; i < len(word) && tries < 64; i++ {
		if c := word[i]; c != ':' && c != '-' {
			continue
		}
		tries++
		head := line[i+1:]
		if len(head) > 4096 { // enough for what kindOf looks at
			head = head[:4096]
		}
		t.split(head)
		if kind := kindOf(&t); kind != "" {
			return kind, i + 1
		}
	}
	return "", 0
}
