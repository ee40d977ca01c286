package accesslog

import (
	"bytes"
	"fmt"
	"time"

	"gapless/analysis"
)

// Words of a line in HAProxy's HTTP log format, in order. Some hold several fields.
const (
	haproxyClient = iota
	haproxyDate
	haproxyFrontend
	haproxyBackend
	haproxyServer
	haproxyTimers
	haproxyStatus
	haproxyBytes
	haproxyRequestCookie
	haproxyResponseCookie
	haproxyTermination
	haproxyConnections
	haproxyQueues
	haproxyRequestHeaders
	haproxyResponseHeaders
	haproxyRequest
	haproxyFields
)

// haproxyNames are the names of the fields in each word (configuration manual, 8.2.3,
// "HTTP log format").
var haproxyNames = [haproxyFields][]string{
	{"client_ip", "client_port"}, {"request_date"}, {"frontend_name"}, {"backend_name"}, {"server_name"}, {"TR", "Tw", "Tc", "Tr", "Ta"},
	{"status_code"}, {"bytes_read"}, {"captured_request_cookie"}, {"captured_response_cookie"}, {"termination_state"},
	{"actconn", "feconn", "beconn", "srv_conn", "retries"}, {"srv_queue", "backend_queue"},
	{"captured_request_headers"}, {"captured_response_headers"}, {"http_request"},
}

// haproxyFormat parses lines of option httplog, behind a syslog header or none. It
// keeps the fields of the last line, so one value serves one goroutine.
type haproxyFormat struct {
	zone     *time.Location // of its dates, which name no offset
	fields   [haproxyFields][]byte
	header   []byte    // syslog's
	timers   [5][]byte // TR, Tw, Tc, Tr, Ta
	failedOn [1][]byte
}

func (f *haproxyFormat) parse(line []byte, e *entry) (reject, bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return rejectEmpty, false
	}
	f.fields, f.timers = [haproxyFields][]byte{}, [5][]byte{}
	start, header, rest, ok := f.begin(line)
	f.header = header
	if !ok {
		return diagnoseHAProxy(line), false
	}
	if bytes.HasSuffix(header, []byte(" times: [")) { // rsyslog's "message repeated 4 times: [ … ]"
		return reject{reasonPrefixed, "syslog made one line of several equal ones; let it write each (RepeatedMsgReduction off)", KindHAProxy}, false
	}
	what := f.middle(rest)
	if what == "" && f.anotherBefore(line) {
		what = anotherLine
	}
	if what != "" {
		if other, is := notProxys(line, KindHAProxy); is {
			return other, false
		}
		if listener, _ := word(rest); what != anotherLine && bytes.HasSuffix(listener, []byte(":")) { // frontend/bind, then what went wrong
			return reject{reasonState, "an error of a connection, without a request", KindHAProxy}, false
		}
		return reject{reasonFormat, what, KindHAProxy}, false
	}
	status, ok := parseStatus(f.fields[haproxyStatus])
	if !ok {
		if text := f.fields[haproxyStatus]; string(text) != "-1" && string(text) != "0" {
			return reject{reasonStatus, fmt.Sprintf("status_code %s is no status", quote(text)), KindHAProxy}, false
		}
	}
	*e = entry{start: start, hasStart: true, status: status, escape: escapeHash, node: hostOf(header)}
	took := f.timers[4]
	if len(took) > 0 && took[0] == '+' { // logged before the end (option logasap)
		e.openEnded, took = true, took[1:]
	}
	lasted := milliseconds(took)
	e.end = start + max(lasted, 0)*1000
	e.openEnded = e.openEnded || lasted < 0
	e.client, e.clientPort = splitAddress(f.fields[haproxyClient])
	e.client = absent(e.client)
	e.balancer = bytes.TrimSuffix(f.fields[haproxyFrontend], []byte("~"))
	e.group = f.fields[haproxyBackend]
	if server := f.fields[haproxyServer]; len(server) > 0 && server[0] != '<' { // <NOSRV>, <STATS>
		e.target = server
	}
	if request := f.fields[haproxyRequest]; len(request) > 0 && request[0] != '<' { // <BADREQ>
		e.method, e.url, e.protocol = splitRequest(request)
	}
	e.agent = captured(f.fields[haproxyRequestHeaders])
	e.webSocket = status == 101
	f.ending(e)
	return reject{}, true
}

// begin finds the date, which is the surest sign of a request, and what stands
// before it: the client, and a syslog header.
func (f *haproxyFormat) begin(line []byte) (start int64, header, rest []byte, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '[')
		if i < 0 {
			return 0, nil, nil, false
		}
		i += from
		end := bytes.IndexByte(line[i:min(len(line), i+maxTimeText)], ']')
		if end < 0 {
			from = i + 1
			continue
		}
		end += i
		if at, ok := parseLocal(line[i+1:end], f.zone); ok && i > 1 && line[i-1] == ' ' {
			before := line[:i-1]
			space := bytes.LastIndexByte(before, ' ')
			f.fields[haproxyClient], f.fields[haproxyDate] = before[space+1:], line[i+1:end]
			header = before[:max(space, 0)]
			return f.ofTwo(at, header), header, line[end+1:], bytes.IndexByte(f.fields[haproxyClient], ':') >= 0
		}
		from = i + 1
	}
}

// ofTwo decides, of a time without an offset that the zone's clocks show twice, which
// of the two is meant: the one nearer to the time in syslog's header, where that has an
// offset. Else it stays as it is.
func (f *haproxyFormat) ofTwo(at int64, header []byte) int64 {
	const sure = int64(20 * time.Minute / time.Microsecond) // less than any clock is set back
	logged, ok := f.loggedAt(header)
	if !ok || f.zone == nil || abs(logged-at) < sure {
		return at
	}
	shown := time.UnixMicro(at).In(f.zone)
	for _, by := range []time.Duration{time.Hour, -time.Hour, 30 * time.Minute, -30 * time.Minute} {
		other := shown.Add(by)
		if other.Format(time.DateTime) == shown.Format(time.DateTime) && abs(logged-other.UnixMicro()) < abs(logged-at) {
			return other.UnixMicro()
		}
	}
	return at
}

// loggedAt is the time in a syslog header, if that tells its offset from UTC: at the
// header's begin, or behind priority and version.
func (f *haproxyFormat) loggedAt(header []byte) (int64, bool) {
	first, rest := word(header)
	if bytes.HasSuffix(first, []byte(">1")) {
		first, _ = word(rest)
	} else if end := bytes.IndexByte(first, '>'); end > 0 && first[0] == '<' {
		first = first[end+1:]
	}
	const whole = len("2006-01-02T15:04:05")
	if len(first) <= whole || first[len(first)-1] != 'Z' && !bytes.ContainsAny(first[whole:], "+-") {
		return 0, false
	}
	return parseISO(first, nil)
}

func abs(n int64) int64 { return max(n, -n) }

// middle takes everything after the date apart. It answers what is wrong, or "".
func (f *haproxyFormat) middle(rest []byte) string {
	f.fields[haproxyFrontend], rest = word(rest)
	var server []byte
	server, rest = word(rest)
	slash := bytes.IndexByte(server, '/')
	if slash < 0 || holdsDate(server) {
		return "backend/server is missing"
	}
	f.fields[haproxyBackend], f.fields[haproxyServer] = server[:slash], server[slash+1:]
	// Custom formats put words between, such as a captured host.
	for tries := 0; ; tries++ {
		f.fields[haproxyTimers], rest = word(rest)
		if splitSlashes(f.fields[haproxyTimers], f.timers[:]) {
			break
		}
		if text := f.fields[haproxyTimers]; tries == 4 || len(rest) == 0 || holdsDate(text) {
			return "the five timers are missing"
		}
	}
	for field := haproxyStatus; field <= haproxyBytes; field++ {
		f.fields[field], rest = word(rest)
	}
	if sent := bytes.TrimPrefix(f.fields[haproxyBytes], []byte("+")); !digits(sent) { // + where it is logged before the end
		return "bytes_read is no number"
	}
	return f.cookies(rest)
}

// anotherBefore reports whether the line is the end of one that was cut before its date
// and a whole one: its header has what is not syslog's, or that twice.
func (f *haproxyFormat) anotherBefore(line []byte) bool {
	client, header := f.fields[haproxyClient], f.header
	if client[0] == '[' && bytes.IndexByte(client, ']') < 0 || bytes.IndexByte(line[:len(header)+len(client)+1], 0) >= 0 {
		return true
	}
	if header = bytes.TrimRight(header, " "); len(header) == 0 {
		return false
	}
	if at := bytes.LastIndexByte(header, '<'); at > 0 && isPriority(header[at:]) {
		return true
	}
	if at := bytes.Index(header, []byte(" [")); at >= 0 && (at+2 == len(header) || header[at+2]-'0' <= 9) {
		return true
	}
	program := header[bytes.LastIndexByte(header, ' ')+1:]
	return program[len(program)-1] == ':' && bytes.Index(header, program) < len(header)-len(program)
}

// isPriority reports whether b begins with syslog's priority.
func isPriority(b []byte) bool {
	end := bytes.IndexByte(b, '>')
	return end > 1 && end < 5 && digits(b[1:end])
}

// ending says how the request ended, by its termination state (configuration
// manual, 8.5): the first letter is who ended it, the second what was going on.
func (f *haproxyFormat) ending(e *entry) {
	e.termination = f.fields[haproxyTermination]
	who, when := e.termination[0], e.termination[1]
	if tr := f.timers[3]; len(tr) > 0 && tr[0] != '-' && e.target != nil {
		e.connected = true
		if when == '-' || when == 'D' || when == 'L' {
			e.targetStatus = e.status
		}
	}
	if tc := f.timers[2]; len(tc) > 0 && tc[0] != '-' && e.target != nil {
		e.connected = true
	}
	var parts [5][]byte
	if splitSlashes(f.fields[haproxyConnections], parts[:]) {
		e.retries = parts[4]
		e.redispatched = len(e.retries) > 0 && e.retries[0] == '+'
		if e.redispatched {
			e.retries = e.retries[1:]
		}
	}
	tries := int(max(milliseconds(e.retries), 0))
	if e.redispatched && tries == 0 {
		tries = 1
	}
	e.attempts = 1 + tries
	switch {
	case e.targetStatus >= 500: // it stays the application's, whoever closed after it
	case who == 'C' || who == 'c':
		e.outcome = analysis.OutcomeClientAbort
	case who == 'P' && when == 'T': // a tarpit answers 500 on purpose
		e.outcome = analysis.OutcomeRejected
	case who == '-' || who == 'L' || e.status == 101:
	case (when == 'D' || when == 'L') && e.status >= 200 && e.status < 300: // the answer broke off
		e.outcome = analysis.OutcomeBadBody
	}
	if tries > 0 && answered(e) {
		e.masked = true
		f.failedOn[0] = e.target
		if e.redispatched { // the tries were another server's
			f.failedOn[0] = nil
		}
		e.failedOn = f.failedOn[:]
	}
}

// rest reads where the time went: TR, Tw and Tc lie before the request was with the
// server, Tr is how long the server took until its answer's headers were there.
func (f *haproxyFormat) rest(e *entry) {
	e.before, e.targetTook = 0, -1
	for _, timer := range f.timers[:3] {
		took := milliseconds(timer)
		if took < 0 {
			e.before = -1
			break
		}
		e.before += 1000 * took
	}
	if took := milliseconds(f.timers[3]); took >= 0 {
		e.targetTook = 1000 * took
	}
}

func (f *haproxyFormat) appendFields(b []byte) []byte {
	process, pid := processOf(f.header)
	b = appendMember(b, "process_name", process)
	b = appendMember(append(b, ','), "pid", pid)
	for i, names := range haproxyNames {
		values := [5][]byte{f.fields[i]}
		switch {
		case i == haproxyClient:
			values[0], values[1] = splitAddress(f.fields[i])
		case len(names) > 1:
			copy(values[:], bytes.SplitN(f.fields[i], []byte("/"), len(names)))
		}
		for j, name := range names {
			b = appendMember(append(b, ','), name, values[j])
		}
	}
	return b
}

// processOf is the program that a syslog header names, and its process ID: before the
// colon ("haproxy[14389]:"), or in the newer form between spaces ("haproxy 7 - -").
// They are nil where there are none.
func processOf(header []byte) (name, pid []byte) {
	words := bytes.Fields(header)
	if n := len(words); n > 0 && bytes.HasSuffix(words[n-1], []byte(":")) {
		name, rest, bracket := bytes.Cut(bytes.TrimSuffix(words[n-1], []byte(":")), []byte("["))
		if bracket {
			pid = bytes.TrimSuffix(rest, []byte("]"))
		}
		return name, pid
	}
	if len(words) >= 7 && bytes.HasSuffix(words[0], []byte(">1")) {
		return absent(words[3]), absent(words[4])
	}
	return nil, nil
}

// word cuts the next word off b.
func word(b []byte) (word, rest []byte) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	end := bytes.IndexByte(b, ' ')
	if end < 0 {
		return b, nil
	}
	return b[:end], b[end:]
}

// splitSlashes splits numbers that slashes separate; each may have a sign.
func splitSlashes(b []byte, into [][]byte) bool {
	for i := range into {
		part := b
		if i < len(into)-1 {
			slash := bytes.IndexByte(b, '/')
			if slash < 0 {
				return false
			}
			part, b = b[:slash], b[slash+1:]
		}
		number := part
		if len(number) > 0 && (number[0] == '+' || number[0] == '-') {
			number = number[1:]
		}
		if !digits(number) {
			return false
		}
		into[i] = part
	}
	return true
}

// milliseconds reads a whole number; -1 where it is none.
func milliseconds(b []byte) int64 {
	n := int64(0)
	if !digits(b) || len(b) > 15 {
		return -1
	}
	for _, c := range b {
		n = n*10 + int64(c-'0')
	}
	return n
}

// captured finds the user agent among captured request headers, which have no names
// in the log: one of our own, else the first that is written as product/version.
func captured(headers []byte) []byte {
	var found []byte
	for rest := headers; len(rest) > 0; {
		value := rest
		if bar := bytes.IndexByte(rest, '|'); bar >= 0 {
			value, rest = rest[:bar], rest[bar+1:]
		} else {
			rest = nil
		}
		if bytes.HasPrefix(value, []byte("gapless-")) {
			return value
		}
		if found == nil && isProduct(value) {
			found = value
		}
	}
	return found
}

func isProduct(b []byte) bool {
	slash := bytes.IndexByte(b, '/')
	if slash <= 0 || slash+1 == len(b) || b[slash+1]-'0' > 9 {
		return false
	}
	for _, c := range b[:slash] {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
				return false
			}
		}
	}
	return true
}

// hostOf is the host in a syslog header: the word before the program's name. It is
// nil where there is none.
func hostOf(header []byte) []byte {
	header = bytes.TrimRight(header, " ")
	program := bytes.LastIndex(header, []byte("haproxy"))
	if program <= 0 {
		return nil
	}
	header = bytes.TrimRight(header[:program], " ")
	host := header[bytes.LastIndexByte(header, ' ')+1:]
	if len(host) == len(header) { // nothing before it: a priority or a date at most
		return nil
	}
	return host
}

// diagnoseHAProxy says why a line has no date of a request.
func diagnoseHAProxy(line []byte) reject {
	if other, is := notProxys(line, KindHAProxy); is {
		return other
	}
	message, ofProgram := line, false
	if at := bytes.Index(line, []byte("haproxy")); at >= 0 {
		if end := bytes.Index(line[at:], []byte(": ")); end >= 0 {
			message, ofProgram = line[at+end+2:], true
		}
	}
	for _, sign := range []string{"Server ", "Backup Server ", "backend ", "Proxy ", "Connect from ", "Health check ", "Stopping "} {
		if bytes.HasPrefix(message, []byte(sign)) {
			return reject{reasonState, "what HAProxy says of its servers or of itself", KindHAProxy}
		}
	}
	if ofProgram && bytes.IndexByte(message, '[') < 0 && bytes.IndexByte(message, '"') < 0 {
		return reject{reasonState, "what HAProxy says of itself", KindHAProxy}
	}
	return reject{reasonFormat, "no date in brackets, as HAProxy writes it", kindUnknown}
}
