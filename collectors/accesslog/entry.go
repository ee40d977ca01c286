package accesslog

import (
	"bytes"
	"unsafe"
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
}

// reject says why a line is not understood.
type reject struct {
	reason string // stable word
	detail string // for people
	kind   string // what the line seems to be
}

// Kinds that a line which is set aside may seem to be.
const (
	kindALB     = "alb"
	kindClassic = "classic_elb"
	kindNLB     = "nlb"
	kindUnknown = "unknown"

	// What a damaged line of these logs seems to be, to their own parsers.
	kindHealth     = "alb_health"
	kindConnection = "alb_conn"
)

// Reasons for setting a line aside.
const (
	reasonEmpty    = "empty"          // nothing in the line
	reasonTestFile = "test_file"      // what AWS writes once to try its access to the bucket
	reasonOther    = "not_alb"        // a line of another log than the one wanted; kind and detail say which
	reasonPrefixed = "prefixed"       // something stands before the line, as grep puts a file name
	reasonFew      = "too_few_fields" // ends before what a line must have
	reasonTime     = "bad_time"
	reasonStatus   = "bad_status"
	reasonType     = "bad_type"
	reasonLatency  = "bad_latency"
	reasonAddress  = "bad_address"
	reasonTooLong  = "too_long"  // over maxLine
	reasonCut      = "cut_short" // the object broke off in this line
)

var (
	rejectCut  = reject{reasonCut, "the object breaks off in this line", kindUnknown}
	rejectLong = reject{reasonTooLong, "the line is longer than any that a load balancer writes", kindUnknown}
)

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

// schemeEnd is where the text after a URL's "://" begins, or -1.
func schemeEnd(url []byte) int {
	if len(url) >= 8 && string(url[:8]) == "https://" { // nearly always
		return 8
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
