package follow

import "testing"

// A key says where its stretch was found, and is understood whatever that is called.
func TestKeys(t *testing.T) {
	for _, path := range []string{"/var/log/nginx/access.log", "/a @1-2 text b.c/x", "/x@", "relative", ""} {
		key := formatKey(path, "0123abcd~2", 0, 7980, "fedc")
		id, end, ok := parseKey(key)
		if !ok || id != "0123abcd~2" || end.at != 7980 || end.tail != "fedc" || key[:len(path)] != path {
			t.Errorf("%s: %q, %+v, %v", key, id, end, ok)
		}
	}
	for _, key := range []string{"", "rest of /var/log/nginx/access.log", "rest of /a, text 0123", "/a@0-x text 0123.fe", "/a@0-0 text 0123.fe", "/a@0-1 text .fe", "/a@0-1 text 01"} {
		if id, end, ok := parseKey(key); ok {
			t.Errorf("%q is a key: %q, %+v", key, id, end)
		}
	}
}
