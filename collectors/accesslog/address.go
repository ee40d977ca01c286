package accesslog

import (
	"bytes"
	"net/netip"
	"strconv"
)

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

func isAddress(b []byte) bool {
	if n := len(b); n > 2 && b[0] == '[' && b[n-1] == ']' {
		b = b[1 : n-1]
	}
	if len(b) > 64 { // longer than any address with its zone
		return false
	}
	_, err := netip.ParseAddr(view(b))
	return err == nil
}

// likeAddress reports whether b holds nothing but what an address without brackets does.
func likeAddress(b []byte) bool {
	colon := bytes.IndexByte(b, ':') >= 0
	for _, c := range b {
		if c-'0' > 9 && c != '.' && (!colon || c != ':' && (c|0x20 < 'a' || c|0x20 > 'f')) {
			return false
		}
	}
	return len(b) > 0
}

func isPort(b []byte) bool {
	_, err := strconv.ParseUint(string(b[:min(len(b), 6)]), 10, 16)
	return err == nil && len(b) <= 5
}
