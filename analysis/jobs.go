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
}

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
			j = &jobRuns{name: name}
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
			j := add(s.Name)
			if !j.told(s) {
				j.runs = append(j.runs, s)
			}
		}
	}
	for _, s := range b.signals[EventJobSkipped] {
		if j := byName[s.Name]; j != nil {
			j.skips = append(j.skips, s)
		}
	}
	for _, j := range list {
		j.runs = slices.DeleteFunc(j.runs, func(run *Signal) bool { return b.kept(j, run) })
	}
	for _, j := range list {
		if j.every == 0 {
			j.every = j.usualPeriod(b.started)
		}
	}
	slices.SortStableFunc(list[declared:], func(x, y *jobRuns) int { return strings.Compare(x.name, y.name) })
	return list
}

// told reports whether another rule told of the same run, as the lock of a job does
// beside the job itself.
func (j *jobRuns) told(s *Signal) bool {
	return slices.ContainsFunc(j.runs, func(r *Signal) bool {
		return r.Target == s.Target && r.Rule != s.Rule && s.At.Sub(r.At) < time.Second
	})
}

// kept reports whether a run was kept from running: its target says that it skipped
// the job before it began it again or ended it, of the same run where both name one,
// and sooner than it would try the next time.
func (b *bench) kept(j *jobRuns, run *Signal) bool {
	until := endOfTime
	if j.every > 0 {
		until = run.At.Add(j.every - j.every/10)
	}
	for _, event := range []Event{EventJobBegan, EventJobEnded} {
		for _, s := range b.signals[event] {
			if s.Name == run.Name && s.Target == run.Target && s.At.After(run.At) && (event == EventJobEnded || s.Rule == run.Rule) {
				until = earliest(until, s.At)
			}
		}
	}
	return slices.ContainsFunc(j.skips, func(s *Signal) bool {
		return s.Target == run.Target && !s.At.Before(run.At) && s.At.Before(until) && (s.Key == run.Key || s.Key == "" || run.Key == "")
	})
}

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

// scheduling reports whether a target's process was up at a moment and had not been
// told to stop: a scheduler is the first thing that an orderly shutdown ends.
func (b *bench) scheduling(target string, at time.Time) bool {
	for i := range b.stoppings {
		s := &b.stoppings[i]
		if s.target == target && !at.Before(s.from()) && (s.next.IsZero() || at.Before(s.next)) {
			return false
		}
	}
	return true
}
