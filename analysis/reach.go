package analysis

import "time"

// Bounds of how far around a window signals of jobs are looked at.
const (
	jobReachLeast = 30 * time.Minute
	jobReachMost  = 26 * time.Hour // a day, and an hour for the clock change, and one to spare
)

// JobReach is how far before a window signals of scheduled jobs are looked at: three
// times the longest period, so that a job is known to have run twice before it. A job
// that nobody declared is seen to be regular only where its period is a third of half
// an hour or less.
func (s *Service) JobReach() time.Duration {
	reach := jobReachLeast
	for _, job := range s.Jobs {
		reach = max(reach, min(job.Every, jobReachMost/3)*3)
	}
	return min(reach, jobReachMost)
}

// JourneyReach is how far around a window steps of journeys are looked at: as long
// as the slowest journey may take, and no less than [EdgeReach].
func (s *Service) JourneyReach() time.Duration {
	reach := EdgeReach
	for _, j := range s.Journeys {
		reach = max(reach, j.Within)
	}
	return reach
}

// OfJob reports whether the event is one of a scheduled job.
func (e Event) OfJob() bool {
	return e == EventJobBegan || e == EventJobEnded || e == EventJobSkipped
}
