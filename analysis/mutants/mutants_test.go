package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const rule = `package rule

import "time"

type moment struct{ time.Time }

func late(done, due moment, tries, limit int) bool {
	return done.After(due.Time) && tries <= limit
}

func apart(x, y moment) float64 { return x.Sub(y.Time).Abs().Seconds() }

func sum(list []int) (n int) {
	for _, x := range list {
		if x < 0 {
			continue
		}
		n += x
	}
	return n
}
`

const ruleTest = `package rule

import (
	"testing"
	"time"
)

func TestLate(t *testing.T) {
	due := moment{time.Unix(100, 0)}
	for _, c := range []struct {
		done  int64
		tries int
		want  bool
	}{{101, 1, true}, {99, 1, false}, {101, 4, false}} {
		if got := late(moment{time.Unix(c.done, 0)}, due, c.tries, 3); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

func TestApart(t *testing.T) {
	if n := apart(moment{time.Unix(1, 0)}, moment{time.Unix(3, 0)}); n != 2 {
		t.Error(n)
	}
}

func TestSum(t *testing.T) {
	if n := sum([]int{1, 2}); n != 3 {
		t.Error(n)
	}
}
`

// The rule's tests never stand on a bound and never sum a negative number; everything
// else they hold in place, and a length has no sign that could be changed.
func TestSurvivorsAreWhatTheTestsDoNotTouch(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module rule\n\ngo 1.26\n")
	put("rule.go", rule)
	put("rule_other.go", "package rule\n\nfunc other(n int) bool { return n > 0 }\n\nvar _ = other\n")
	put("rule_test.go", ruleTest)
	list := filepath.Join(dir, "equivalent.txt")
	survivors := []string{
		"rule.go:15: sum: x < 0 -> x <= 0",
		"rule.go:16: sum: continue -> nothing",
		"rule.go:8: late: done.After(due.Time) -> !done.Before(due.Time)",
		"rule.go:8: late: tries <= limit -> tries < limit",
	}
	check := func(want bool) []string {
		t.Helper()
		var out strings.Builder
		ok, err := check(&out, dir, list, []string{"rule*.go", "!rule_other.go"}, 2)
		if err != nil {
			t.Fatal(err)
		}
		if ok != want {
			t.Errorf("ok is %t", ok)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		slices.Sort(lines[:len(lines)-1])
		return lines
	}
	lines := check(false)
	if got := lines[:len(lines)-1]; !slices.Equal(got, survivors) {
		t.Errorf("survived:\n%s", strings.Join(got, "\n"))
	}
	if got := lines[len(lines)-1]; !strings.HasPrefix(got, "11 mutants: 7 killed, 0 equivalent, 4 survived; 3 tests") {
		t.Error(got)
	}

	put("equivalent.txt", `# listed
rule.go sum: x < 0 -> x <= 0 # a zero adds nothing
rule.go sum: continue -> nothing # negative numbers do not occur
rule.go late: tries <= limit -> !(tries <= limit) # wrong: the tests see it
`)
	lines = check(false)
	if got := strings.Join(lines, "\n"); strings.Contains(got, "x <= 0") || !strings.Contains(got, "listed as equivalent, but killed or gone: rule.go late: tries <= limit -> !(tries <= limit)") {
		t.Errorf("with a list:\n%s", got)
	}
}
