package views

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Missing stands for what was not measured. It is never a zero.
const Missing = "–"

// Stamp is a moment as a page prints it: in the configured zone, with UTC beside it.
type Stamp struct {
	Text  string // in the configured zone
	Title string // the same moment in UTC, with its date
	ISO   string // for the datetime attribute
}

// IsZero reports whether there is no moment to print.
func (s Stamp) IsZero() bool { return s.ISO == "" }

const utcLayout = "2006-01-02 15:04:05.000 UTC"

func stamp(t time.Time, zone *time.Location, layout string) Stamp {
	if t.IsZero() {
		return Stamp{Text: Missing}
	}
	return Stamp{Text: t.In(zone).Format(layout), Title: t.UTC().Format(utcLayout), ISO: t.UTC().Format(time.RFC3339Nano)}
}

func clock(t time.Time, zone *time.Location) Stamp      { return stamp(t, zone, "15:04:05") }
func clockMilli(t time.Time, zone *time.Location) Stamp { return stamp(t, zone, "15:04:05.000") }
func dateClock(t time.Time, zone *time.Location) Stamp {
	return stamp(t, zone, "2006-01-02 15:04:05")
}

// Count prints a whole number with thousands separators.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// number prints a figure with three significant digits where it is small, and whole
// with separators where it is large.
func number(v float64) string {
	size := math.Abs(v)
	decimals := 0
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Missing
	case size < 10:
		decimals = 2
	case size < 100:
		decimals = 1
	}
	text := strconv.FormatFloat(size, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if whole, err := strconv.Atoi(text); err == nil {
		text = Count(whole)
	}
	if v < 0 && text != "0" {
		text = "−" + text
	}
	return text
}

// Seconds prints a length of time given in seconds.
func Seconds(v float64) string { return number(v) + " s" }

func signedSeconds(v float64) string {
	if v > 0 {
		return "+" + Seconds(v)
	}
	return Seconds(v)
}

func seconds(from, to time.Time) string { return Seconds(to.Sub(from).Seconds()) }

// millis prints a latency in milliseconds without its unit, which stands in the head
// of the column; nil is missing.
func millis(v *float64) string {
	if v == nil {
		return Missing
	}
	return number(*v)
}

// percent prints a share between 0 and 1. A share that is not 0 (or 1) never reads as 0 (or 100).
func percent(share float64) string {
	v := share * 100
	switch {
	case math.IsNaN(v):
		return Missing
	case v > 0 && v < 0.001:
		return "< 0.001 %"
	case v < 100 && v > 99.9:
		return "> 99.9 %"
	case v > 0 && v < 0.1:
		return strconv.FormatFloat(v, 'g', 2, 64) + " %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " %"
}

// length prints how long something took, for a list.
func length(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return Seconds(d.Seconds())
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Round(time.Minute).Minutes())) + " min"
	}
	d = d.Round(time.Minute)
	return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
}

// unitGap is the space between a number and its unit.
var unitGap = regexp.MustCompile(`(\d) (s|ms|%|h|min)\b|(\d) (%)`)

// tied keeps a number and its unit on one line.
func tied(text string) string { return unitGap.ReplaceAllString(text, "$1$3\u00a0$2$4") }

// plural is "1 request" or "2 requests".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// list joins names as a sentence does: a, b and c.
func list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
