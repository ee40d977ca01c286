package logrules

import (
	"bytes"
	"regexp"
)

// nginxCut is how long a message of nginx's error log is that was cut: nginx writes
// lines of 2,048 bytes at most, of which the time before the message and the end of the
// line are 21 (NGX_MAX_ERROR_STR in ngx_log.h).
const nginxCut = 2027

var (
	nginxRequest = []byte(`, request: "`)
	nginxNamed   = []byte(`, upstream: "`)
	nginxHost    = []byte(`", host: "`)
	nginxServer  = regexp.MustCompile(`^(?:[a-z]+://)?(unix:[^:"]+|[^/"]+)`)
)

// nginxUpstream is the address, as nginx chose it, of the server that a message is
// about; nil where it names none. Behind the client and the server name comes what the
// client sent, as it came: request, upstream (its path is the client's), host and
// referrer, each in quotes that the text may hold as well. So where several addresses
// stand there as nginx writes them, or a part is cut off, it is not sure.
func nginxUpstream(message []byte) (name []byte, sure bool) {
	if len(message) >= nginxCut {
		return nil, false
	}
	_, rest, _ := bytes.Cut(message, []byte(", client: "))
	own, asked, isHTTP := bytes.Cut(rest, nginxRequest)
	if !isHTTP {
		asked = own // of the stream module: there is no text of the client's
	}
	for behind := false; ; {
		before, after, found := bytes.Cut(asked, nginxNamed)
		if !found {
			return name, true
		}
		behind = behind || name == nil && bytes.Contains(before, nginxHost)
		if asked = after; isHTTP && !bytes.HasSuffix(before, []byte(`"`)) {
			continue // in a text
		}
		m := nginxServer.FindSubmatch(after)
		if m == nil || behind || name != nil && !bytes.Equal(name, m[1]) {
			return nil, false
		}
		name = m[1]
	}
}
