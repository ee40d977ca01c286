package views

import (
	"encoding/json"
	"strings"
	"testing"
)

const hiding = "\x00\x1b[31m\x7f\u0085\u009b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029"

// Nothing hides in a page, and what does not hide stays as it is.
func TestBare(t *testing.T) {
	const plain = "Grüße, 서울 \u00a0 \u2009 – €\t\r\n\xff\xc2"
	got := string(Bare([]byte(plain + hiding + plain)))
	if strings.ContainsFunc(got, func(r rune) bool { return Hides(r) && !strings.ContainsRune("\t\r\n", r) }) || strings.Count(got, plain) != 2 || !strings.Contains(got, `\u001b[31m\u007f\u0085\u009b`) {
		t.Errorf("%q", got)
	}
	encoded, err := json.Marshal(hiding)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(Bare(encoded), &back); err != nil || back != hiding {
		t.Errorf("%q, %v", back, err)
	}
}

func TestUnended(t *testing.T) {
	for text, want := range map[string]int{"": 0, "x": 0, "\u202e": 0, "x\xe2": 1, "x\xe2\x80": 2, "x\xc2": 1, "\xff": 0, "\xf0\x9f\x98": 0, "x\xe2\x80\xae\xd8": 1} {
		if got := Unended([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
