package accesslog

import (
	"bytes"
	"time"
)

// maxTimeText is more than the length of any time in a log.
const maxTimeText = 48

// parseLocal reads the time that nginx calls $time_local ("28/Sep/1970:12:00:00
// +0600") and the one of HAProxy ("06/Feb/2009:12:14:14.655", without an offset) as
// microseconds since 1970. A time without an offset is one of zone's.
func parseLocal(b []byte, zone *time.Location) (int64, bool) {
	const whole = len("02/Jan/2006:15:04:05")
	if len(b) < whole || b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' {
		return 0, false
	}
	day, month := twoDigits(b[0], b[1]), monthOf(b[3:6])
	century, year := twoDigits(b[7], b[8]), twoDigits(b[9], b[10])
	hour, minute, second := twoDigits(b[12], b[13]), twoDigits(b[15], b[16]), twoDigits(b[18], b[19])
	if month == 0 || day-1 > 30 || century > 99 || year > 99 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	y := int64(century*100 + year)
	if day > 28 && day > daysIn(y, month) {
		return 0, false
	}
	micros, rest, ok := fraction(b[whole:], 6)
	if !ok {
		return 0, false
	}
	seconds := daysSince1970(y, int64(month), int64(day))*86400 + int64(hour)*3600 + int64(minute)*60 + int64(second)
	if len(rest) == 0 {
		if zone == nil || zone == time.UTC {
			return seconds*1e6 + micros, true
		}
		return inZone(seconds, zone)*1e6 + micros, true
	}
	if rest[0] == ' ' {
		rest = rest[1:]
	}
	offset, ok := parseOffset(rest)
	return (seconds-offset)*1e6 + micros, ok
}

// inZone is the moment, in seconds since 1970, at which a zone's clocks show what
// UTC's show at another one. Of a time that they show twice it is one of the two.
func inZone(seconds int64, zone *time.Location) int64 {
	t := time.Unix(seconds, 0).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone).Unix()
}

// parseISO reads an ISO 8601 time with its offset from UTC, as nginx's $time_iso8601
// has it ("1970-09-28T12:00:00+06:00"). One without an offset is one of zone's.
func parseISO(b []byte, zone *time.Location) (int64, bool) {
	const whole = len("2006-01-02T15:04:05")
	at := bytes.IndexAny(b[min(len(b), whole):], "+-")
	if at < 0 {
		micros, ok := parseTime(b)
		if ok && zone != nil && zone != time.UTC && b[len(b)-1] != 'Z' {
			seconds := floorDiv(micros, 1e6)
			micros += (inZone(seconds, zone) - seconds) * 1e6
		}
		return micros, ok
	}
	micros, ok := parseTime(b[:whole+at])
	offset, known := parseOffset(b[whole+at:])
	return micros - offset*1e6, ok && known && b[whole+at-1] != 'Z'
}

// parseOffset reads "+0600" or "+06:00" as seconds.
func parseOffset(b []byte) (int64, bool) {
	if len(b) == 6 && b[3] == ':' {
		b = []byte{b[0], b[1], b[2], b[4], b[5]}
	}
	if len(b) == 1 && b[0] == 'Z' {
		return 0, true
	}
	if len(b) != 5 || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hours, minutes := twoDigits(b[1], b[2]), twoDigits(b[3], b[4])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	seconds := int64(hours)*3600 + int64(minutes)*60
	if b[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// fraction reads ".655" as a number of so many places, cut after the last of them, and
// answers what follows. No fraction is none.
func fraction(b []byte, places int) (n int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return 0, b, true
	}
	read := 0
	for b = b[1:]; len(b) > 0 && b[0]-'0' <= 9; b = b[1:] {
		if read < places {
			n = n*10 + int64(b[0]-'0')
		}
		read++
	}
	for filled := read; filled < places; filled++ {
		n *= 10
	}
	return n, b, read > 0
}

// wholeNumber reads the digits that b begins with, of which there must be at least
// one and at most as many as said.
func wholeNumber(b []byte, most int) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && i <= most && b[i]-'0' <= 9 {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > 0 && i <= most
}

// parseSeconds reads seconds with decimals ("1.394", "1700000000.123", "0") as
// microseconds. The largest that is read has twelve digits before the point.
func parseSeconds(b []byte) (int64, bool) {
	whole, b, ok := wholeNumber(b, 12)
	if !ok {
		return 0, false
	}
	micros, rest, ok := fraction(b, 6)
	return whole*1e6 + micros, ok && len(rest) == 0
}

// parseNanoseconds reads seconds with decimals, of at most nine digits before the
// point, rounded to the nearest nanosecond.
func parseNanoseconds(b []byte) (time.Duration, bool) {
	whole, b, ok := wholeNumber(b, 9)
	if !ok {
		return 0, false
	}
	nanos, rest, ok := fraction(b, 9)
	if !ok || len(rest) > 0 {
		return 0, false
	}
	if len(b) > 10 && b[10] >= '5' { // the tenth place
		nanos++
	}
	return time.Duration(whole*1e9 + nanos), true
}

// monthOf is 1 for "Jan", in any case, and 0 for what is no month.
func monthOf(b []byte) uint {
	const names = "janfebmaraprmayjunjulaugsepoctnovdec"
	for m := range uint(12) {
		name := names[3*m : 3*m+3]
		if b[0]|0x20 == name[0] && b[1]|0x20 == name[1] && b[2]|0x20 == name[2] {
			return m + 1
		}
	}
	return 0
}
