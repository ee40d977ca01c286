package accesslog

import "bytes"

// cookies takes apart what follows the bytes sent: the captured cookies and all behind
// them. HAProxy writes a captured cookie as the client sent it, so that it may hold
// blanks, quotes and an imitation of the fields that follow; captured headers and the
// request it encodes. The true fields are therefore the last that can be some. Where
// more stands behind a request, as option httpslog writes the server name that the
// client asked for, the last may be imitated as well as the first: such a line says
// nothing sure. A captured cookie begins with its name; "-" stands for none. It answers
// what is wrong, or "".
func (f *haproxyFormat) cookies(rest []byte) string {
	first, at := word(rest)
	captured := string(first) != "-"
	wrong, found := "the line ends before the queues", false
	for len(at) > 0 {
		_, at = word(at)
		tail, more, problem := haproxyTailOf(at)
		switch {
		case problem == "" && found && more:
			return "a captured cookie or what follows the request imitates the fields between them"
		case problem == "":
			wrong, found = "", true
			copy(f.fields[haproxyTermination:], tail[:])
			before := bytes.TrimRight(rest[:len(rest)-len(at)], " ")
			request := bytes.LastIndexByte(before, ' ')
			f.fields[haproxyResponseCookie] = before[request+1:]
			f.fields[haproxyRequestCookie] = bytes.Trim(before[:max(request, 0)], " ")
			if !captured {
				return ""
			}
		case !found && problem != noTail:
			wrong = problem
		}
	}
	return wrong
}

// noTail says that no termination state, connections and queues stand at a place.
const noTail = "no queues"

// haproxyTailOf reads the fields from the termination state to the request at the
// beginning of b. More is whether anything stands behind the request.
func haproxyTailOf(b []byte) (tail [haproxyFields - haproxyTermination][]byte, more bool, problem string) {
	rest := b
	var parts [5][]byte
	for field := range haproxyRequestHeaders - haproxyTermination {
		tail[field], rest = word(rest)
		switch text := tail[field]; field + haproxyTermination {
		case haproxyTermination:
			if !isTermination(text) {
				return tail, false, noTail
			}
		case haproxyConnections:
			if !splitSlashes(text, parts[:]) {
				return tail, false, noTail
			}
		case haproxyQueues:
			if !splitSlashes(text, parts[:2]) {
				return tail, false, noTail
			}
		}
	}
	for field := haproxyRequestHeaders; field <= haproxyResponseHeaders; field++ {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 || rest[0] != '{' {
			break
		}
		end := bytes.IndexAny(rest[1:], `{"}`) // of these only the last is not encoded
		if end < 0 || rest[1+end] != '}' {
			return tail, false, "captured headers have no end"
		}
		tail[field-haproxyTermination], rest = rest[1:1+end], rest[end+2:]
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return tail, false, "the request is missing"
	}
	rest = rest[1:]
	if end := bytes.IndexByte(rest, '"'); end >= 0 { // else syslog cut the line
		rest, more = rest[:end], len(bytes.TrimSpace(rest[end+1:])) > 0
	}
	tail[haproxyRequest-haproxyTermination] = rest
	return tail, more, ""
}

// isTermination is whether b can be a termination state: two letters or dashes, and
// two more where HAProxy looks at cookies (configuration manual, 8.5).
func isTermination(b []byte) bool {
	for _, c := range b {
		if c != '-' && c|' '-'a' > 'z'-'a' {
			return false
		}
	}
	return len(b) == 2 || len(b) == 4
}
