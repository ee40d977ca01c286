package accesslog

import (
	"bytes"
	"fmt"
	"time"

	"gapless/analysis"
)

// Variables of nginx that are understood, under their names in log_format
// (ngx_http_log_module and the modules whose variables it may write).
const (
	nginxTimeLocal = iota
	nginxTimeISO
	nginxMsec
	nginxTime // of any of these forms; only in JSON
	nginxRemoteAddr
	nginxRemotePort
	nginxRequest
	nginxMethod
	nginxURI
	nginxProtocol
	nginxStatus
	nginxRequestTime
	nginxAgent
	nginxHost
	nginxUpstreams // the lists follow, in the order of upstreams
	nginxVars      = nginxUpstreams + upstreamLists
	nginxOther     = -1
)

// nginxVar is the variable of a name.
func nginxVar(name string) int {
	switch name {
	case "time_local":
		return nginxTimeLocal
	case "time_iso8601":
		return nginxTimeISO
	case "msec":
		return nginxMsec
	case "remote_addr":
		return nginxRemoteAddr
	case "remote_port":
		return nginxRemotePort
	case "request":
		return nginxRequest
	case "request_method":
		return nginxMethod
	case "request_uri", "uri":
		return nginxURI
	case "server_protocol":
		return nginxProtocol
	case "status":
		return nginxStatus
	case "request_time":
		return nginxRequestTime
	case "http_user_agent":
		return nginxAgent
	case "host", "http_host":
		return nginxHost
	case "upstream_addr":
		return nginxUpstreams + upstreamAddr
	case "upstream_status":
		return nginxUpstreams + upstreamStatus
	case "upstream_response_time":
		return nginxUpstreams + upstreamResponse
	case "upstream_connect_time":
		return nginxUpstreams + upstreamConnect
	case "upstream_header_time":
		return nginxUpstreams + upstreamHeader
	}
	return nginxOther
}

// nginxValues are the values of one line: nil where the log does not have the
// variable. A variable without a value is "-" or empty.
type nginxValues struct {
	of   [nginxVars][]byte
	zone *time.Location // of times that name no offset
	ups  upstreams
}

// entry fills e from the values. The line was written when the request ended.
func (v *nginxValues) entry(e *entry) (reject, bool) {
	end, ok := v.end()
	if !ok {
		return reject{reasonTime, "no time that is understood", KindNginx}, false
	}
	status, ok := parseStatus(v.of[nginxStatus])
	if !ok {
		return reject{reasonStatus, fmt.Sprintf("status %s is neither three digits nor -", quote(v.of[nginxStatus])), KindNginx}, false
	}
	*e = entry{end: end, status: status, escape: e.escape}
	if took, ok := parseSeconds(v.of[nginxRequestTime]); ok {
		e.start, e.hasStart = end-took, true
	}
	e.client, e.clientPort = absent(v.of[nginxRemoteAddr]), absent(v.of[nginxRemotePort])
	e.agent, e.host = absent(v.of[nginxAgent]), absent(v.of[nginxHost])
	if request := absent(v.of[nginxRequest]); request != nil {
		e.method, e.url, e.protocol = splitRequest(request)
	} else {
		e.method, e.url, e.protocol = absent(v.of[nginxMethod]), absent(v.of[nginxURI]), absent(v.of[nginxProtocol])
	}
	if !isMethod(e.method) { // what scanners send: bytes of another protocol
		e.method = nil
	}
	v.attempts(e)
	switch {
	case e.targetStatus >= 500: // whatever became of it
	case status == 444: // nginx was told to close without an answer
		e.outcome = analysis.OutcomeRejected
	case status == 0 || status == 9: // the connection went before there was an answer; 9 is nginx's 0 for HTTP/0.9
		e.outcome = analysis.OutcomeClientAbort
	}
	e.webSocket = status == 101
	v.mask(e)
	return reject{}, true
}

// beforeAddress is what stands before a client's address, as syslog and grep put it
// there; nil where nothing does, or where no address follows it.
func beforeAddress(client []byte) []byte {
	blank := bytes.IndexByte(client, ' ') >= 0
	if !blank && (bytes.IndexByte(client, ':') < 0 || isAddress(client)) {
		return nil
	}
	for i := len(client) - 1; i > 0; i-- {
		if c := client[i-1]; (c == ' ' || c == ':') && isAddress(client[i:]) {
			if i > 1 && client[i-2] == ',' { // a list of addresses
				return nil
			}
			return client[:i]
		}
	}
	return nil
}

func (v *nginxValues) end() (int64, bool) {
	if at, ok := parseSeconds(v.of[nginxMsec]); ok { // the finest
		return at, true
	}
	if at, ok := parseISO(v.of[nginxTimeISO], v.zone); ok {
		return at, true
	}
	if at, ok := parseLocal(v.of[nginxTimeLocal], v.zone); ok {
		return at, true
	}
	b := v.of[nginxTime]
	if at, ok := parseISO(b, v.zone); ok {
		return at, true
	}
	if at, ok := parseLocal(b, v.zone); ok {
		return at, true
	}
	return parseSeconds(b)
}

// attempts reads which servers were tried, and what the last of them answered.
//
// nginx writes 502 or 504 into $upstream_status itself where a server could not be
// connected to, broke off or said nothing in time. Only $upstream_header_time tells
// that from the same status of the server's own; where the log does not have it,
// these two are put down to nginx if the client got them too. If it got no failure
// (error_page with "=200"), a 5xx in $upstream_status is one all the same: of the
// server's own, or of nginx where the header's time says that no answer came, or where
// no server could be chosen.
func (v *nginxValues) attempts(e *entry) {
	logged := false
	for list := range v.ups.lists {
		v.ups.lists[list] = v.of[nginxUpstreams+list]
		logged = logged || v.ups.lists[list] != nil
	}
	if !logged {
		return
	}
	v.ups.read()
	e.upstreams = v.ups.attempts
	if e.upstreams == nil {
		e.upstreams = []upstream{}
	}
	for i := range e.upstreams {
		if a := &e.upstreams[i]; a.addr == nil || isServer(a.addr) {
			e.attempts++
		}
	}
	if len(e.upstreams) == 0 {
		return
	}
	last := &e.upstreams[len(e.upstreams)-1]
	status, _ := parseStatus(last.status)
	replaced := status >= 500 && e.status >= 100 && e.status < 499
	if last.addr != nil && !isServer(last.addr) { // no server could be chosen
		if replaced {
			e.outcome = analysis.OutcomeLB5xx
		}
		return
	}
	e.target = last.addr
	switch {
	case v.ups.lists[upstreamHeader] != nil:
		if v.ups.last(upstreamHeader) == nil {
			status = 0
			if replaced {
				e.outcome = analysis.OutcomeLB5xx
			}
		}
	case (status == 502 || status == 504) && !replaced:
		status = 0
	case v.ups.lists[upstreamStatus] == nil && e.status < 499:
		status = e.status // nobody else can have answered
	}
	e.targetStatus = status
	e.connected = status > 0
	if v.ups.lists[upstreamConnect] != nil {
		e.connected = v.ups.last(upstreamConnect) != nil
	}
}

// mask says whether another attempt hid a failed one from the client.
func (v *nginxValues) mask(e *entry) {
	if !answered(e) {
		return
	}
	for i := range e.upstreams {
		if a := &e.upstreams[i]; a.failed {
			e.masked = true
			v.ups.failedOn = append(v.ups.failedOn, a.addr)
		}
	}
	e.failedOn = v.ups.failedOn
}

// answered reports whether the client got an answer that is no failure.
func answered(e *entry) bool {
	outcome := e.outcomeOf()
	return outcome == analysis.OutcomeOK || outcome == analysis.OutcomeClientError
}
