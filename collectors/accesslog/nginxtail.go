package accesslog

import "bytes"

// extensions looks through what follows a format with a name. People append to it
// what they need, in their own order, bare, in quotes or brackets, with labels or
// without, so each word is taken for what it looks like: a list of addresses with
// ports, of seconds with three decimals, or of statuses of which the last is the
// line's own. Of unlabelled seconds the first is the request's, the last that of the
// upstreams; a list of several is the upstreams' wherever it stands.
func (f *nginxFormat) extensions(rest []byte) {
	v := &f.values
	for len(rest) > 0 {
		var label, word []byte
		label, word, rest = nextWord(rest)
		if len(word) == 0 {
			continue
		}
		if is := labelled(label); is != nginxOther {
			f.take(is, word)
			continue
		}
		if len(label) > 0 {
			continue
		}
		switch kind, several := looksLike(word, v.of[nginxStatus]); {
		case kind == nginxUpstreams+upstreamAddr && v.of[kind] == nil,
			kind == nginxUpstreams+upstreamStatus:
			f.take(kind, word)
		case kind == nginxUpstreams+upstreamResponse:
			if !several && v.of[nginxRequestTime] == nil {
				kind = nginxRequestTime
			}
			f.take(kind, word)
		}
	}
}

func (f *nginxFormat) take(is int, word []byte) {
	f.values.of[is] = word
	for i := range f.found {
		if f.found[i].is == is {
			f.found[i].value = word
			return
		}
	}
	f.found = append(f.found, nginxFound{is, word})
}

// nextWord cuts a word with its label (as in rt=0.005 or urt="0.005, 0.010") off b.
func nextWord(b []byte) (label, word, rest []byte) {
	b = bytes.TrimLeft(b, " ,;|")
	for i := range b {
		switch c := b[i]; {
		case c == '=' && label == nil:
			label = b[:i]
			if i+1 < len(b) && b[i+1] == '"' {
				word, rest = quotedWord(b[i+1:], '"')
				return label, word, rest
			}
			end := listEnd(b[i+1:])
			return label, b[i+1 : i+1+end], b[i+1+end:]
		case c == '"' && i == 0:
			word, rest = quotedWord(b, '"')
			return nil, word, rest
		case c == '[' && i == 0:
			word, rest = quotedWord(b, ']')
			return nil, word, rest
		case c == ' ' || c == '"':
			end := listEnd(b)
			return nil, b[:end], b[end:]
		}
	}
	return nil, b, nil
}

// quotedWord is what stands between b's first byte and the closing one.
func quotedWord(b []byte, closing byte) (word, rest []byte) {
	end := bytes.IndexByte(b[1:], closing)
	if end < 0 {
		return b[1:], nil
	}
	return b[1 : 1+end], b[2+end:]
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
	if is := nginxVar(view(label)); is == nginxRequestTime || is >= nginxUpstreams {
		return is
	}
	return nginxOther
}

// looksLike guesses what an unlabelled list is, and whether it has several values.
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
		case len(value) == 3 && digits(value):
			statuses++
		case isSeconds(value):
			times++
		case isServer(value):
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

// isSeconds reports whether b is written as nginx writes durations: with three
// decimals.
func isSeconds(b []byte) bool {
	n := len(b)
	return n >= 5 && b[n-4] == '.' && digits(b[:n-4]) && digits(b[n-3:])
}
