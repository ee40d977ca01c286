package logrules

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// TimeFormat reads the times of lines that write them in a form of their own.
type TimeFormat struct {
	match   *regexp.Regexp // group 1 is the time; nil: the line begins with it
	group   int
	parts   []byte // letters as in strftime, and 0 for literal text
	literal []string
}

const formatAllowed = "%Y %m %d %e %b %H %M %S %f (fraction of a second) %z %s (seconds since 1970), and text between them, such as '%d/%b/%Y:%H:%M:%S.%f %z'"

// NewTimeFormat reads a format as strftime has them. match, where it is not empty, is
// a regular expression whose group "time" holds the time; else lines begin with it.
func NewTimeFormat(format, match string) (*TimeFormat, error) {
	f := &TimeFormat{}
	has := map[byte]bool{}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			if n := len(f.parts); n > 0 && f.parts[n-1] == 0 {
				f.literal[n-1] += format[i : i+1]
			} else {
				f.parts, f.literal = append(f.parts, 0), append(f.literal, format[i:i+1])
			}
			continue
		}
		i++
		if i == len(format) || !strings.ContainsRune("YmdebHMSfzs", rune(format[i])) {
			return nil, wrong("time_format", "%q: %q is not known; allowed: %s", format, format[i-1:min(i+1, len(format))], formatAllowed)
		}
		f.parts, f.literal = append(f.parts, format[i]), append(f.literal, "")
		has[format[i]] = true
	}
	date, clock := (has['m'] || has['b']) && (has['d'] || has['e']), has['H'] && has['M'] && has['S']
	if !has['s'] && (!date || !clock) {
		return nil, wrong("time_format", "%q names no moment: month, day, hour, minute and second, or %%s; allowed: %s", format, formatAllowed)
	}
	if match == "" {
		return f, nil
	}
	re, err := regexp.Compile(match)
	if err != nil {
		return nil, wrong("time_match", "%q is no regular expression: %v; allowed: RE2 syntax with a group (?P<time>…)", match, cause(err))
	}
	if f.group = re.SubexpIndex("time"); f.group < 0 {
		return nil, wrong("time_match", "%q has no group for the time; allowed: a regular expression with (?P<time>…)", match)
	}
	f.match = re
	return f, nil
}

// read finds the time of a line, and how many bytes at its start are before the
// message: the time where the line begins with it, else up to where it ends.
func (f *TimeFormat) read(line []byte, zone *time.Location, now time.Time) (t time.Time, n int, ok bool) {
	from := 0
	if f.match != nil {
		m := f.match.FindSubmatchIndex(line)
		if m == nil || m[2*f.group] < 0 {
			return t, 0, false
		}
		from, n = m[2*f.group], m[1]
	}
	t, width, ok := f.parse(line[from:], zone, now)
	if !ok {
		return t, 0, false
	}
	return t, max(n, from+width), true
}

func (f *TimeFormat) parse(b []byte, zone *time.Location, now time.Time) (t time.Time, n int, ok bool) {
	var year, month, day, hour, minute, second, nanos, epoch int
	var offset time.Duration
	hasOffset, hasEpoch := false, false
	for i, part := range f.parts {
		rest := b[n:]
		ok := true
		width := 2
		switch part {
		case 0:
			width, ok = len(f.literal[i]), strings.HasPrefix(string(rest[:min(len(rest), len(f.literal[i]))]), f.literal[i])
		case 'Y':
			width = 4
			year, ok = fixed(rest, width)
		case 'm':
			month, ok = fixed(rest, width)
		case 'd':
			day, ok = fixed(rest, width)
		case 'e':
			if len(rest) > 1 && rest[0] == ' ' {
				day, ok = fixed(rest[1:], 1)
			} else if day, ok = fixed(rest, 2); !ok {
				width = 1
				day, ok = fixed(rest, 1)
			}
		case 'b':
			if width = 3; len(rest) < width {
				return t, 0, false
			}
			month, ok = monthNamed(rest[:width])
		case 'H':
			hour, ok = fixed(rest, width)
		case 'M':
			minute, ok = fixed(rest, width)
		case 'S':
			second, ok = fixed(rest, width)
		case 'f':
			width = 0
			for scale := 100_000_000; width < len(rest) && rest[width] >= '0' && rest[width] <= '9'; width++ {
				nanos += int(rest[width]-'0') * scale
				scale /= 10
			}
			ok = width > 0
		case 's':
			for width = 0; width < len(rest) && width < 12 && rest[width] >= '0' && rest[width] <= '9'; width++ {
				epoch = epoch*10 + int(rest[width]-'0')
			}
			ok, hasEpoch = width > 0, true
		case 'z':
			offset, width, ok = zoneOffset(rest)
			hasOffset = true
		}
		if !ok {
			return t, 0, false
		}
		n += width
	}
	switch {
	case hasEpoch:
		if epoch <= 0 || epoch > latest {
			return t, 0, false
		}
		t = time.Unix(int64(epoch), int64(nanos))
	case !possible(cmp.Or(year, 2000), month, day, hour, minute, second): // 2000 had a 29 February
		return t, 0, false
	case year == 0:
		if t, ok = lastSuch(time.Month(month), day, hour, minute, second, zone, now); !ok {
			return t, 0, false
		}
		t = t.Add(time.Duration(nanos))
	case hasOffset:
		t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC).Add(-offset)
	default:
		t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone)
	}
	t = t.UTC().Truncate(time.Microsecond)
	return t, n, inRange(t)
}

// fixed reads a number of so many digits.
func fixed(b []byte, width int) (int, bool) {
	if len(b) < width {
		return 0, false
	}
	return digits(b[:width])
}

// time finds the time of a line's text. last is that of the line before, by which the
// hour that comes twice when a zone leaves summer time is told apart: lines are written
// in order, but for a few of several threads.
func (in *Interpreter) time(text []byte, last time.Time) (time.Time, int, bool) {
	t, n, ok := in.timeIn(text, in.cfg.Zone)
	if !ok || last.IsZero() || in.cfg.Zone == time.UTC || !t.Before(last.Add(-disorder)) {
		return t, n, ok
	}
	second, twice := secondTime(t, in.cfg.Zone)
	if !twice {
		return t, n, ok
	}
	if utc, _, _ := in.timeIn(text, time.UTC); utc.Equal(t) {
		return t, n, ok // the line names its zone
	}
	return second, n, inRange(second)
}

// disorder is how far a line may stand behind one that was written later.
const disorder = time.Minute

func (in *Interpreter) timeIn(text []byte, zone *time.Location) (time.Time, int, bool) {
	if in.cfg.TimeFormat != nil {
		return in.cfg.TimeFormat.read(text, zone, in.cfg.Now())
	}
	return lineTime(text, zone, in.cfg.Now())
}

// secondTime is the later of two moments at which clocks of a zone show the same, given
// the earlier one.
func secondTime(t time.Time, zone *time.Location) (second time.Time, twice bool) {
	local := t.In(zone)
	_, end := local.ZoneBounds()
	if end.IsZero() {
		return t, false
	}
	_, before := local.Zone()
	_, after := end.Zone()
	back := time.Duration(before-after) * time.Second
	return t.Add(back), back > 0 && !t.Before(end.Add(-back))
}
