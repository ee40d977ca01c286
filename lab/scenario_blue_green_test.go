package lab

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

// The fourth report: no request fails, and the job runs on both sides of the overlap,
// so that invoices are sent twice; with the lock one side runs and the other skips;
// in the deploy that brings the lock it prevents nothing.
func TestOverlapRunsTheJobTwiceUnlessBothTakeTheLock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		guards []string
		twice  bool // runs, and with them invoices
		skips  bool
	}{
		{name: "without a lock", twice: true},
		{name: "lock in the new version alone", guards: []string{GuardLockNew}, twice: true},
		{name: "lock in both", guards: []string{GuardLock}, skips: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, told := runBent(t, BlueGreen, test.guards, func(s *scenario) { s.scale(500 * time.Millisecond) }, nil)
			want := []string{
				"deploy.started", "build.finished", "target.registered green", "traffic.switched",
				"target.deregistered blue", "deploy.reported succeeded",
			}
			if !slices.Equal(told.steps, want) {
				t.Errorf("announced %q, want %q", told.steps, want)
			}
			truth := l.Truth()
			if requests, failures := truth.Counts(told.span()); requests < 50 || failures != 0 {
				t.Errorf("%d user requests, %d failed; want many and none", requests, failures)
			}
			if truth.Invoices.Sent == 0 || (truth.Invoices.Twice > 0) != test.twice {
				t.Errorf("invoices %+v; sent twice, some: want %v", truth.Invoices, test.twice)
			}
			began, skipped := map[string]int{}, 0
			for node, path := range l.Settings().NodeLogs {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range jobLine.FindAllStringSubmatch(string(text), -1) {
					switch line[2] {
					case "began":
						began[line[1]]++
					case "skipped":
						skipped++
					case "failed":
						t.Errorf("%s: %s", node, line[0])
					}
				}
			}
			ran := 0
			for run, times := range began {
				if times > 1 {
					ran++
				}
				if times > 2 {
					t.Errorf("run %s began %d times with two instances", run, times)
				}
			}
			if (ran > 0) != test.twice || (skipped > 0) != test.skips {
				t.Errorf("%d of %d runs began twice, %d skipped; want twice: %v, skipped: %v", ran, len(began), skipped, test.twice, test.skips)
			}
			wantLines(t, l.Settings().NodeLogs["blue"], []string{
				`Starting App v1\.42\.0 `, `Started App in `, `blue systemd\[1\]: Stopping app\.service`, `Commencing graceful shutdown`,
				`Graceful shutdown complete`, `app\.service: Deactivated successfully`,
			})
			wantLines(t, l.Settings().NodeLogs["green"], []string{`Starting App v1\.43\.0 `, `Started App in `, `rid=\S+ status=200 `})
			wantLogEqualsTruth(t, l)
		})
	}
}

var jobLine = regexp.MustCompile(`: job=` + invoiceAgent + ` run=(\d+) (began|ended|skipped|failed)`)

// The rules that the lab suggests read the lines that its nodes write.
func TestJobRulesReadTheSchedulersLines(t *testing.T) {
	box, err := openMailbox(filepath.Join(t.TempDir(), "shared.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	var said []string
	tick := func(who string) {
		(&schedule{db: box.db, who: who, lock: true, say: func(m string) { said = append(said, m) }}).tick(7)
	}
	tick("blue")
	tick("green") // within lockAtLeast
	events := map[analysis.Event]int{}
	for _, rule := range jobRules {
		re := regexp.MustCompile(rule.Match)
		for _, line := range said {
			if m := re.FindStringSubmatch(line); m != nil && m[re.SubexpIndex("name")] == invoiceAgent && m[re.SubexpIndex("key")] == "7" {
				events[rule.Event]++
			}
		}
	}
	if len(said) != 3 || events[analysis.EventJobBegan] != 1 || events[analysis.EventJobEnded] != 1 || events[analysis.EventJobSkipped] != 1 {
		t.Errorf("said %q, read as %v; want one run, and one skipped", said, events)
	}
}

// That report's own test of its lock: of twenty at the same time exactly one runs.
func TestOneOfManyGetsTheLock(t *testing.T) {
	box, err := openMailbox(filepath.Join(t.TempDir(), "shared.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	now := time.Now()
	var got atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		db, err := openShared(box.path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		all.Go(func() {
			ok, err := (&schedule{db: db, who: string(rune('a' + i)), lock: true}).acquire(now)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d got the lock", got.Load())
	}
	holder := ""
	if err := box.db.QueryRow(`SELECT locked_by FROM scheduler_lock`).Scan(&holder); err != nil {
		t.Fatal(err)
	}
	other, mine := &schedule{db: box.db, who: "other"}, &schedule{db: box.db, who: holder}
	acquire := func(s *schedule, after time.Duration) bool {
		ok, err := s.acquire(now.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if err := other.release(now.Add(lockAtLeast)); err != nil || acquire(other, lockAtLeast) {
		t.Errorf("somebody else released the lock (%v)", err)
	}
	if err := mine.release(now.Add(time.Millisecond)); err != nil || acquire(other, lockAtLeast-time.Microsecond) {
		t.Errorf("it was free sooner than it may be (%v)", err)
	}
	if !acquire(other, lockAtLeast) {
		t.Error("its holder released it, and it is not free")
	}
	if !acquire(mine, lockAtLeast+lockAtMost) {
		t.Error("its lease is over, and it is not free")
	}
}
