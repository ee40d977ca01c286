package probe

import (
	"sync"
	"time"
)

// clock gives wall times that never go back: the monotonic clock, tied to the wall
// clock once. When the wall clock is found well ahead (it was set, or the machine
// slept, which the monotonic clock does not count), the tie is made anew; when it
// was set back, the old tie stays.
type clock struct {
	mu sync.Mutex
	at time.Time // wall and monotonic reading of the tie
	// wall is the current wall clock; only tests set it.
	wall func() time.Time
}

const ahead = 50 * time.Millisecond

func newClock() *clock { return &clock{at: time.Now(), wall: time.Now} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.at.Add(time.Since(c.at))
	if wall := c.wall(); wall.Round(0).Sub(now.Round(0)) > ahead {
		c.at = wall
		return wall
	}
	return now
}
