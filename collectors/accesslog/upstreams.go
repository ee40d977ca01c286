package accesslog

import "bytes"

// upstream is one attempt of a proxy to have a request answered. Values are nil
// where the log has none.
type upstream struct {
	addr, status, response []byte
	failed                 bool // and the proxy went on to the next
}

// upstreams are the attempts of one request, oldest first.
type upstreams struct {
	attempts []upstream
	failedOn [][]byte // for entries
	lists    [upstreamLists][]byte
	count    [upstreamLists]int
}

// Lists that nginx writes of its attempts (ngx_http_upstream_module, Embedded
// Variables). Values of one attempt have the same place in each of them.
const (
	upstreamAddr = iota
	upstreamStatus
	upstreamResponse
	upstreamConnect
	upstreamHeader
	upstreamLists
)

// nextValue cuts the first value off a list. Values are separated by ", " where the
// next server was tried, and by " : " where an internal redirect went to another
// group. It answers nil for "-".
func nextValue(list []byte) (value, rest []byte, redirected bool) {
	for i := range list {
		switch {
		case list[i] == ',':
			rest = bytes.TrimLeft(list[i+1:], " ")
			return absent(bytes.TrimRight(list[:i], " ")), rest, false
		case list[i] == ' ' && i+2 < len(list) && list[i+1] == ':' && list[i+2] == ' ':
			return absent(list[:i]), list[i+3:], true
		}
	}
	return absent(list), nil, false
}

// read takes the lists of one request apart. A list that the log does not have is
// nil; one that it has and that names nothing is "-".
func (u *upstreams) read() {
	u.attempts = u.attempts[:0]
	for list := range u.lists {
		rest := u.lists[list]
		u.count[list] = 0
		if absent(rest) == nil {
			continue
		}
		for i := 0; rest != nil; i++ {
			var value []byte
			var redirected bool
			value, rest, redirected = nextValue(rest)
			if i == len(u.attempts) {
				u.attempts = append(u.attempts, upstream{})
			}
			a := &u.attempts[i]
			u.count[list]++
			switch list {
			case upstreamAddr:
				a.addr = value
			case upstreamStatus:
				a.status = value
			case upstreamResponse:
				a.response = value
			}
			// nginx goes to the next server only when the one before failed, or answered a
			// status that it was told to pass over (proxy_next_upstream).
			if rest != nil && !redirected {
				a.failed = true
			}
		}
	}
	for i := range u.attempts {
		a := &u.attempts[i]
		status, ok := parseStatus(a.status)
		known := ok && status > 0
		switch last := i == len(u.attempts)-1; {
		case last:
			a.failed = false
		case known:
			a.failed = status >= 500
		}
	}
}

// last is the list's value for the last attempt.
func (u *upstreams) last(list int) []byte {
	if u.count[list] < len(u.attempts) {
		return nil
	}
	var value []byte
	for rest := u.lists[list]; rest != nil; {
		value, rest, _ = nextValue(rest)
	}
	return value
}

// took is how long the servers that were tried had the request, in microseconds, by
// $upstream_response_time; -1 where it is not known of each.
func (u *upstreams) took() int64 {
	if absent(u.lists[upstreamResponse]) == nil {
		return -1
	}
	sum := int64(0)
	for i := range u.attempts {
		took, ok := parseSeconds(u.attempts[i].response)
		if !ok {
			return -1
		}
		sum += took
	}
	return sum
}

// isServer reports whether an entry of $upstream_addr is a server's: nginx writes
// the group's name where it could choose none.
func isServer(b []byte) bool {
	if bytes.HasPrefix(b, []byte("unix:")) {
		return true
	}
	i := bytes.LastIndexByte(b, ':')
	return i > 0 && digits(b[i+1:])
}
