package ndjson

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ndjson")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Reader{Path: path}
	var got []string
	base := time.Unix(0, 0).UTC()
	read := func(final bool, want ...string) []Hole {
		t.Helper()
		got = nil
		holes, err := r.Read(final, func(line []byte) (time.Time, error) {
			if strings.HasPrefix(string(line), "bad") {
				return time.Time{}, errors.New("no good")
			}
			got = append(got, string(line))
			seconds, _ := time.ParseDuration(string(line) + "s")
			return base.Add(seconds), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("read %v, want %v", got, want)
		}
		return holes
	}

	put("1\nbad\nbad\n\n4\n5")
	holes := read(false, "1", "4")
	if len(holes) != 1 || holes[0].First != 2 || holes[0].Last != 3 || holes[0].From != base.Add(time.Second) || holes[0].To != base.Add(4*time.Second) {
		t.Errorf("holes %+v", holes)
	}
	read(false, "1", "4") // not kept: given again
	r.Keep()
	read(false)
	read(true, "5")
	put("1\nbad\nbad\n\n4\n5\nbad\n")
	holes = read(false, "5")
	r.Keep()
	if len(holes) != 1 || holes[0].First != 7 || holes[0].From != base.Add(5*time.Second) || !holes[0].To.IsZero() {
		t.Errorf("holes %+v", holes)
	}
	put("8\n") // shorter than what was read
	read(false, "8")
	r.Keep()
	put(strings.Repeat("x", MaxLine+10) + "\n9\n")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	put(strings.Repeat("x", 2*MaxLine) + "\n9\n") // another file
	if holes = read(false, "9"); len(holes) != 1 || !strings.Contains(Describe(path, holes), "line 1: longer than") {
		t.Errorf("holes %+v", holes)
	}
}

// A file that is written anew in place is read from its start, however long it is by
// then; one that is written anew with what was read of it and more is read on.
func TestWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ndjson")
	long := strings.Repeat("x", 2*MaxLine)
	many := strings.Repeat("same\n", 20_000)
	for _, test := range []struct{ what, before, after, want string }{
		{"longer", "a1\na2\n", "b1\nb2\nb3\n", "b1 b2 b3"},
		{"as long", "a1\na2\n", "b1\nb2\n", "b1 b2"},
		{"alike at its end", "a1\na2\n", "b1\na2\na3\n", "b1 a2 a3"},
		{"alike at its start", "a1\na2\n", "a1\nb2\nb3\n", "a1 b2 b3"},
		{"more of the same", "a1\na2\n", "a1\na2\na3\n", "a3"},
		{"half a line more", "a1\na2 ha", "a1\na2 half\na3\n", "a2 half a3"},
		{"alike for long", many + "a2\n", many + "b2\nb3\n", strings.ReplaceAll(many, "\n", " ") + "b2 b3"},
		{"more for long", many + "a2\n", many + "a2\na3\n", "a3"},
		{"begins with a long line", long + "\na2\n", long + "\nb2\nb3\n", "b2 b3"},
		{"goes on from a long line", long + "\n", long + "\na2\n", "a2"},
	} {
		r := Reader{Path: path}
		read := func(text string) (lines []string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := r.Read(false, func(line []byte) (time.Time, error) {
				lines = append(lines, string(line))
				return time.Time{}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return lines
		}
		read(test.before)
		r.Keep()
		if got := strings.Join(read(test.after), " "); got != test.want {
			t.Errorf("%s: read %.100q, want %.100q", test.what, got, test.want)
		}
	}
}

// A line that is longer than what is kept of one does not make a file look written anew.
func TestLongLineBehindShortOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ndjson")
	short, long := "short\n", strings.Repeat("long ", edge/4)+"\n"
	r := Reader{Path: path}
	text, had := "", 0
	for i, more := range []string{short + long, "", long + short, "", short + short + long + long} {
		text += more
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		lines := 0
		if _, err := r.Read(false, func([]byte) (time.Time, error) { lines++; return time.Time{}, nil }); err != nil {
			t.Fatal(err)
		}
		r.Keep()
		if want := strings.Count(text, "\n") - had; lines != want {
			t.Errorf("read %d gave %d lines, want %d", i+1, lines, want)
		}
		had = strings.Count(text, "\n")
	}
}

func TestSpan(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, test := range []struct {
		hole     Hole
		from, to int
	}{
		{Hole{}, 10, 20},
		{Hole{From: at(12), To: at(15)}, 12, 15},
		{Hole{From: at(2), To: at(30)}, 10, 20},
		{Hole{From: at(30), To: at(40)}, 30, 30},
		{Hole{From: at(15), To: at(12)}, 15, 15},
	} {
		if from, to := test.hole.Span(at(10), at(20)); from != at(test.from) || to != at(test.to) {
			t.Errorf("%+v: %v to %v", test.hole, from, to)
		}
	}
}
