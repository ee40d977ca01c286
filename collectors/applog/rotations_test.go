package applog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gapless/collectors/applog/logrules"
)

// A file that is renamed and begun anew a thousand times while it is written, some
// lines in two halves and some to the old file after its renaming, is read without a
// line lost or repeated, by readers that are replaced and stores that refuse now and
// then.
func TestThousandRotations(t *testing.T) {
	const rotations, kept = 1000, 40
	path := filepath.Join(t.TempDir(), "app.log")
	written, looked := make(chan int), make(chan struct{}, 1)
	go func() {
		defer close(written)
		random := rand.New(rand.NewPCG(7, 8))
		seq := 0
		add := func(f *os.File) {
			seq++
			text := line(seq) + "\n"
			half := random.IntN(len(text))
			for _, part := range []string{text[:half], text[half:]} {
				if _, err := f.WriteString(part); err != nil {
					t.Error(err)
				}
			}
			if random.IntN(4) == 0 {
				time.Sleep(50 * time.Microsecond)
			}
		}
		for n := range rotations {
			f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				t.Error(err)
				return
			}
			for range 1 + random.IntN(10) {
				add(f)
			}
			if err := os.Rename(path, fmt.Sprintf("%s.%d", path, n)); err != nil {
				t.Error(err)
			}
			if random.IntN(2) == 0 {
				add(f) // the application has not noticed yet
			}
			_ = f.Close()
			if n%(kept/4) == 0 && n >= kept { // old ones go once they can have been read
				<-looked
				<-looked
				for old := n - kept; old < n-kept/2; old++ {
					_ = os.Remove(fmt.Sprintf("%s.%d", path, old))
				}
			}
		}
		written <- seq
	}()
	random := rand.New(rand.NewPCG(9, 10))
	sink := &sink{}
	cfg := Config{URL: path + "*", Lines: logrules.Config{LogMatch: answered}}
	r := open(t, cfg, sink)
	total, looks := 0, 0
	for total == 0 {
		select {
		case total = <-written:
		default:
		}
		if random.IntN(10) == 0 {
			r = open(t, cfg, sink)
		}
		if random.IntN(10) == 0 {
			sink.fail = 1
		}
		r.look(t.Context(), false)
		if sink.fail = 0; looks%2 == 0 {
			r.look(t.Context(), false) // one that nothing keeps from storing
		}
		looks++
		select {
		case looked <- struct{}{}:
		default:
		}
	}
	open(t, cfg, sink).look(t.Context(), true)
	seen := map[int]int{}
	for _, seq := range sink.seqs() {
		seen[seq]++
	}
	lost, repeated := 0, 0
	for seq := 1; seq <= total; seq++ {
		switch {
		case seen[seq] == 0:
			lost++
		case seen[seq] > 1:
			repeated++
		}
	}
	if lost+repeated > 0 || len(seen) != total {
		t.Errorf("of %d lines %d are lost and %d repeated; %d were seen in %d looks", total, lost, repeated, len(seen), looks)
	}
	if n := sink.totals()[logrules.RuleAnswered]; n != [2]int{total, total} {
		t.Errorf("%v lines counted, want %d", n, total)
	}
	t.Logf("%d lines, %d looks", total, looks)
}
