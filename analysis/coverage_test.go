package analysis

import "testing"

// An object that was not read to its end, and whose name does not say where that is,
// leaves the time after its first line blind, or all of it where none is known.
func TestObjectsWithoutAnEndAreBlind(t *testing.T) {
	for _, c := range []struct {
		name   string
		object Object
		from   float64
	}{
		{"cut short", Object{Partial: true, From: newScene(t).at(100), Lines: 5}, 100},
		{"corrupt from its start", Object{Partial: true, Error: "unpack: invalid checksum"}, 0},
		{"not read", Object{Error: "permission denied"}, 0},
	} {
		s := newScene(t)
		s.prepare()
		c.object.Source, c.object.Key = "alb", "access.log.gz"
		s.obs.Objects = append(s.obs.Objects, c.object)
		r := s.judge()
		blind := coverageOf(r, "alb").Blind
		if len(blind) != 1 || !blind[0].From.Equal(s.at(c.from)) || !blind[0].To.Equal(s.at(300)) || blind[0].Reason != blindPartial {
			t.Errorf("%s: blind %+v, want from %g s to the window's end", c.name, blind, c.from)
		}
		s.claim(r, ClaimNoUserFailureCaused, Inconclusive, ReasonSourceBlind)
	}
}
