package accesslog

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

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
	guessed   bool         // the upstreams' times are by their looks
}

// nginxStep is one variable and the text that follows it.
type nginxStep struct {
	name   string
	is     int
	after  string
	quoted bool
	number bool // nothing but digits, or none
	// then is, where a time follows, which, and ahead the text that ends it: the value may
	// hold what stands before a time, as a user's name does that a client chose.
	then  int
	ahead string
}

type nginxFound struct {
	name  string
	value []byte
}

// nginxEscapes are what nginx's configuration writes with a backslash.
var nginxEscapes = strings.NewReplacer(`\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)

// newNginx compiles a log_format: a name ("combined", "main"), or its text with $variables.
// Empty is combined.
func newNginx(text string, zone *time.Location) (*nginxFormat, error) {
	f := &nginxFormat{values: nginxValues{zone: zone}}
	switch text {
	case "", "combined", "main":
		f.extended, f.forwarded = true, text == "main"
		text = nginxCombined
	default:
		if strings.HasPrefix(text, "escape=") {
			return nil, fmt.Errorf("format %q: give what stands behind escape=…; a log of JSON objects is of kind %s", text, KindNginxJSON)
		}
		text = nginxEscapes.Replace(text)
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
			quoted: strings.HasSuffix(before, `"`) && strings.HasPrefix(after, `"`), number: nginxNumber(name), then: nginxOther,
		})
		if step := &f.steps[len(f.steps)-1]; is >= nginxUpstreams && !step.quoted && endsInList(after) {
			return nil, fmt.Errorf("format %q: the values of $%s are themselves separated by commas and colons; put it in quotes", text, name)
		}
		before = after
	}
	if !has[nginxStatus] || !has[nginxTimeLocal] && !has[nginxTimeISO] && !has[nginxMsec] {
		return nil, fmt.Errorf("format %q has no $status, or none of $msec, $time_iso8601, $time_local", text)
	}
	for i := range f.steps[:len(f.steps)-1] {
		if next := f.steps[i+1]; next.is == nginxTimeLocal || next.is == nginxTimeISO || next.is == nginxMsec {
			if !f.steps[i].quoted {
				f.steps[i].then, f.steps[i].ahead = next.is, next.after
			}
		}
	}
	f.raw = make([][]byte, len(f.steps))
	return f, nil
}

func (f *nginxFormat) parse(line []byte, e *entry) (reject, bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return rejectEmpty, false
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return outOfFormat(line, KindNginx, "a byte 0, which nginx does not write: the file has a hole here"), false
	}
	if !bytes.HasPrefix(line, []byte(f.first)) {
		return outOfFormat(line, KindNginx, fmt.Sprintf("the line does not begin with %q", f.first)), false
	}
	clear(f.raw)
	f.values.of = [nginxVars][]byte{}
	f.values.ups.failedOn = f.values.ups.failedOn[:0]
	rest, why := f.cut(line[len(f.first):], 0)
	if why.says == "" {
		why = f.checkEnd(rest)
	}
	if why.says != "" {
		return outOfFormat(line, KindNginx, why.String()), false
	}
	f.tail, f.found, f.guessed = rest, f.found[:0], false
	if f.extended && len(rest) > 0 {
		if wrong := f.extensions(rest); wrong != "" {
			return outOfFormat(line, KindNginx, wrong), false
		}
	}
	return f.understood(line, e)
}

// understood makes an entry of the values of a line that is in the format.
func (f *nginxFormat) understood(line []byte, e *entry) (why reject, ok bool) {
	switch client := f.values.of[nginxRemoteAddr]; {
	case beforeAddress(client) != nil:
		why = reject{reasonPrefixed, fmt.Sprintf("%s stands before the line", quote(beforeAddress(client))), KindNginx}
	case likeAddress(client) && !isAddress(client):
		why = reject{reasonAddress, fmt.Sprintf("remote_addr %s is no address", quote(client)), KindNginx}
	default:
		why, ok = f.values.entry(e)
	}
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

// misfit says why a line is not in the format; the zero value that nothing is wrong.
type misfit struct {
	step  *nginxStep
	says  string // with %s for the variable, and where there is one for the value
	value []byte
}

func (m misfit) String() string {
	if m.value == nil {
		return fmt.Sprintf(m.says, "$"+m.step.name)
	}
	return fmt.Sprintf(m.says, "$"+m.step.name, quote(m.value))
}

// cut takes the values of the steps from the i-th on from b. It answers what follows the
// last of them, or what is wrong.
func (f *nginxFormat) cut(b []byte, i int) (rest []byte, why misfit) {
	for ; i < len(f.steps); i++ {
		step := &f.steps[i]
		end := step.end(b)
		if end < 0 {
			return nil, misfit{step, "what ends %s, %s, does not follow", bytesOf(step.after)}
		}
		if step.then != nginxOther {
			if end, why = f.beforeTime(b, i, end); why.says != "" {
				return nil, why
			}
		}
		value := b[:end:end]
		if says := step.wrong(value); says != "" {
			return nil, misfit{step, says, value}
		}
		f.raw[i] = value
		if step.is != nginxOther {
			f.values.of[step.is] = value
		}
		b = b[end+len(step.after):]
	}
	return b, misfit{}
}

// wrong says why nginx cannot have written a value, or "".
func (s *nginxStep) wrong(value []byte) string {
	switch {
	case !s.quoted && quoteEnd(value) >= 0:
		return "%s holds a quote: %s"
	case s.number && absent(value) != nil && !digits(value):
		return "%s is no number: %s"
	case s.is == nginxRequestTime && absent(value) != nil:
		if _, ok := parseSeconds(value); !ok {
			return "%s is no time in seconds: %s"
		}
	}
	return ""
}

// checkEnd says what is wrong with what follows the format: where a full disk cut a line,
// the next is written at its end.
func (f *nginxFormat) checkEnd(rest []byte) misfit {
	last := &f.steps[len(f.steps)-1]
	if f.extended && !separated(rest) || !f.extended && len(bytes.TrimSpace(rest)) > 0 {
		return misfit{last, "behind the last of the format, %s, follows %s", rest}
	}
	return misfit{}
}

// beforeTime is where the value of the i-th step ends in b, of the places where it may
// end, of which first is the first: the one behind which a time follows and all the rest
// of the format. Where none is such, it is the first of all; where several are, a client
// wrote one of them. A value that ends where it may end only once, which is nearly
// always, needs no look at what follows.
func (f *nginxFormat) beforeTime(b []byte, i, first int) (end int, why misfit) {
	const most = 32 // places with a time behind them
	s, tries := &f.steps[i], 0
	limit := len(b)
	if quote := bytes.IndexByte(b, '"'); quote >= 0 { // no value holds one
		limit = min(limit, quote+len(s.after))
	}
	next := first
	if limit < first+len(s.after) || !bytes.Contains(b[first+len(s.after):limit], bytesOf(s.after)) {
		return first, misfit{}
	}
	end = -1
	for at := 0; next >= 0; {
		at += next
		value := b[at+len(s.after):]
		if tries < most && s.timeIn(value, f.values.zone) {
			tries++
			rest, why := f.cut(value, i+1)
			if why.says == "" {
				why = f.checkEnd(rest)
			}
			if _, ok := parseStatus(f.values.of[nginxStatus]); ok && why.says == "" {
				if end >= 0 {
					return -1, misfit{s, "where %s ends is not sure", nil}
				}
				end = at
			}
		}
		at += len(s.after)
		next = -1
		if at < limit {
			next = bytes.Index(b[at:limit], bytesOf(s.after))
		}
	}
	switch {
	case tries == most:
		return -1, misfit{s, "where %s ends is not sure", nil}
	case end < 0:
		end = first
	}
	return end, misfit{}
}

// timeIn reports whether b begins with a time of the kind that follows the step.
func (s *nginxStep) timeIn(b []byte, zone *time.Location) (ok bool) {
	if s.ahead != "" {
		b = b[:min(len(b), maxTimeText+len(s.ahead))]
		b = b[:max(bytes.Index(b, []byte(s.ahead)), 0)]
	}
	if len(b) > maxTimeText {
		return false
	}
	switch s.then {
	case nginxTimeLocal:
		_, ok = parseLocal(b, zone)
	case nginxTimeISO:
		_, ok = parseISO(b, zone)
	case nginxMsec:
		_, ok = parseSeconds(b)
	}
	return ok
}

// nginxNumber reports whether a variable of nginx's is a whole number, or missing.
func nginxNumber(name string) bool {
	switch name {
	case "body_bytes_sent", "bytes_sent", "request_length", "connection", "connection_requests", "remote_port", "server_port", "pid":
		return true
	}
	return false
}

// endsInList reports whether text that follows a bare list may as well stand in it.
func endsInList(after string) bool {
	return strings.HasPrefix(after, ", ") || strings.HasPrefix(after, ":") || strings.HasPrefix(after, " : ")
}

// end is where the step's value ends in b, or -1.
func (s *nginxStep) end(b []byte) int {
	switch {
	case s.after == "" && s.is >= nginxUpstreams:
		return listEnd(b)
	case s.after == "":
		return len(b)
	case s.quoted: // nginx writes no quote within a value as it is
		if end := quoteEnd(b); end >= 0 && bytes.HasPrefix(b[end:], []byte(s.after)) {
			return end
		}
		return -1
	case s.is == nginxTimeLocal: // it holds a blank itself
		const local, offset = len("02/Jan/2006:15:04:05"), len(" +0000")
		at := min(len(b), local)
		if len(b) >= local+offset && b[at] == ' ' && (b[at+1] == '+' || b[at+1] == '-') {
			at += offset
		}
		if end := bytes.Index(b[at:], []byte(s.after)); end >= 0 {
			return at + end
		}
		return bytes.Index(b, []byte(s.after))
	case s.is == nginxRemoteAddr && s.after == ":": // as between the parts of an IPv6 address
		end := 0
		for end < len(b) && (b[end] == ':' || b[end] == '.' || b[end]-'0' <= 9 || b[end]|0x20 >= 'a' && b[end]|0x20 <= 'z') {
			end++
		}
		return bytes.LastIndexByte(b[:end], ':')
	case s.is >= nginxUpstreams && s.after == ",": // in the list, a blank follows
		for i := range b {
			if b[i] == ',' && (i+1 == len(b) || b[i+1] != ' ') {
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

func (f *nginxFormat) rest(e *entry) {
	e.before, e.targetTook = -1, -1
	if !f.guessed {
		e.targetTook = f.values.ups.took()
	}
}

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
	nginxMsec: "msec", nginxRequestTime: "request_time", nginxUpstreams + upstreamAddr: "upstream_addr", nginxUpstreams + upstreamStatus: "upstream_status",
	nginxUpstreams + upstreamResponse: "upstream_response_time", nginxUpstreams + upstreamConnect: "upstream_connect_time",
	nginxUpstreams + upstreamHeader: "upstream_header_time",
}
