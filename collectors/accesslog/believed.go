package accesslog

import (
	"time"

	"gapless/analysis"
)

// believed are the times, in microseconds since 1970 UTC, that a line's end and
// start may have. A line beyond them is set aside: one absurd time must neither stand
// for a request nor stretch what an object is about.
type believed struct{ endFrom, startFrom, to int64 }

// Around the time that an object's name tells, entries are believed for a day, since
// clocks and writers may be late; what started long before it ended (streams,
// WebSockets) for a month. Where the name tells nothing, any time of this century is.
const (
	aroundObject = 24 * time.Hour
	longestEntry = 31 * 24 * time.Hour
)

var anyObject = believed{
	endFrom:   time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	startFrom: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
	to:        time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
}

var rejectRange = reject{reasonRange, "the time is far from any that this log can be about", kindUnknown}

// believedOf are the times of an object whose period is known where From is.
func believedOf(o analysis.Object) believed {
	b := anyObject
	if !o.From.IsZero() {
		b.endFrom = max(b.endFrom, o.From.Add(-aroundObject).UnixMicro())
		b.startFrom = max(b.startFrom, o.From.Add(-longestEntry).UnixMicro())
		b.to = min(b.to, o.To.Add(aroundObject).UnixMicro())
	}
	return b
}

func (b *believed) holds(e *entry) bool {
	return e.end >= b.endFrom && e.end < b.to && (!e.hasStart || e.start >= b.startFrom && e.start < b.to)
}
