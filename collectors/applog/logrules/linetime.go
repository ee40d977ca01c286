package logrules

import (
	"time"
)

// lineTime reads the time at the start of a line, to the microsecond, and returns
// how many bytes it took. It knows ISO 8601 with "T" or a space, "." or "," before
// the fraction, and "Z", an offset or nothing after it (Spring Boot 2 and 3,
// Logback, journalctl's short-iso), also with "/" between the parts of the date
// (nginx) and with the month's name (14-Oct-2026, Tomcat), each also in brackets; and
// the syslog form without a year, which is taken to be the last such moment before
// now + one day.
func lineTime(line []byte, zone *time.Location, now time.Time) (t time.Time, n int, ok bool) {
	start := 0
	for start < len(line) && start < 2 && (line[start] == '[' || line[start] == ' ') {
		start++
	}
	b := line[start:]
	if len(b) < 15 {
		return t, 0, false
	}
	if b[0] >= 'A' && b[0] <= 'Z' {
		t, ok = syslogTime(b[:15], zone, now)
		return t, start + 15, ok
	}
	if len(b) >= 20 && b[2] == '-' && b[6] == '-' && b[11] == ' ' && b[14] == ':' {
		return namedMonth(b, start, zone)
	}
	if len(b) < 19 || b[4] != '-' && b[4] != '/' || b[7] != b[4] || b[10] != 'T' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return t, 0, false
	}
	year, ok1 := digits(b[0:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	if !ok1 || !ok2 || !ok3 {
		return t, 0, false
	}
	t, n, ok = clock(b, 11, year, month, day, zone)
	return t, bracket(b, start, n), ok
}

// namedMonth reads the time of Tomcat's own log: 14-Oct-2026 06:25:01.000.
func namedMonth(b []byte, start int, zone *time.Location) (t time.Time, n int, ok bool) {
	day, ok1 := digits(b[0:2])
	month, ok2 := monthNamed(b[3:6])
	year, ok3 := digits(b[7:11])
	if !ok1 || !ok2 || !ok3 || b[17] != ':' {
		return t, 0, false
	}
	t, n, ok = clock(b, 12, year, month, day, zone)
	return t, bracket(b, start, n), ok
}

// bracket is how many bytes a time took in all that ends after n bytes of b, which
// begins start bytes into the line: with the bracket that closes it.
func bracket(b []byte, start, n int) int {
	if start > 0 && n < len(b) && b[n] == ']' {
		n++
	}
	return start + n
}

// clock reads hour, minute, second, fraction and offset at a place in b, where there
// are at least eight bytes, and puts them together with the date.
func clock(b []byte, n, year, month, day int, zone *time.Location) (t time.Time, width int, ok bool) {
	hour, ok1 := digits(b[n : n+2])
	minute, ok2 := digits(b[n+3 : n+5])
	second, ok3 := digits(b[n+6 : n+8])
	if !ok1 || !ok2 || !ok3 || !possible(year, month, day, hour, minute, second) {
		return t, 0, false
	}
	n += 8
	nanos := 0
	if n < len(b) && (b[n] == '.' || b[n] == ',') {
		scale := 100_000_000
		for n++; n < len(b) && b[n] >= '0' && b[n] <= '9'; n++ {
			nanos += int(b[n]-'0') * scale
			scale /= 10
		}
	}
	offset, width, has := zoneOffset(b[n:])
	if has {
		t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset)
	} else {
		t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone)
	}
	t = t.UTC().Truncate(time.Microsecond)
	return t, n + width, inRange(t)
}

// possible says whether there is such a moment in the calendar: no 31 February, and a
// second 60 only where one can be put in, at the end of an hour or of half of one.
func possible(year, month, day, hour, minute, second int) bool {
	if month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 60 || second == 60 && minute%30 != 29 {
		return false
	}
	return year >= 1970 && year <= 9998 && day <= time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// inRange says whether a time lies in the years that are stored; an offset or a second
// 60 can take it out of them.
func inRange(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 9998 }

// zoneOffset reads "Z", "±hh:mm" or "±hhmm", the latter also after a space.
func zoneOffset(b []byte) (offset time.Duration, width int, ok bool) {
	if len(b) > 0 && b[0] == 'Z' {
		return 0, 1, true
	}
	if len(b) > 5 && b[0] == ' ' && (b[1] == '+' || b[1] == '-') {
		if offset, width, ok = zoneOffset(b[1:]); ok && width == 5 {
			return offset, width + 1, true
		}
		return 0, 0, false
	}
	if len(b) < 5 || b[0] != '+' && b[0] != '-' {
		return 0, 0, false
	}
	at := 3
	if b[3] == ':' {
		at = 4
	}
	if len(b) < at+2 {
		return 0, 0, false
	}
	hours, ok1 := digits(b[1:3])
	minutes, ok2 := digits(b[at : at+2])
	if !ok1 || !ok2 || hours > 18 || minutes > 59 {
		return 0, 0, false
	}
	offset = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if b[0] == '-' {
		offset = -offset
	}
	return offset, at + 2, true
}

func syslogTime(b []byte, zone *time.Location, now time.Time) (time.Time, bool) {
	t, err := time.ParseInLocation("Jan _2 15:04:05", string(b), zone)
	if err != nil {
		return time.Time{}, false
	}
	return lastSuch(t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), zone, now)
}

// lastSuch is the last moment of a date without a year before now + one day.
func lastSuch(month time.Month, day, hour, minute, second int, zone *time.Location, now time.Time) (time.Time, bool) {
	year := now.In(zone).Year() + 1
	for {
		at := time.Date(year, month, day, hour, minute, second, 0, zone)
		if at.Before(now.Add(24*time.Hour)) && at.Day() == day { // the day differs for 29 February
			return at.UTC(), true
		}
		if year--; year < now.Year()-8 {
			return time.Time{}, false
		}
	}
}

// monthNamed knows the English names of months by their first three letters.
func monthNamed(b []byte) (month int, ok bool) {
	for i, name := range months {
		if string(b) == name {
			return i + 1, true
		}
	}
	return 0, false
}

var months = [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

func digits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
