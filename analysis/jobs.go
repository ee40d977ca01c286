package analysis

import (
	"slices"
	"strings"
	"time"
)

// jobRuns are the runs of one scheduled job, in the order in which they began.
type jobRuns struct {
	name     string
	every    time.Duration // zero: not known
	declared bool          // configured, not only seen
	runs     []*Signal     // less those that were kept from running
	skips    []*Signal
	// By target, and for beginnings by rule too: what its lines tell, in order of time.
	began          map[teller][]*Signal
	ended, skipped map[string][]*Signal
	last           map[string]*Signal // of the runs
}

// teller is a rule that told of a target.
type teller struct{ target, rule string }

// jobSlack is how much later than its period a run may be, for a schedule that counts
// from the end of the run before, and for a machine that is busy.
func jobSlack(every time.Duration) time.Duration { return every/10 + 2*time.Second }

// regular is how many runs of a job before the deploy make its period known.
const regular = 3

// jobs are the configured jobs, and those that were seen to run regularly before the
// deploy began.
func (b *bench) jobs() []*jobRuns {
	byName := map[string]*jobRuns{}
	var list []*jobRuns
	add := func(name string) *jobRuns {
		j := byName[name]
		if j == nil {
			j = &jobRuns{name: name, began: map[teller][]*Signal{}, ended: map[string][]*Signal{}, skipped: map[string][]*Signal{}, last: map[string]*Signal{}}
			byName[name] = j
			list = append(list, j)
		}
		return j
	}
	for _, job := range b.obs.Service.Jobs {
		j := add(job.Name)
		j.every, j.declared = job.Every, true
	}
	declared := len(list)
	for _, s := range b.signals[EventJobBegan] {
		if s.Name != "" {
			j, by := add(s.Name), teller{s.Target, s.Rule}
			j.began[by] = append(j.began[by], s)
			if !j.told(s) {
				j.runs = append(j.runs, s)
				j.last[s.Target] = s
			}
		}
	}
	for _, s := range b.signals[EventJobEnded] {
		if j := byName[s.Name]; j != nil {
			j.ended[s.Target] = append(j.ended[s.Target], s)
		}
	}
	for _, s := range b.signals[EventJobSkipped] {
		if j := byName[s.Name]; j != nil {
			j.skips = append(j.skips, s)
			j.skipped[s.Target] = append(j.skipped[s.Target], s)
		}
	}
	for _, j := range list {
		j.runs = slices.DeleteFunc(j.runs, j.kept)
	}
	for _, j := range list {
		if j.every == 0 {
			j.every = j.usualPeriod(b.started)
		}
	}
	slices.SortStableFunc(list[declared:], func(x, y *jobRuns) int { return strings.Compare(x.name, y.name) })
	return list
}

// told reports whether another rule told of the same run within the last second, as
// the lock of a job does beside the job itself. Such a one is the target's last run:
// runs that two rules tell of are never that close to each other.
func (j *jobRuns) told(s *Signal) bool {
	last := j.last[s.Target]
	return last != nil && last.Rule != s.Rule && s.At.Sub(last.At) < time.Second
}

// soon is how long after a run another one is none of the next period.
func (j *jobRuns) soon() time.Duration { return j.every - j.every/10 }

// kept reports whether a run was kept from running: its target says that it skipped
// the job before it began it again or ended it, of the same run where both name one,
// and sooner than it would try the next time.
func (j *jobRuns) kept(run *Signal) bool {
	until := endOfTime
	if j.every > 0 {
		until = run.At.Add(j.soon())
	}
	for _, over := range [][]*Signal{j.began[teller{run.Target, run.Rule}], j.ended[run.Target]} {
		if later := inside(over, toldAt, run.At.Add(time.Nanosecond), until); len(later) > 0 {
			until = later[0].At
		}
	}
	return slices.ContainsFunc(inside(j.skipped[run.Target], toldAt, run.At, until), func(s *Signal) bool {
		return s.Key == run.Key || s.Key == "" || run.Key == ""
	})
}

func toldAt(s *Signal) time.Time { return s.At }

// usualPeriod is the median time between runs that began before a moment; zero where
// there are too few.
func (j *jobRuns) usualPeriod(before time.Time) time.Duration {
	var at []time.Time
	for _, r := range j.runs {
		if r.At.Before(before) {
			at = append(at, r.At)
		}
	}
	if len(at) < regular {
		return 0
	}
	return medianGap(at)
}

// idle are the stretches in which the scheduler of each target was not at work: from
// the first that is known of a stop on, since a scheduler is the first thing that an
// orderly shutdown ends, until the next process began. Those of one target are in order
// and disjoint.
func (b *bench) idle() map[string][]span {
	idle := map[string][]span{}
	for i := range b.stoppings {
		s := &b.stoppings[i]
		next := s.next
		if next.IsZero() {
			next = endOfTime
		}
		idle[s.target] = append(idle[s.target], span{s.from(), next})
	}
	return idle
}

// runPair are two runs of a job on two targets.
type runPair struct{ first, second *Signal }

func (p runPair) apart() time.Duration { return p.second.At.Sub(p.first.At) }

// pairs joins each run of a job with the next one within its period that another
// target began in the window while the first one's was up.
func (b *bench) pairs(j *jobRuns) []runPair {
	idle := b.idle()
	runs := slices.DeleteFunc(slices.Clone(j.runs), func(r *Signal) bool { return r.Target == "" })
	var pairs []runPair
	next := map[string]int{} // by target: the first run that can be the second of its next pair
	for i, run := range runs {
		n := max(next[run.Target], i+1)
		for n < len(runs) && runs[n].At.Sub(run.At) < j.soon() {
			if second := runs[n]; second.Target != run.Target && b.inWindow(second.At) && !covers(idle[run.Target], second.At) {
				pairs = append(pairs, runPair{run, second})
				break
			}
			n++
		}
		next[run.Target] = n
	}
	return pairs
}
