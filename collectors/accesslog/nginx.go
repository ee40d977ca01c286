package accesslog

import (
	"bytes"
	"fmt"
	"strings"
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
	case status == 0: // the connection went before there was an answer
		e.outcome = analysis.OutcomeClientAbort
	}
	e.webSocket = status == 101
	v.mask(e)
	return reject{}, true
}

func (v *nginxValues) end() (int64, bool) {
	if at, ok := parseSeconds(v.of[nginxMsec]); ok { // the finest
		return at, true
	}
	if at, ok := parseISO(v.of[nginxTimeISO]); ok {
		return at, true
	}
	if at, ok := parseLocal(v.of[nginxTimeLocal], v.zone); ok {
		return at, true
	}
	b := v.of[nginxTime]
	if at, ok := parseISO(b); ok {
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
// server's own, or of nginx where the header's time says that no answer came.
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
	if last.addr != nil && !isServer(last.addr) { // no server could be chosen
		return
	}
	e.target = last.addr
	status, _ := parseStatus(last.status)
	replaced := status >= 500 && e.status >= 100 && e.status < 499
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

// isMethod reports whether b can be a method: letters, and not many.
func isMethod(b []byte) bool {
	for _, c := range b {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(b) <= 32
}

// nginxCombined is the format that is built into nginx. main, which the configuration
// that comes with it defines, adds "$http_x_forwarded_for".
const nginxCombined = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`

// nginxFormat parses lines of a log_format. It keeps the values of the last line, so
// one value serves one goroutine.
type nginxFormat struct {
	first string // what a line begins with
	steps []nginxStep
	// extended marks the formats with a name. Whatever follows them is looked through
	// for times and upstream lists, which is how most people extend them.
	extended  bool
	forwarded bool // the format is main: the tail begins with the client's X-Forwarded-For
	values    nginxValues
	raw       [][]byte // by step
	tail      []byte
	found     []nginxFound // in what was appended
}

// nginxStep is one variable and the text that follows it.
type nginxStep struct {
	name   string
	is     int
	after  string
	quoted bool
	// ahead is, where a time follows, the text that ends it: the value may hold what
	// stands before a time, as a user's name does that a client chose.
	ahead string
	timed bool
}

type nginxFound struct {
	name  string
	value []byte
}

// newNginx compiles a log_format: a name ("combined", "main"), or its text with $variables.
// Empty is combined.
func newNginx(text string, zone *time.Location) (*nginxFormat, error) {
	f := &nginxFormat{values: nginxValues{zone: zone}}
	switch text {
	case "", "combined", "main":
		f.extended, f.forwarded = true, text == "main"
		text = nginxCombined
	default:
		if !strings.Contains(text, "$") {
			return nil, fmt.Errorf("format %q is neither combined, main nor a log_format with $variables", text)
		}
	}
	first, rest, _ := strings.Cut(text, "$")
	f.first = first
	before := first
	has := map[int]bool{}
	for rest != "" {
		var name string
		if strings.HasPrefix(rest, "{") {
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return nil, fmt.Errorf("format %q: ${ is not closed", text)
			}
			name, rest = rest[1:end], rest[end+1:]
		} else {
			end := 0
			for end < len(rest) && (rest[end]|0x20 >= 'a' && rest[end]|0x20 <= 'z' || rest[end]-'0' <= 9 || rest[end] == '_') {
				end++
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, fmt.Errorf("format %q: a $ without a name", text)
		}
		var after string
		var more bool
		after, rest, more = strings.Cut(rest, "$")
		if more && after == "" {
			return nil, fmt.Errorf("format %q: nothing between $%s and what follows", text, name)
		}
		is := nginxVar(name)
		has[is] = true
		f.steps = append(f.steps, nginxStep{
			name: name, is: is, after: after,
			quoted: strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`),
		})
		before = after
	}
	if !has[nginxStatus] || !has[nginxTimeLocal] && !has[nginxTimeISO] && !has[nginxMsec] {
		return nil, fmt.Errorf("format %q has no $status, or none of $msec, $time_iso8601, $time_local", text)
	}
	for i := range f.steps[:len(f.steps)-1] {
		if next := f.steps[i+1]; next.is == nginxTimeLocal || next.is == nginxTimeISO || next.is == nginxMsec {
			f.steps[i].timed, f.steps[i].ahead = !f.steps[i].quoted, next.after
		}
	}
	f.raw = make([][]byte, len(f.steps))
	return f, nil
}

func (f *nginxFormat) parse(line []byte, e *entry) (reject, bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return rejectEmpty, false
	}
	if !bytes.HasPrefix(line, []byte(f.first)) {
		return outOfFormat(line, KindNginx, fmt.Sprintf("the line does not begin with %q", f.first)), false
	}
	clear(f.raw)
	f.values.of = [nginxVars][]byte{}
	f.values.ups.failedOn = f.values.ups.failedOn[:0]
	rest := line[len(f.first):]
	for i := range f.steps {
		step := &f.steps[i]
		end := step.end(rest)
		if step.timed && end >= 0 {
			end = step.beforeTime(rest, end, f.values.zone)
		}
		if end < 0 {
			return outOfFormat(line, KindNginx, fmt.Sprintf("%q does not follow $%s", step.after, step.name)), false
		}
		f.raw[i] = rest[:end:end]
		if step.is != nginxOther {
			f.values.of[step.is] = f.raw[i]
		}
		rest = rest[end+len(step.after):]
	}
	f.tail, f.found = rest, f.found[:0]
	if f.extended && len(rest) > 0 {
		f.extensions(rest)
	}
	why, ok := f.values.entry(e)
	if !ok {
		if other, is := notProxys(line, KindNginx); is {
			return other, false
		}
	}
	return why, ok
}

// outOfFormat says of a line that it is not in the format of its log, or which other
// log it is of.
func outOfFormat(line []byte, want, detail string) reject {
	why, other := notProxys(line, want)
	if !other {
		why.reason, why.detail = reasonFormat, detail
	}
	return why
}

// beforeTime is where the step's value ends in b, of the places where it may end the
// first with a time behind it; where there is none, the first of all. A value that
// ends where it may end only once, which is nearly always, needs no look at the time.
func (s *nginxStep) beforeTime(b []byte, first int, zone *time.Location) int {
	for at := first; ; {
		value := b[at+len(s.after):]
		if s.ahead != "" {
			end := bytes.Index(value, []byte(s.ahead))
			if end < 0 {
				return first
			}
			value = value[:end]
		}
		next := bytes.Index(value, []byte(s.after))
		if next < 0 && at == first || anyTime(value, zone) {
			return at
		}
		if next < 0 {
			return first
		}
		at += len(s.after) + next
	}
}

// anyTime reports whether b is a time in one of nginx's forms.
func anyTime(b []byte, zone *time.Location) bool {
	if _, ok := parseLocal(b, zone); ok {
		return true
	}
	if _, ok := parseISO(b); ok {
		return true
	}
	_, ok := parseSeconds(b)
	return ok
}

// end is where the step's value ends in b, or -1.
func (s *nginxStep) end(b []byte) int {
	switch {
	case s.after == "" && s.is >= nginxUpstreams:
		return listEnd(b)
	case s.after == "":
		return len(b)
	case s.quoted:
		for i := 0; i < len(b); i++ {
			next := bytes.IndexByte(b[i:], '"')
			if next < 0 {
				return -1
			}
			i += next
			if !escapedAt(b, i) && bytes.HasPrefix(b[i:], []byte(s.after)) {
				return i
			}
		}
		return -1
	case s.is >= nginxUpstreams && s.after[0] == ' ':
		if end := listEnd(b); end >= 0 && bytes.HasPrefix(b[end:], []byte(s.after)) {
			return end
		}
		return -1
	}
	return bytes.Index(b, []byte(s.after))
}

// listEnd is where a bare list ends: at the first space that neither follows a comma
// nor stands beside a lone colon.
func listEnd(b []byte) int {
	for i := range b {
		if b[i] != ' ' {
			continue
		}
		if i > 0 && b[i-1] == ',' || i+2 < len(b) && b[i+1] == ':' && b[i+2] == ' ' || i > 1 && b[i-1] == ':' && b[i-2] == ' ' {
			continue
		}
		return i
	}
	return len(b)
}

func (f *nginxFormat) rest(*entry) {} // parse leaves nothing out

func (f *nginxFormat) appendFields(b []byte) []byte {
	for i := range f.steps {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(b, f.steps[i].name, f.raw[i])
	}
	for _, found := range f.found {
		b = append(b, ',')
		b = appendMember(b, found.name, found.value)
	}
	if len(f.tail) > 0 {
		b = append(b, ',')
		b = appendMember(b, "rest", bytes.TrimLeft(f.tail, " "))
	}
	return b
}

// nginxNames are the names of what extensions may find.
var nginxNames = map[int]string{
	nginxRequestTime: "request_time", nginxUpstreams + upstreamAddr: "upstream_addr", nginxUpstreams + upstreamStatus: "upstream_status",
	nginxUpstreams + upstreamResponse: "upstream_response_time", nginxUpstreams + upstreamConnect: "upstream_connect_time",
	nginxUpstreams + upstreamHeader: "upstream_header_time",
}
