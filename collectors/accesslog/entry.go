package accesslog

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"gapless/analysis"
)

// A format understands the lines of one kind of log.
type format interface {
	// parse reads one line, without its line end, into e, whose old contents it
	// overwrites. It answers false, and why, where the line is not understood. The
	// slices of e are parts of line.
	parse(line []byte, e *entry) (reject, bool)
	// rest completes the entry of the line that was parsed last. Until then the
	// node and errorReason may be missing, which few lines are asked for.
	rest(e *entry)
	// appendFields writes every field of the line that was parsed last, as it stood, as
	// the members of a JSON object, in the order of the line.
	appendFields(b []byte) []byte
}

// entry is one logged request in the terms that all formats share. A slice is nil
// where the log has no value. Text stands as logged, escapes and all.
type entry struct {
	start, end           int64 // µs since 1970 UTC
	hasStart             bool
	balancer             []byte // load balancer
	node                 []byte // the load balancer's node
	client, clientPort   []byte
	target               []byte // address with port
	group                []byte // target group, as ARN
	method, url          []byte
	protocol             []byte
	agent                []byte
	errorReason          []byte
	status, targetStatus int  // 0: none
	connected            bool // a connection to the target was made
	webSocket            bool

	host []byte // that was asked for, where it is not part of url

	// What proxies say of their attempts.
	outcome      analysis.Outcome // empty: follows from the statuses
	attempts     int              // 0: the log does not tell
	masked       bool             // an attempt failed, and the client did not see it
	failedOn     [][]byte         // target of each failed attempt before the last; nil: not told
	upstreams    []upstream       // oldest first; nil: the log does not tell
	termination  []byte
	retries      []byte
	redispatched bool
	openEnded    bool // logged before its end: its duration is a lower bound
	escape       escape
}

// outcomeOf is how the request ended.
func (e *entry) outcomeOf() analysis.Outcome {
	if e.outcome != "" {
		return e.outcome
	}
	return analysis.LogOutcome(e.status, e.targetStatus)
}

// escape is how a log writes bytes that would break its lines.
type escape uint8

const (
	escapeHex  escape = iota // \xNN, \" and \\ (ALB, nginx)
	escapeJSON               // as JSON, and \xNN
	escapeHash               // #NN (HAProxy)
)

// escaped reports whether b may hold escapes.
func (e escape) escaped(b []byte) bool {
	mark := byte('\\')
	if e == escapeHash {
		mark = '#'
	}
	return bytes.IndexByte(b, mark) >= 0
}

// decode decodes b into dst, which it returns.
func (e escape) decode(dst, b []byte) []byte {
	switch e {
	case escapeJSON:
		return unescapeJSON(dst, b)
	case escapeHash:
		return unescapeHash(dst, b)
	}
	return unescape(dst, b)
}

// withoutBOM is the line's text without the byte-order mark that editors put before
// a file's first line.
func withoutBOM(l *line) []byte {
	if l.number == 1 {
		return bytes.TrimPrefix(l.text, []byte("\xef\xbb\xbf"))
	}
	return l.text
}

// urlPath is the path of a logged URL, without host and query. It is empty where
// the URL has none.
func urlPath(url []byte) []byte {
	if i := schemeEnd(url); i >= 0 {
		url = url[i:]
		slash := bytes.IndexByte(url, '/')
		if slash < 0 {
			return nil
		}
		url = url[slash:]
	}
	if i := bytes.IndexByte(url, '?'); i >= 0 {
		url = url[:i]
	}
	return url
}

// schemeEnd is where the text after a URL's "://" begins, or -1. A URL that is a path
// has none, whatever its query holds.
func schemeEnd(url []byte) int {
	if len(url) >= 8 && string(url[:8]) == "https://" { // nearly always
		return 8
	}
	if len(url) > 0 && url[0] == '/' {
		return -1
	}
	if i := bytes.Index(url, []byte("://")); i >= 0 {
		return i + 3
	}
	return -1
}

// urlHost is the host of a logged URL, without port and brackets.
func urlHost(url []byte) []byte {
	i := schemeEnd(url)
	if i < 0 {
		return nil
	}
	url = url[i:]
	if end := bytes.IndexAny(url, "/?"); end >= 0 {
		url = url[:end]
	}
	// What the load balancer writes for a request without a URL ends in "host:80-".
	end := bytes.IndexByte(url, ':')
	if len(url) > 0 && url[0] == '[' {
		url = url[1:]
		end = bytes.IndexByte(url, ']')
	}
	if end >= 0 {
		url = url[:end]
	}
	return url
}

// splitAddress splits ip:port at the last colon; an IPv6 address may stand in
// brackets or without. Port is nil where there is none.
func splitAddress(b []byte) (host, port []byte) {
	host = b
	if i := bytes.LastIndexByte(b, ':'); i >= 0 && digits(b[i+1:]) {
		host, port = b[:i], b[i+1:]
	}
	if n := len(host); n >= 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return host, port
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// unescape decodes \xNN (either case of hex), \" and \\ into dst, which it
// returns. Any other backslash stays as it is.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case '"', '\\':
				dst = append(dst, b[i+1])
				i++
				continue
			case 'x', 'X':
				if i+3 < len(b) {
					high, low := unhex(b[i+2]), unhex(b[i+3])
					if high < 16 && low < 16 {
						dst = append(dst, high<<4|low)
						i += 3
						continue
					}
				}
			}
		}
		dst = append(dst, c)
	}
	return dst
}

// unescapeHash decodes #NN, as HAProxy writes bytes that are not printable, and
// quotes, bars and braces.
func unescapeHash(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] == '#' && i+2 < len(b) {
			if high, low := unhex(b[i+1]), unhex(b[i+2]); high < 16 && low < 16 {
				dst = append(dst, high<<4|low)
				i += 2
				continue
			}
		}
		dst = append(dst, b[i])
	}
	return dst
}

// unescapeJSON decodes the text of a JSON string, and \xNN, which nginx writes where
// its format was not told to escape for JSON.
func unescapeJSON(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			dst = append(dst, b[i])
			continue
		}
		switch c := b[i+1]; c {
		case 'b', 'f', 'n', 'r', 't':
			dst = append(dst, map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
			i++
		case '/', '"', '\\':
			dst = append(dst, c)
			i++
		case 'x', 'X':
			end := min(i+4, len(b))
			dst = unescape(dst, b[i:end])
			i = end - 1
		case 'u':
			r, size := unescapeRune(b[i:])
			if size == 0 {
				dst = append(dst, '\\')
				continue
			}
			dst = utf8.AppendRune(dst, r)
			i += size - 1
		default:
			dst = append(dst, '\\')
		}
	}
	return dst
}

// unescapeRune reads \uNNNN, or two of them that make one rune; size 0 where it is
// none.
func unescapeRune(b []byte) (r rune, size int) {
	r, ok := fourHex(b)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := fourHex(b[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

func fourHex(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		digit := unhex(c)
		if digit > 15 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// view is b as a string without a copy. It must not outlive the line that b is
// part of: use it for look-ups and comparisons, clone what is kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf is s as bytes without a copy, for reading only.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
