package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// durationsAllowed is what a complaint about a duration says is allowed.
const durationsAllowed = "a number with a unit, such as 300ms, 30s, 5m, 2h or 90d"

// parseDuration reads a duration as the configuration writes it: Go's notation with
// days ("d", 24 hours each) in front, so "90d", "1d12h" and "300ms". It is never
// negative, and a number without a unit is an error.
func parseDuration(s string) (time.Duration, error) {
	rest := s
	var days time.Duration
	if number, after, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n <= 36500) {
			return 0, fmt.Errorf("%q is not a duration", s)
		}
		days = time.Duration(n * float64(24*time.Hour))
		rest = after
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration", s)
	}
	return days + d, nil
}
