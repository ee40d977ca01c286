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

// A probe record that was not understood is a blind spot however near its neighbours
// are, since a failure may stand there; a later reading makes up for it.
func TestRefusedProbeRecordsAreBlind(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to float64
		again    bool // read again, and understood
		blind    bool
	}{
		{"between its neighbours", 100, 100.2, false, true},
		{"at a moment", 100, 100, false, true},
		{"mended", 100, 100.2, true, false},
		{"outside of the window", 1000, 1001, false, false},
	} {
		s := newScene(t)
		s.prepare()
		for i := range s.obs.Probes { // as of a file of records with a name of its own
			if s.obs.Probes[i].Probe == "store" {
				s.obs.Probes[i].Source = "store-file"
			}
		}
		s.obs.Runs = append(s.obs.Runs,
			Run{Source: "store-file", From: s.at(0), To: s.at(300), At: s.at(400)},
			Run{Source: "store-file", From: s.at(c.from), To: s.at(c.to), At: s.at(401), Code: "bad_reply", Error: "line 7: done is before sent"})
		if c.again {
			s.obs.Runs = append(s.obs.Runs, Run{Source: "store-file", From: s.at(0), To: s.at(300), At: s.at(500)})
		}
		r := s.judge()
		if blind := coverageOf(r, "store").Blind; (len(blind) > 0) != c.blind {
			t.Errorf("%s: blind %+v", c.name, blind)
		}
		if c.blind {
			s.claim(r, ClaimNoProbeFailure, Inconclusive, ReasonSourceBlind)
		} else {
			s.claim(r, ClaimNoProbeFailure, Supported, ReasonNoFailure)
		}
	}
}
