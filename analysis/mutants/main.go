// Command mutants checks the tests of package analysis: it changes one condition,
// boundary or sign of the judge at a time and reports every change that no test
// notices. Such a survivor is a sentence of the rules that nothing holds in place.
//
//	go run ./analysis/mutants 'rule_*.go' 'claims*.go' '!rule_surge.go'
//
// All mutants are compiled into one test binary, each behind a number; an environment
// variable chooses the one that is active. Before that, every test runs once by itself
// and records the mutants that would have changed a value in it: only those tests are
// run against a mutant, and a mutant that no test would notice needs none. Exit status:
// 0 every mutant was killed or is listed as equivalent, 1 some survived or the list is
// stale, 3 it could not be told.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	dir := flag.String("package", "analysis", "directory of the package whose tests are checked")
	list := flag.String("equivalent", "analysis/mutants/equivalent.txt", "file that lists the mutants that change nothing")
	parallel := flag.Int("parallel", 2, "mutants that run at the same time")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"*.go"}
	}
	ok, err := check(os.Stdout, *dir, *list, patterns, *parallel)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(3)
	case !ok:
		os.Exit(1)
	}
}

// check mutates the files of a package that match the patterns and reports to w; ok is
// false where a mutant survived that is not listed, or the list says more than is true.
func check(w io.Writer, dir, list string, patterns []string, parallel int) (ok bool, err error) {
	began := time.Now()
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	known, err := readEquivalent(list)
	if err != nil {
		return false, err
	}
	p, err := load(dir, patterns)
	if err != nil {
		return false, err
	}
	if len(p.mutants) == 0 {
		return false, fmt.Errorf("nothing to mutate in %s", dir)
	}
	binary, err := p.build(work)
	if err != nil {
		return false, err
	}
	b := trials{binary: binary, dir: dir, work: work, parallel: parallel}
	if err := b.record(len(p.mutants)); err != nil {
		return false, err
	}
	killed, equivalent, survivors := 0, 0, 0
	used := map[string]bool{}
	err = b.run(p.mutants, func(m *mutant, survived bool) {
		switch {
		case !survived:
			killed++
		case known[m.key()] != "":
			equivalent++
			used[m.key()] = true
		default:
			survivors++
			fmt.Fprintln(w, m)
		}
		if done := killed + equivalent + survivors; done%100 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d mutants, %s\n", done, len(p.mutants), time.Since(began).Round(time.Second))
		}
	})
	if err != nil {
		return false, err
	}
	ok = survivors == 0
	for key := range known {
		if !used[key] && p.covers(key) {
			fmt.Fprintf(w, "listed as equivalent, but killed or gone: %s\n", key)
			ok = false
		}
	}
	fmt.Fprintf(w, "%d mutants: %d killed, %d equivalent, %d survived; %d tests, %s\n",
		len(p.mutants), killed, equivalent, survivors, len(b.leaves), time.Since(began).Round(time.Second))
	return ok, nil
}
