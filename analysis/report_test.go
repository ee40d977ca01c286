package analysis

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestTimeAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		`"2026-10-14T02:30:00.123456Z"`: "2026-10-14 02:30:00.123456 +0000 UTC",
		`"2026-10-14T11:30:00.1+09:00"`: "2026-10-14 02:30:00.1 +0000 UTC",
		`null`:                          "0001-01-01 00:00:00 +0000 UTC",
		`""`:                            "is not a time; allowed: RFC 3339",
		`17`:                            "is not a time; allowed: RFC 3339",
		`"14 Oct 2026"`:                 "is not a time; allowed: RFC 3339",
	} {
		var got Time
		err := json.Unmarshal([]byte(text), &got)
		if err != nil && strings.Contains(err.Error(), want) {
			continue
		}
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	// A report says microseconds, UTC, and null for what is not known.
	at := time.Date(2026, 10, 14, 11, 30, 0, 100_000_000, time.FixedZone("KST", 9*3600))
	body, err := json.Marshal([]Time{{at}, {}})
	if want := `["2026-10-14T02:30:00.100000Z",null]`; err != nil || string(body) != want {
		t.Errorf("%s, %v, want %s", body, err, want)
	}
}
