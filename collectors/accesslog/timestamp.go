package accesslog

import "encoding/binary"

// parseTime reads an ISO 8601 time in UTC, with any number of decimals and with or
// without the Z, as microseconds since 1970. Digits after the sixth decimal are cut.
func parseTime(b []byte) (int64, bool) {
	const whole = len("2006-01-02T15:04:05")
	if len(b) < whole || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	century, year := twoDigits(b[0], b[1]), twoDigits(b[2], b[3])
	month, day := twoDigits(b[5], b[6]), twoDigits(b[8], b[9])
	hour, minute, second := twoDigits(b[11], b[12]), twoDigits(b[14], b[15]), twoDigits(b[17], b[18])
	if century > 99 || year > 99 || month-1 > 11 || day-1 > 30 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	y := int64(century*100 + year)
	if day > 28 && day > daysIn(y, month) {
		return 0, false
	}
	seconds := daysSince1970(y, int64(month), int64(day))*86400 + int64(hour)*3600 + int64(minute)*60 + int64(second)
	micros := uint64(0)
	rest := b[whole:]
	if len(rest) > 1 && rest[0] == '.' {
		rest = rest[1:]
		places := 0
		for len(rest) > 0 && rest[0]-'0' <= 9 {
			if places < 6 {
				micros = micros*10 + uint64(rest[0]-'0')
			}
			places++
			rest = rest[1:]
		}
		if places == 0 {
			return 0, false
		}
		for ; places < 6; places++ {
			micros *= 10
		}
	}
	if len(rest) > 1 || len(rest) == 1 && rest[0] != 'Z' {
		return 0, false
	}
	return seconds*1e6 + int64(micros), true
}

// clock reads times as parseTime does, and remembers the day, which is the same in
// most lines.
type clock struct {
	day    uint64 // the first eight bytes of the date
	last   uint16 // and the last two
	second int64  // with which that day begins
}

// parse reads a time. The form that load balancers write, with six decimals and a Z
// in the day that was read last, is read here; any other by parseTime.
func (c *clock) parse(b []byte) (int64, bool) {
	if len(b) == len("2006-01-02T15:04:05.000000Z") && c.day != 0 &&
		binary.LittleEndian.Uint64(b) == c.day && binary.LittleEndian.Uint16(b[8:]) == c.last &&
		b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[26] == 'Z' {
		hour, minute, second := twoDigits(b[11], b[12]), twoDigits(b[14], b[15]), twoDigits(b[17], b[18])
		high, middle, low := twoDigits(b[20], b[21]), twoDigits(b[22], b[23]), twoDigits(b[24], b[25])
		if hour > 23 || minute > 59 || second > 59 || high > 99 || middle > 99 || low > 99 {
			return 0, false
		}
		return (c.second+int64(hour*3600+minute*60+second))*1e6 + int64(high*10000+middle*100+low), true
	}
	micros, ok := parseTime(b)
	if ok {
		c.day, c.last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
		c.second = floorDiv(micros, 86400e6) * 86400
	}
	return micros, ok
}

// twoDigits is the number that two digits write, or more than 99.
func twoDigits(tens, ones byte) uint {
	tens -= '0'
	ones -= '0'
	if tens > 9 || ones > 9 {
		return 1000
	}
	return uint(tens)*10 + uint(ones)
}

func daysIn(year int64, month uint) uint {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSince1970 counts days in the proleptic Gregorian calendar, with years that
// begin in March so that the leap day comes last (Howard Hinnant, "chrono-
// compatible low-level date algorithms").
func daysSince1970(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	ofEra := y - era*400
	ofYear := (153*(m-3)+2)/5 + d - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}
