package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trials runs the tests against mutants.
type trials struct {
	binary, dir, work string
	parallel          int
	leaves            []leaf
}

// leaf is a test, or a subtest that has none below it, with the mutants that would
// have changed a value in it.
type leaf struct {
	name string
	path []string
	hits []bool // by a mutant's number
	all  int    // hits
}

// limit is how long tests may take against one mutant; one that makes them run
// longer is killed.
const limit = 30 * time.Second

// wholeLimit is how long all tests together may take without a mutant.
const wholeLimit = 5 * time.Minute

var running = regexp.MustCompile(`(?m)^=== RUN\s+(\S+)$`)

// record runs every test once by itself.
func (b *trials) record(mutants int) error {
	out, err := run(b.dir, b.binary, "-test.v", "-test.timeout", wholeLimit.String())
	if err != nil {
		return fmt.Errorf("the tests fail without a mutant: %w", err)
	}
	var names []string
	for _, m := range running.FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	for _, name := range names {
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+"/") }) {
			continue
		}
		l := leaf{name: name, path: strings.Split(name, "/")}
		hits := filepath.Join(b.work, "hits")
		if out, err := b.test(context.Background(), []*leaf{&l}, "MUTANT_HITS="+hits); err != nil {
			return fmt.Errorf("%s fails when it runs by itself: %w\n%s", name, err, out)
		}
		recorded, err := os.ReadFile(hits)
		if err != nil {
			return err
		}
		if len(recorded) != mutants+1 {
			return errors.New("the record of a test has the wrong length")
		}
		l.hits = make([]bool, len(recorded))
		for i, c := range recorded {
			if l.hits[i] = c == '1'; l.hits[i] {
				l.all++
			}
		}
		b.leaves = append(b.leaves, l)
	}
	return nil
}

// run runs the tests against every mutant and tells of each whether it survived, one
// at a time.
func (b *trials) run(mutants []mutant, tell func(m *mutant, survived bool)) (err error) {
	next := make(chan int)
	var workers sync.WaitGroup
	var lock sync.Mutex
	kills := map[[2]string]int{} // of a test among the mutants of a function
	for range b.parallel {
		workers.Go(func() {
			for i := range next {
				m := &mutants[i]
				lock.Lock()
				tests := b.order(i+1, m.file+m.function, kills)
				lock.Unlock()
				killer, survived, failed := b.survives(i+1, tests)
				lock.Lock()
				if err = errors.Join(err, failed); err == nil {
					kills[[2]string{m.file + m.function, killer}]++
					tell(m, survived)
				}
				lock.Unlock()
			}
		})
	}
	for i := range mutants {
		lock.Lock()
		stop := err != nil
		lock.Unlock()
		if stop {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return err
}

// order lists the tests in which a mutant would change a value: first those that
// killed others of the same function, then those that touch little, which are the
// likeliest to be about it.
func (b *trials) order(id int, function string, kills map[[2]string]int) []*leaf {
	var tests []*leaf
	for i := range b.leaves {
		if l := &b.leaves[i]; l.hits[id] {
			tests = append(tests, l)
		}
	}
	slices.SortStableFunc(tests, func(x, y *leaf) int {
		return cmp.Or(
			cmp.Compare(kills[[2]string{function, y.name}], kills[[2]string{function, x.name}]),
			cmp.Compare(x.all, y.all),
		)
	})
	return tests
}

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

// survives runs tests against a mutant, a few at first; where one fails it says which.
func (b *trials) survives(id int, tests []*leaf) (killer string, survived bool, err error) {
	for few := 1; len(tests) > 0; few *= 5 {
		n := min(few, len(tests))
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		out, err := b.test(ctx, tests[:n], "MUTANT="+strconv.Itoa(id))
		if err != nil {
			for _, m := range failed.FindAllSubmatch(out, -1) {
				killer = string(m[1]) // a subtest stands after its test
			}
			if killer == "" && ctx.Err() == nil && !bytes.Contains(out, []byte("fatal error: ")) {
				return "", false, fmt.Errorf("run the tests against mutant %d: %w\n%s", id, err, out)
			}
			return killer, false, nil
		}
		tests = tests[n:]
	}
	return "", true, nil
}

// test runs tests until one fails.
func (b *trials) test(ctx context.Context, tests []*leaf, env string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.binary, "-test.failfast", "-test.run", pattern(tests))
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", env)
	return cmd.CombinedOutput()
}

// pattern selects tests by their names, level by level.
func pattern(tests []*leaf) string {
	var levels []string
	for depth := 0; ; depth++ {
		var names []string
		for _, t := range tests {
			if depth < len(t.path) && !slices.Contains(names, regexp.QuoteMeta(t.path[depth])) {
				names = append(names, regexp.QuoteMeta(t.path[depth]))
			}
		}
		if len(names) == 0 {
			return strings.Join(levels, "/")
		}
		levels = append(levels, "^("+strings.Join(names, "|")+")$")
	}
}
