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
		next := bytes.Index(value, []byte(s.after))
		if s.ahead != "" {
			value = value[:min(len(value), maxTimeText+len(s.ahead))]
			value = value[:max(bytes.Index(value, []byte(s.ahead)), 0)]
		}
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
	if len(b) > maxTimeText {
		return false
	}
	if _, ok := parseLocal(b, zone); ok {
		return true
	}
	if _, ok := parseISO(b, zone); ok {
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

func (f *nginxFormat) rest(e *entry) { e.before, e.targetTook = -1, f.values.ups.took() }

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
