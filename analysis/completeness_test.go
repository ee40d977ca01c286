package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// holeyBaseline has a log that lacks 150 of the 300 probes of the baseline, and the users
// of every other second of it. Of the deploy it has all.
func holeyBaseline(t *testing.T) *scene {
	s := newScene(t)
	s.stop("api-1", 110, 115, true)
	s.prepare()
	known := &s.obs.Known[0]
	known.Seqs = slices.DeleteFunc(known.Seqs, func(seq uint32) bool { return seq < 300 && seq%2 == 0 })
	s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Class == ClassUser && c.Second < s.at(60).Unix() && c.Second%2 == 0 })
	return s
}

// What a typed claim rests on has to be whole over the claim's own scope, of which the
// time before the deploy may be a part; and what is called a count of all requests of
// the window has to be one.
func TestSourcesAreWholeOverAClaimsOwnScope(t *testing.T) {
	s := holeyBaseline(t)
	claim := func(id string, from, to float64) {
		s.obs.Claims = append(s.obs.Claims, TypedClaim{ID: id, Service: "orders-api", About: ClassUser, From: s.at(from), To: s.at(to), RegisteredAt: s.at(900)})
	}
	claim("days", -86_400, 5*86_400)
	claim("before", 0, 60)
	claim("since", 60, 300)
	r := s.judge()
	s.claim(r, "days", Inconclusive, ReasonIncomplete)
	s.claim(r, "before", Inconclusive, ReasonIncomplete)
	s.claim(r, "since", Supported, ReasonNoFailure)
	s.claim(r, ClaimNoUserFailure, Supported, ReasonNoFailure)
	if slices.ContainsFunc(r.Verdict.Conditions, func(c Condition) bool { return c.Code == "census" }) {
		t.Errorf("a count of all requests, of which the log lacks some: %+v", r.Verdict.Conditions)
	}
}

// twoBalancers has a second load balancer with a log of its own, whole and without any
// request of ours.
func twoBalancers(t *testing.T) *shape {
	s := &shape{scene: *newScene(t)}
	s.stop("api-1", 110, 115, true)
	s.stop("api-2", 180, 185, true)
	s.prepare()
	s.obs.Service.LoadBalancers = append(s.obs.Service.LoadBalancers, LoadBalancer{Name: "internal", AccessLogs: []AccessLog{{Name: "alb2", Kind: "alb", Counts: true}}})
	s.log("alb2")
	for _, target := range []string{"web-1", "web-2"} {
		s.serve("alb2", "web", target, 5, 0, 300, false)
	}
	return s
}

// asked sums what of our requests was known and found per log, over the whole window.
func asked(r Report) string {
	sums, sources := map[string][2]int{}, []string{}
	for _, row := range r.Completeness {
		if _, ok := sums[row.Source]; !ok {
			sources = append(sources, row.Source)
		}
		sums[row.Source] = [2]int{sums[row.Source][0] + row.Found, sums[row.Source][1] + row.Known}
	}
	words := []string{}
	for _, source := range sources {
		words = append(words, fmt.Sprintf("%s %d of %d", source, sums[source][0], sums[source][1]))
	}
	return strings.Join(words, ", ")
}

// In 300 s, 1,500 probes and 300 health samples are sent.
func TestWhatPassesOneBalancerIsNotMissedAtAnother(t *testing.T) {
	move := func(s *shape, moved func(seq uint32) bool) { // what passes the other one instead, as its log says
		known := &s.obs.Known[0]
		other := KnownRequests{Source: "alb2", Node: "10.0.0.8", Run: "run"}
		for _, seq := range known.Seqs {
			if moved(seq) {
				other.Seqs = append(other.Seqs, seq)
			}
		}
		known.Seqs = slices.DeleteFunc(known.Seqs, moved)
		s.obs.Known = append(s.obs.Known, other)
	}
	lose := func(s *shape, source string, lost func(seq uint32) bool) {
		for i := range s.obs.Known {
			if k := &s.obs.Known[i]; k.Source == source {
				k.Seqs = slices.DeleteFunc(k.Seqs, lost)
			}
		}
	}
	health := func(seq uint32) bool { return seq >= 100_000 }
	odd := func(seq uint32) bool { return seq%2 == 1 }
	during := func(seq uint32) bool { return seq == 600 } // a probe, sent at 120 s
	for _, c := range []struct {
		name   string
		bend   func(s *shape)
		want   string
		state  VerdictState
		reason string
	}{
		{"all pass the one", func(*shape) {}, "alb 1800 of 1800, alb2 0 of 0", Supported, ReasonNoFailure},
		{"and one of them is missing there", func(s *shape) { lose(s, "alb", during) }, "alb 1799 of 1800, alb2 0 of 0", Inconclusive, ReasonIncomplete},
		{"or the very last one", func(s *shape) { move(s, health); lose(s, "alb", func(seq uint32) bool { return seq == 1499 }) }, "alb 1499 of 1500, alb2 300 of 300", Inconclusive, ReasonIncomplete},
		{"the health samples pass the other", func(s *shape) { move(s, health) }, "alb 1500 of 1500, alb2 300 of 300", Supported, ReasonNoFailure},
		{"and a probe is missing", func(s *shape) { move(s, health); lose(s, "alb", during) }, "alb 1499 of 1500, alb2 300 of 300", Inconclusive, ReasonIncomplete},
		{"every other request passes the other", func(s *shape) { move(s, odd) }, "alb 900 of 900, alb2 900 of 900", Supported, ReasonNoFailure},
		{"and one is missing, which may have passed either", func(s *shape) { move(s, odd); lose(s, "alb", during) }, "alb 899 of 900, alb2 900 of 901", Inconclusive, ReasonIncomplete},
		{"one behind the other, and the second lacks one", func(s *shape) {
			second := s.obs.Known[0]
			second.Source, second.Seqs = "alb2", slices.Clone(second.Seqs)
			s.obs.Known = append(s.obs.Known, second)
			lose(s, "alb2", during)
		}, "alb 1800 of 1800, alb2 1799 of 1800", Inconclusive, ReasonIncomplete},
		{"what a log has that does not count tells nothing of where it passed", func(s *shape) {
			s.obs.Service.LoadBalancers[1].AccessLogs = append(s.obs.Service.LoadBalancers[1].AccessLogs, AccessLog{Name: "edge", Kind: "nginx"})
			s.obs.Known = append(s.obs.Known, KnownRequests{Source: "edge", Run: "run", Seqs: []uint32{600}})
			lose(s, "alb", during)
		}, "alb 1799 of 1800, alb2 0 of 0", Inconclusive, ReasonIncomplete},
		{"found in neither", func(s *shape) {
			lose(s, "alb", func(uint32) bool { return true })
			s.obs.Known = append(s.obs.Known, KnownRequests{Source: "alb2", Node: "10.0.0.8", Run: "run"})
		}, "alb 0 of 1800, alb2 0 of 1800", Inconclusive, ReasonIncomplete},
		{"logs without ids, and probes in the one alone: counted less the window's first and last second", func(s *shape) { s.obs.Known = nil },
			"alb 1490 of 1490, alb2 0 of 0", Supported, ReasonNoFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoBalancers(t)
			c.bend(s)
			r := Judge(s.obs)
			if got := asked(r); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			s.claim(r, ClaimNoUserFailure, c.state, c.reason)
		})
	}
}

// Where a log has no ids, rows are counted by the second. That phases begin in the middle
// of one, and that its clock is up to a second ahead, makes none of them missing.
func TestCountsByTheSecondAtTheEdgesOfPhases(t *testing.T) {
	for _, c := range []struct {
		name  string
		bend  func(s *scene)
		state VerdictState
	}{
		{"whole", func(*scene) {}, Supported},
		{"its clock is a second ahead", func(s *scene) {
			for i := range s.obs.Cells {
				if c := &s.obs.Cells[i]; c.Class == ClassProbe {
					c.Second++
				}
			}
			s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Class == ClassProbe && c.Second >= s.at(300).Unix() })
		}, Supported},
		{"one second is missing", func(s *scene) {
			s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Second == s.at(120).Unix() })
		}, Inconclusive},
		{"one is missing, and its clock is a second behind", func(s *scene) {
			for i := range s.obs.Cells {
				s.obs.Cells[i].Second--
			}
			s.obs.Cells = slices.DeleteFunc(s.obs.Cells, func(c Cell) bool { return c.Second == s.at(120).Unix() })
		}, Inconclusive},
	} {
		s := newScene(t)
		s.obs.Deploy.StartedAt = s.at(60.5)
		s.obs.Steps[0].At = s.at(60.5)
		s.stop("api-1", 110.5, 115.5, true)
		s.stop("api-2", 180.5, 185.5, true)
		s.prepare()
		s.obs.Known = nil
		c.bend(s)
		r := s.judge()
		i := slices.IndexFunc(r.Claims, func(c Claim) bool { return c.ID == ClaimNoUserFailure })
		if got := r.Claims[i]; got.State != c.state {
			t.Errorf("%s: %s for %s (%s)", c.name, got.State, got.Reason, asked(r))
		}
	}
}

// Ten probes are sent in one second, of which a log without ids has these rows. Its clock
// may be a second off, either way; what is sent in the window's first or last second is
// not asked for.
func TestRowsWithoutIDs(t *testing.T) {
	probe := func(b *table, source string, at float64) { b.cell(source, "api-1", at, at, 1).Class = ClassProbe }
	ask := func(b *table, at float64) { b.ask(ClassProbe, OutcomeOK, 200, at, at) }
	for _, c := range []struct {
		name     string
		lay      func(*table)
		from, to float64
		want     string
	}{
		{"none", func(*table) {}, 60, 240, "0/10"},
		{"two seconds before", func(b *table) { probe(b, "alb", 98) }, 60, 240, "0/10"},
		{"the second before", func(b *table) { probe(b, "alb", 99) }, 60, 240, "1/10"},
		{"the same", func(b *table) { probe(b, "alb", 100) }, 60, 240, "1/10"},
		{"the second after", func(b *table) { probe(b, "alb", 101) }, 60, 240, "1/10"},
		{"two seconds after", func(b *table) { probe(b, "alb", 102) }, 60, 240, "0/10"},
		{"before and after: no clock is off both ways", func(b *table) { probe(b, "alb", 99); probe(b, "alb", 101) }, 60, 240, "1/10"},
		{"a user's", func(b *table) { b.cell("alb", "api-1", 100, 100, 1) }, 60, 240, "0/10"},
		{"another log's alone", func(b *table) { b.counting["edge"] = true; probe(b, "edge", 100) }, 60, 240, "0/0"},
		{"another's, and at another time one here", func(b *table) { b.counting["edge"] = true; probe(b, "edge", 100); probe(b, "alb", 10) }, 60, 240, "0/10"},
		{"one of a log that does not count", func(b *table) { probe(b, "edge", 100) }, 60, 240, "0/10"},
		{"more than were sent", func(b *table) { b.cell("alb", "api-1", 100, 100, 11).Class = ClassProbe }, 60, 240, "10/10"},
		{"as late as may be, by a clock as far ahead as may be", func(b *table) { ask(b, 150.76); probe(b, "alb", 152) }, 60, 240, "1/11"},
		{"later than that", func(b *table) { ask(b, 150.74); probe(b, "alb", 152) }, 60, 240, "0/11"},
		{"late: reached in the next second", func(b *table) { ask(b, 150.8); probe(b, "alb", 151); probe(b, "alb", 100) }, 60, 240, "2/11"},
		{"sent in the window's first second", func(b *table) { ask(b, .9); ask(b, 1) }, 0, 300, "0/11"},
		{"sent in its last", func(b *table) { ask(b, 298.9); ask(b, 299) }, 0, 300, "0/11"},
		{"sent around the span", func(b *table) { ask(b, 59.9); ask(b, 60); ask(b, 239.9); ask(b, 240) }, 60, 240, "0/12"},
		{"not answered", func(b *table) { b.ask(ClassProbe, OutcomeTimeout, 0, 100, 105) }, 60, 240, "0/10"},
	} {
		b := newTable()
		b.prober[ClassProbe] = true
		for range 10 {
			ask(b, 100.5)
		}
		c.lay(b)
		known, found := b.knownFound("alb", b.at(c.from), b.at(c.to))
		if got := fmt.Sprintf("%d/%d", found, known); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
