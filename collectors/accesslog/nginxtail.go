package accesslog

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
)

// What follows a format with a name was appended by people, and nothing in the line
// says which variables it is of. A client chooses the text of some of them, so where
// a word stands decides whether it may be evidence of what nginx did, never its looks
// alone:
//
//   - A word with a label outside of quotes (rt=0.005, us="502, 200") is what its label
//     says: whoever wrote the format wrote the label.
//   - A word in quotes or brackets without a label is nobody's. That is how clients'
//     headers are logged. nginx escapes every quote in them, so that they cannot leave
//     their quotes; brackets and apostrophes it does not escape, so that behind one only
//     what has a label and stands in quotes is nginx's for sure. The first of main is
//     $http_x_forwarded_for.
//   - Bare words are taken for what they look like, the first of a kind. Clients'
//     text does not belong in a log without quotes.
//
// Two layouts are known as a whole: the one of Kubernetes' ingress, whose last word is
// the client's, and "$request_time" "…" "$upstream_response_time".
//
// It answers what shows that another line begins in it, or "": where a full disk cut a
// line, the next is written at its end.
func (f *nginxFormat) extensions(rest []byte) string {
	if f.forwarded {
		if word, after, ok := nextQuoted(rest); ok {
			f.found = append(f.found, nginxFound{"http_x_forwarded_for", word})
			f.tail, rest = after, after
			if !separated(rest) {
				return fmt.Sprintf("%s follows a closing quote at once", quote(rest))
			}
		}
	} else if f.quotedTimes(rest) {
		return ""
	}
	v := &f.values
	var guess [nginxVars][]byte
	known, rest := f.ingress(rest)
	told, clients := false, false
	for len(rest) > 0 {
		first := bytes.TrimLeft(rest, separators)
		var label, word []byte
		var bare bool
		label, word, rest, bare = nextWord(rest)
		switch inBrackets := !bare && first[0] == '['; {
		case inBrackets && isLocal(word[bytes.LastIndexByte(word, '[')+1:]) && bytes.HasPrefix(rest, []byte(` "`)):
			return "another line begins in it"
		case !bare && !inBrackets && !separated(rest):
			return fmt.Sprintf("%s follows a closing quote at once", quote(rest))
		}
		if known || clients && (bare || len(label) == 0) {
			continue
		}
		clients = clients || len(word) > 0 && bytes.IndexByte([]byte("'[({<"), word[0]) >= 0 || len(label) == 0 && !bare && first[0] == '['
		if is := labelled(label); is != nginxOther && v.of[is] == nil {
			f.take(is, word)
			told = told || is >= nginxUpstreams
		}
		if !bare || len(label) > 0 || len(word) == 0 {
			continue
		}
		is, several := looksLike(word, v.of[nginxStatus])
		if is == nginxUpstreams+upstreamResponse && !several && guess[nginxRequestTime] == nil && v.of[nginxRequestTime] == nil {
			is = nginxRequestTime // which comes first in every format that has both
		}
		if is != nginxOther && guess[is] == nil {
			guess[is] = word
		}
	}
	for is, word := range guess {
		// Who labels what nginx says of its upstreams does not also write it bare.
		if word != nil && v.of[is] == nil && (is < nginxUpstreams || !told) {
			f.take(is, word)
		}
	}
	return ""
}

// separators stand between words.
const separators = " \t,;|"

// separated reports whether a word may end before b.
func separated(b []byte) bool { return len(b) == 0 || strings.IndexByte(separators, b[0]) >= 0 }

func isLocal(b []byte) bool {
	_, ok := parseLocal(b, nil)
	return ok
}

func (f *nginxFormat) take(is int, word []byte) {
	f.values.of[is] = word
	f.found = append(f.found, nginxFound{nginxNames[is], word})
}

// ingress reads what the ingress of Kubernetes appends: the request's length and
// time, two names in brackets, the upstreams' addresses, lengths, times and statuses,
// and the request's ID, which is the client's where it sent one. It answers what follows
// the statuses, or b.
func (f *nginxFormat) ingress(b []byte) (ok bool, rest []byte) {
	rest = b
	var words [8][]byte
	for i := range words {
		label, word, after, bare := nextWord(rest)
		switch {
		case len(label) > 0, bare != (i < 2 || i > 3):
			return false, b
		case i == 0 && !digits(word), i == 1 && !isSeconds(word), i >= 4 && len(word) == 0:
			return false, b
		}
		words[i], rest = word, after
	}
	if !isList(words[6], isSeconds) || !isList(words[7], isStatus) {
		return false, b
	}
	f.take(nginxRequestTime, words[1])
	f.take(nginxUpstreams+upstreamAddr, words[4])
	f.take(nginxUpstreams+upstreamResponse, words[6])
	f.take(nginxUpstreams+upstreamStatus, words[7])
	return true, rest
}

// quotedTimes reads three quoted words and nothing else, of which the first is the
// request's time and the last those of the upstreams, where both say the same within
// 10 ms. Two headers of a client's may stand in their places and agree: so they say that
// servers were tried, if several were, and neither when the request began nor how long
// the servers had it.
func (f *nginxFormat) quotedTimes(rest []byte) bool {
	const near = 10_000
	took, rest, ok := nextQuoted(rest)
	if !ok || !isSeconds(took) {
		return false
	}
	if _, rest, ok = nextQuoted(rest); !ok {
		return false
	}
	list, rest, ok := nextQuoted(rest)
	if !ok || len(bytes.TrimSpace(rest)) > 0 || absent(list) == nil || !isList(list, isSeconds) {
		return false
	}
	total, _ := parseSeconds(took)
	for values := list; values != nil; {
		var value []byte
		value, values, _ = nextValue(values)
		each, _ := parseSeconds(value)
		total -= each
	}
	if total < -near || total > near {
		return false
	}
	if bytes.IndexByte(list, ',') >= 0 {
		f.take(nginxUpstreams+upstreamResponse, list)
		f.guessed = true
	}
	return true
}

// nextQuoted cuts a quoted word off b that stands at its begin.
func nextQuoted(b []byte) (word, rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " ")
	if len(b) == 0 || b[0] != '"' {
		return nil, b, false
	}
	word, rest = quotedWord(b)
	return word, rest, true
}

// nextWord cuts a word with its label (as in rt=0.005 or urt="0.005, 0.010") off b,
// and says whether it is bare: in neither quotes nor brackets.
func nextWord(b []byte) (label, word, rest []byte, bare bool) {
	b = bytes.TrimLeft(b, separators)
	for i := range b {
		switch c := b[i]; {
		case c == '=' && label == nil:
			label = b[:i]
			if i+1 < len(b) && b[i+1] == '"' {
				word, rest = quotedWord(b[i+1:])
				return label, word, rest, false
			}
			end := listEnd(b[i+1:])
			return label, b[i+1 : i+1+end], b[i+1+end:], true
		case c == '"' && i == 0:
			word, rest = quotedWord(b)
			return nil, word, rest, false
		case c == '[' && i == 0:
			end := bytes.IndexByte(b, ']')
			if end < 0 {
				return nil, b[1:], nil, false
			}
			return nil, b[1:end], b[end+1:], false
		case c == ' ' || c == '"':
			end := listEnd(b)
			return nil, b[:end], b[end:], true
		}
	}
	return nil, b, nil, true
}

// quotedWord is what stands between b's first byte, a quote, and the one that closes
// it.
func quotedWord(b []byte) (word, rest []byte) {
	end := quoteEnd(b[1:])
	if end < 0 {
		return b[1:], nil
	}
	return b[1 : 1+end], b[2+end:]
}

// quoteEnd is the place of the first quote in b that is not escaped, or -1. nginx
// writes a quote within a value as \x22, with escape=json as \"; a backslash before
// the closing quote is itself escaped.
func quoteEnd(b []byte) int {
	for from := 0; ; {
		at := bytes.IndexByte(b[from:], '"')
		if at < 0 {
			return -1
		}
		if at += from; !escapedAt(b, at) {
			return at
		}
		from = at + 1
	}
}

// escapedAt reports whether an odd number of backslashes stands before b[at].
func escapedAt(b []byte, at int) bool {
	n := 0
	for n < at && b[at-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// labelled is what a label stands for: a variable's name, or what most
// configurations call it.
func labelled(label []byte) int {
	switch string(label) {
	case "":
		return nginxOther
	case "rt":
		return nginxRequestTime
	case "uct":
		return nginxUpstreams + upstreamConnect
	case "uht":
		return nginxUpstreams + upstreamHeader
	case "urt":
		return nginxUpstreams + upstreamResponse
	case "ua", "uaddr", "upstream":
		return nginxUpstreams + upstreamAddr
	case "us", "ustatus":
		return nginxUpstreams + upstreamStatus
	}
	if is := nginxVar(view(label)); is == nginxRequestTime || is == nginxMsec || is >= nginxUpstreams {
		return is
	}
	return nginxOther
}

// looksLike guesses what a bare list is, and whether it has several values: addresses
// with ports, seconds with three decimals, or statuses of which the last is the line's
// own.
func looksLike(word, status []byte) (is int, several bool) {
	addresses, times, statuses, values := 0, 0, 0, 0
	var last []byte
	for rest := word; rest != nil; {
		var value []byte
		value, rest, _ = nextValue(rest)
		values++
		last = value
		switch {
		case value == nil:
		case isStatus(value):
			statuses++
		case isSeconds(value):
			times++
		case isAddressOfServer(value):
			addresses++
		case addresses > 0 && rest == nil: // the group's name, where no server was left
		default:
			return nginxOther, false
		}
	}
	switch {
	case addresses > 0 && times+statuses == 0:
		return nginxUpstreams + upstreamAddr, values > 1
	case times > 0 && addresses+statuses == 0:
		return nginxUpstreams + upstreamResponse, values > 1
	case statuses > 0 && addresses+times == 0 && bytes.Equal(last, status):
		return nginxUpstreams + upstreamStatus, values > 1
	}
	return nginxOther, false
}

// isList reports whether every value of a list is of a kind, or missing.
func isList(list []byte, kind func([]byte) bool) bool {
	for rest := list; rest != nil; {
		var value []byte
		value, rest, _ = nextValue(rest)
		if value != nil && !kind(value) {
			return false
		}
	}
	return true
}

func isStatus(b []byte) bool { return len(b) == 3 && digits(b) }

// isSeconds reports whether b is written as nginx writes durations: with three
// decimals.
func isSeconds(b []byte) bool {
	n := len(b)
	return n >= 5 && b[n-4] == '.' && digits(b[:n-4]) && digits(b[n-3:])
}

// isAddressOfServer reports whether b is a server as nginx names it, which has looked
// its name up: a numeric address with a port, or a socket.
func isAddressOfServer(b []byte) bool {
	if !isServer(b) || len(b) > 64 {
		return false
	}
	if bytes.HasPrefix(b, []byte("unix:")) {
		return true
	}
	if b[0] != '[' && b[0]-'0' > 9 { // a name
		return false
	}
	_, err := netip.ParseAddrPort(view(b))
	return err == nil
}
