package accesslog

import (
	"bytes"
)

// splitRequest splits a request line at its first and last space, since a URL may
// hold raw spaces. A last word that is no protocol belongs to the URL.
func splitRequest(b []byte) (method, url, protocol []byte) {
	method, url, ok := bytes.Cut(b, []byte(" "))
	if !ok {
		if bytes.Contains(b, []byte("://")) {
			return nil, b, nil
		}
		return b, nil, nil
	}
	if last := bytes.LastIndexByte(url, ' '); last >= 0 {
		if word := url[last+1:]; dash(word) || bytes.HasPrefix(word, []byte("HTTP/")) {
			url, protocol = url[:last], word
		}
	} else if bytes.HasPrefix(url, []byte("HTTP/")) {
		url, protocol = nil, url
	}
	return absent(method), absent(url), absent(protocol)
}

// isMethod reports whether b can be a method: letters, and not many.
func isMethod(b []byte) bool {
	for _, c := range b {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(b) <= 32
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
