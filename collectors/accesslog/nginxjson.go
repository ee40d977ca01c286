package accesslog

import (
	"bytes"
	"fmt"
	"time"
)

// nginxJSON parses lines that are JSON objects, as nginx writes them with a
// log_format of escape=json. Members of objects within are not looked at.
type nginxJSON struct {
	values  nginxValues
	members []jsonMember
}

// jsonMember is a name and a value as they stand; texts without their quotes.
type jsonMember struct {
	name, value []byte // value is nil for null
}

// nginxAlias is the variable that a member stands for whose name is none of nginx's
// own, but what log shippers and their users call it. It counts only where the line
// does not have the variable itself: whoever has both means something else by it.
func nginxAlias(name []byte) int {
	switch string(name) {
	case "time", "timestamp", "@timestamp", "ts":
		return nginxTime
	case "client", "client_ip", "remote_ip":
		return nginxRemoteAddr
	case "client_port":
		return nginxRemotePort
	case "method":
		return nginxMethod
	case "url", "path":
		return nginxURI
	case "protocol":
		return nginxProtocol
	case "user_agent", "agent":
		return nginxAgent
	case "duration":
		return nginxRequestTime
	}
	return nginxOther
}

func (f *nginxJSON) parse(line []byte, e *entry) (reject, bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return rejectEmpty, false
	}
	f.values.of, f.members = [nginxVars][]byte{}, f.members[:0]
	f.values.ups.failedOn = f.values.ups.failedOn[:0]
	if why := f.object(line); why != "" {
		r, other := notProxys(line, KindNginxJSON)
		if !other {
			r.reason, r.detail = reasonNotJSON, why
		}
		return r, false
	}
	var own [nginxVars]bool // told under nginx's own name
	for i := range f.members {
		m := &f.members[i]
		is := nginxVar(view(m.name))
		if is == nginxOther {
			if is = nginxAlias(m.name); is == nginxOther || own[is] {
				continue
			}
		} else if is == nginxURI && own[is] && f.values.of[is] != nil && string(m.name) != "request_uri" {
			continue // an URI with its query says more than one without
		} else {
			own[is] = true
		}
		f.values.of[is] = m.value
		if is >= nginxUpstreams && len(m.value) == 0 {
			f.values.of[is] = dashValue
		}
	}
	why, ok := f.values.entry(e)
	if !ok {
		why.kind = KindNginxJSON
	}
	e.escape = escapeJSON
	return why, ok
}

// dashValue is what nginx writes for a variable without a value in other logs than JSON.
var dashValue = []byte("-")

// object reads the members of a line; it answers why the line is no object, or "".
func (f *nginxJSON) object(b []byte) string {
	at := space(b, 0)
	if at == len(b) || b[at] != '{' {
		return "the line does not begin with {"
	}
	at = space(b, at+1)
	if at < len(b) && b[at] == '}' {
		return "the object is empty"
	}
	for {
		if at = space(b, at); at == len(b) || b[at] != '"' {
			return fmt.Sprintf("a member's name is missing at byte %d", at)
		}
		end := stringEnd(b, at+1)
		if end < 0 {
			return "a name has no closing quote"
		}
		m := jsonMember{name: b[at+1 : end]}
		if at = space(b, end+1); at == len(b) || b[at] != ':' {
			return fmt.Sprintf("a colon is missing at byte %d", at)
		}
		at = space(b, at+1)
		from := at
		if at = valueEnd(b, at); at <= from {
			return fmt.Sprintf("the value of %s is missing or broken", quote(m.name))
		}
		m.value = b[from:at:at]
		if m.value[0] == '"' {
			m.value = b[from+1 : at-1 : at-1]
		} else if string(m.value) == "null" {
			m.value = nil
		}
		f.members = append(f.members, m)
		if at = space(b, at); at == len(b) {
			return "the object has no end"
		}
		switch b[at] {
		case ',':
			at++
		case '}':
			if space(b, at+1) != len(b) {
				return "something follows the object"
			}
			return ""
		default:
			return fmt.Sprintf("neither a comma nor } at byte %d", at)
		}
	}
}

func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

// stringEnd is where the closing quote of a string stands whose text begins at at,
// or -1.
func stringEnd(b []byte, at int) int {
	for at < len(b) {
		switch b[at] {
		case '\\':
			at++
		case '"':
			return at
		}
		at++
	}
	return -1
}

// valueEnd is where the value that begins at at ends, or -1. Of a number, only its
// letters are checked; of an object or a list, its brackets.
func valueEnd(b []byte, at int) int {
	if at == len(b) {
		return -1
	}
	switch b[at] {
	case '"':
		return stringEnd(b, at+1) + 1
	case '{', '[':
		depth := 0
		for at < len(b) {
			switch b[at] {
			case '"':
				if at = stringEnd(b, at+1); at < 0 {
					return -1
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
		return -1
	}
	from := at
	for at < len(b) && (b[at]-'0' <= 9 || b[at]|0x20 >= 'a' && b[at]|0x20 <= 'z' || b[at] == '.' || b[at] == '-' || b[at] == '+') {
		at++
	}
	if at == from {
		return -1
	}
	return at
}

func (f *nginxJSON) rest(e *entry) { e.before, e.targetTook = -1, f.values.ups.took() }

func (f *nginxJSON) appendFields(b []byte) []byte {
	for i := range f.members {
		if i > 0 {
			b = append(b, ',')
		}
		m := &f.members[i]
		b = appendMember(b, view(m.name), m.value)
	}
	return b
}

func newNginxJSON(zone *time.Location) *nginxJSON {
	return &nginxJSON{values: nginxValues{zone: zone}}
}
