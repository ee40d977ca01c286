package accesslog

import (
	"bytes"
	"time"
)

// longestLatency bounds what is taken for a check's latency: AWS allows a timeout of
// two minutes.
const longestLatency = time.Hour

// parseLatency reads seconds with decimals; "-", and any negative number, is -1.
func parseLatency(b []byte) (time.Duration, bool) {
	if dash(b) {
		return -1, true
	}
	number, negative := bytes.CutPrefix(b, []byte("-"))
	latency, ok := parseNanoseconds(number)
	switch {
	case !ok, latency > longestLatency && !negative:
		return 0, false
	case negative && latency > 0:
		return -1, true
	}
	return latency, true
}
