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
	const unsure = "a captured cookie or what follows the request imitates the fields between them"
	first, at := word(rest)
	captured := string(first) != "-"
	wrong, found, loose := "the line ends before the queues", false, false
	for len(at) > 0 {
		var last []byte
		last, at = word(at)
		tail, behind, problem := haproxyTailOf(at)
		more := len(bytes.TrimSpace(behind)) > 0
		switch {
		case problem == "" && found && more, problem != "" && problem != noTail && found && loose: // syslog cut the true ones
			return unsure
		case problem == "":
			wrong, found, loose = "", true, more || behind == nil
			copy(f.fields[haproxyTermination:], tail[:])
			before := bytes.TrimRight(rest[:len(rest)-len(at)], " ")
			request := bytes.LastIndexByte(before, ' ')
			f.fields[haproxyResponseCookie] = before[request+1:]
			f.fields[haproxyRequestCookie] = bytes.Trim(before[:max(request, 0)], " ")
			if holdsDate(before) || holdsDate(behind) {
				return anotherLine
			}
			if !captured {
				return ""
			}
		case !captured && string(last) == "-": // neither was: this is their place
			return problem
		case !found && problem != noTail:
			wrong = problem
		}
	}
	return wrong
}

// anotherLine says that one begins in the line: where a full disk cuts one, the next is
// written at its end.
const anotherLine = "another line begins in it"

// holdsDate reports whether a date stands in b as in a line of HAProxy's.
func holdsDate(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '[')
		if i < 0 {
			return false
		}
		b = b[i+1:]
		if end := bytes.IndexByte(b[:min(len(b), maxTimeText)], ']'); end >= 0 && isLocal(b[:end]) {
			return true
		}
	}
}

// noTail says that no termination state, connections and queues stand at a place.
const noTail = "no queues"

// haproxyTailOf reads the fields from the termination state to the request at the
// beginning of b. Behind is what stands behind the request; nil where that has no end.
func haproxyTailOf(b []byte) (tail [haproxyFields - haproxyTermination][]byte, behind []byte, problem string) {
	rest := b
	var parts [5][]byte
	for field := range haproxyRequestHeaders - haproxyTermination {
		tail[field], rest = word(rest)
		switch text := tail[field]; field + haproxyTermination {
		case haproxyTermination:
			if !isTermination(text) {
				return tail, nil, noTail
			}
		case haproxyConnections:
			if !splitSlashes(text, parts[:]) {
				return tail, nil, noTail
			}
		case haproxyQueues:
			if !splitSlashes(text, parts[:2]) {
				return tail, nil, noTail
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
			return tail, nil, "captured headers have no end"
		}
		tail[field-haproxyTermination], rest = rest[1:1+end], rest[end+2:]
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return tail, nil, "the request is missing"
	}
	rest = rest[1:]
	if end := bytes.IndexByte(rest, '"'); end < 0 { // syslog cut the line
		if holdsDate(rest) {
			problem = anotherLine
		}
	} else if rest, behind = rest[:end], rest[end+1:]; len(behind) > 0 && behind[0] != ' ' {
		problem = "something follows the request at once"
	}
	tail[haproxyRequest-haproxyTermination] = rest
	return tail, behind, problem
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
