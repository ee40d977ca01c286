package views

import (
	"math"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(25212), "25,212"}, {Count(-1234567), "−1,234,567"},
		{number(0.004), "0"}, {number(-0.001), "0"}, {number(0.62), "0.62"}, {number(9.5), "9.5"}, {number(79.54), "79.5"}, {number(1585.8), "1,586"}, {number(-441), "−441"},
		{number(99.96), "100"}, {number(math.NaN()), Missing}, {number(math.Inf(1)), Missing},
		{Seconds(5.255), "5.25 s"}, {signedSeconds(22.6), "+22.6 s"}, {signedSeconds(-0.5), "−0.5 s"},
		{percent(0), "0 %"}, {percent(1), "100 %"}, {percent(.16), "16 %"}, {percent(.155), "15.5 %"}, {percent(.00012), "0.012 %"}, {percent(1e-9), "< 0.001 %"}, {percent(.99999), "> 99.9 %"},
		{plural(1, "line", "lines"), "1 line"}, {plural(0, "line", "lines"), "0 lines"},
		{list([]string{"a"}), "a"}, {list([]string{"a", "b", "c"}), "a, b and c"}, {list(nil), ""},
		{length(57 * time.Second), "57 s"}, {length(20 * time.Minute), "20 min"}, {length(125 * time.Minute), "2 h 5 min"},
		{tied("a chance of 16 % in 0.4 s."), "a chance of 16\u00a0% in 0.4\u00a0s."}, {tied("3 sources"), "3 sources"},
		{Short("äöü", 2), "ä…"}, {Short("äö", 2), "äö"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestMomentsAreInTheZoneWithUTCBeside(t *testing.T) {
	got := clock(time.Date(2026, 10, 14, 6, 34, 37, 213_000_000, time.UTC), seoul)
	want := Stamp{Text: "15:34:37", Title: "2026-10-14 06:34:37.213 UTC", ISO: "2026-10-14T06:34:37.213Z"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if none := clock(time.Time{}, seoul); none.Text != Missing || !none.IsZero() {
		t.Errorf("no moment reads %+v", none)
	}
}
