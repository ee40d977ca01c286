package accesslog

import (
	"strconv"
	"unsafe"
)

// parseStatus reads three digits, or "-" as 0.
func parseStatus(b []byte) (int, bool) {
	if len(b) == 1 && b[0] == '-' {
		return 0, true
	}
	if len(b) != 3 || !digits(b) {
		return 0, false
	}
	return int(b[0]-'0')*100 + int(b[1]-'0')*10 + int(b[2]-'0'), true
}

// parseCode reads a status of one to three digits (gRPC's are small numbers), or
// "-" as 0.
func parseCode(b []byte) (int, bool) {
	if dash(b) {
		return 0, true
	}
	if len(b) > 3 || !digits(b) {
		return 0, false
	}
	n, err := strconv.Atoi(string(b))
	return n, err == nil
}

func dash(b []byte) bool { return len(b) == 1 && b[0] == '-' }

func absent(b []byte) []byte {
	if len(b) == 0 || dash(b) {
		return nil
	}
	return b
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// view is b as a string without a copy. It must not outlive the line that b is
// part of: use it for look-ups and comparisons, clone what is kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf is s as bytes without a copy, for reading only.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
