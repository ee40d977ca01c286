package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// journey configures orders, which are created, read and acknowledged within 10 s, as
// sources tell it. The client's records were read throughout.
func (b *table) journey(sources ...string) {
	b.logs()
	b.coverage["client"] = &Coverage{Source: "client"}
	b.obs.Runs = append(b.obs.Runs, Run{Source: "client", From: b.at(-60), To: b.at(360), At: b.at(361)})
	b.obs.Service.Journeys = []Journey{{Name: "order", Steps: []string{"create", "detail", "ack"}, Within: 10 * time.Second, Sources: sources}}
	b.phase("baseline", 0, 300)
}

// tried lays down attempts at steps of one journey, as "step" or "step:outcome" each,
// a second apart.
func (b *table) tried(source, key string, at float64, steps ...string) {
	for i, each := range steps {
		step, outcome, failed := strings.Cut(each, ":")
		if !failed {
			outcome = string(OutcomeOK)
		}
		b.obs.Journeys = append(b.obs.Journeys, JourneyStep{Source: source, Journey: "order", Key: key, Step: step, At: b.at(at + float64(i)), Outcome: Outcome(outcome)})
	}
}

// ended prints how the journeys ended: completed, after retries, without an earlier
// step, never finished, undecided.
func (b *table) ended() string {
	b.countJourneys()
	c := b.report.Journeys[0].JourneyCounts
	return fmt.Sprintf("%d: %d %d %d %d %d", c.Started, c.Completed, c.AfterRetries, c.WithoutEarlier, c.NeverFinished, c.Undecided)
}

func TestEndsOfJourneys(t *testing.T) {
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"none", func(*table) {}, "0: 0 0 0 0 0"},
		{"each step at once", func(b *table) { b.tried("client", "o", 100, "create", "detail", "ack") }, "1: 1 0 0 0 0"},
		{"a step again", func(b *table) { b.tried("client", "o", 100, "create", "detail:timeout", "detail", "ack") }, "1: 0 1 0 0 0"},
		{"the last step never", func(b *table) { b.tried("client", "o", 100, "create", "detail") }, "1: 0 0 0 1 0"},
		{"a step in the middle never", func(b *table) { b.tried("client", "o", 100, "create", "ack") }, "1: 0 0 1 0 0"},
		{"a step in the middle only afterwards", func(b *table) { b.tried("client", "o", 100, "create", "detail:timeout", "ack", "detail") }, "1: 0 0 1 0 0"},
		{"begun before the window", func(b *table) { b.tried("client", "o", -1, "create", "detail", "ack") }, "0: 0 0 0 0 0"},
		{"another journey", func(b *table) {
			b.tried("client", "o", 100, "create", "detail", "ack")
			b.obs.Journeys[2].Journey = "return"
		}, "1: 0 0 0 1 0"},
		{"a step that names no identifier", func(b *table) { b.tried("client", "", 100, "create", "detail", "ack") }, "0: 0 0 0 0 0"},
		{"another source's steps", func(b *table) { b.tried("client", "o", 100, "create", "detail"); b.tried("api-1.log", "o", 102, "ack") }, "1: 0 0 0 1 0"},
		{"its time was up as the evidence ends", func(b *table) { b.obs.At = b.at(300); b.tried("client", "o", 290, "create") }, "1: 0 0 0 1 0"},
		{"its time was not up then", func(b *table) { b.obs.At = b.at(299.9); b.tried("client", "o", 290, "create") }, "1: 0 0 0 0 1"},
		{"nothing tells how far the evidence goes: as far as steps are looked at", func(b *table) { b.obs.At = time.Time{}; b.tried("client", "o", 290, "create") }, "1: 0 0 0 1 0"},
		{"steps are looked at for a minute after the window, and as long as a journey may take", func(b *table) {
			b.obs.Service.Journeys[0].Within = time.Minute
			b.tried("client", "o", 299, "create")
		}, "1: 0 0 0 1 0"},
		{"blind when it was due", func(b *table) { b.tried("client", "o", 100, "create"); b.blind("client", 109, 120) }, "1: 0 0 0 0 1"},
		{"blind once its time was up", func(b *table) { b.tried("client", "o", 100, "create"); b.blind("client", 110, 120) }, "1: 0 0 0 1 0"},
		{"blind until it began", func(b *table) { b.tried("client", "o", 100, "create"); b.blind("client", 90, 100) }, "1: 0 0 0 1 0"},
		{"begun with a later step, and blind when the first was due", func(b *table) { b.tried("client", "o", 100, "detail", "ack"); b.blind("client", 80, 90.1) }, "1: 0 0 0 0 1"},
		{"blind before the first was due", func(b *table) { b.tried("client", "o", 100, "detail", "ack"); b.blind("client", 80, 90) }, "1: 0 0 1 0 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTable()
			b.journey("client")
			c.lay(b)
			if got := b.ended(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Which step is said to lack which earlier one.
func TestWrongOrder(t *testing.T) {
	j := Journey{Name: "order", Steps: []string{"create", "detail", "ack"}}
	for _, c := range []struct {
		name  string
		steps []string // a second apart
		want  string
	}{
		{"in order", []string{"create", "detail", "ack"}, "right"},
		{"none was acknowledged", []string{"create"}, "right"},
		{"not read", []string{"create", "ack"}, "ack without detail"},
		{"neither created nor read: the nearest that lacks", []string{"ack"}, "ack without detail"},
		{"read in time, and told late that it was created", []string{"detail", "ack", "create"}, "right"},
		{"created late", []string{"create:timeout", "detail", "ack", "create"}, "ack without create, late"},
		{"created late, and never read", []string{"create:timeout", "ack", "create"}, "ack without detail"},
		{"never created, and read late: what never came says more", []string{"detail:timeout", "ack", "detail"}, "ack without create"},
		{"both late", []string{"create:timeout", "detail:timeout", "ack", "create", "detail"}, "ack without detail, late"},
	} {
		b := newTable()
		b.tried("client", "o", 100, c.steps...)
		got := "right"
		if wrong := b.wrongOrder(j, b.trips(j, witness{sources: []string{"client"}})[0]); wrong != nil {
			got = wrong.later + " without " + wrong.missing
			if wrong.late {
				got += ", late"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A failed attempt and a later step are told by clocks that may be half a second apart:
// what may have come after it had not failed by then, and what may have succeeded before
// it is not late.
func TestLateByTwoClocks(t *testing.T) {
	j := Journey{Name: "order", Steps: []string{"create", "ack"}}
	for _, c := range []struct {
		failed, ok float64 // the acknowledgement is at 100
		source     string  // of both attempts
		late       bool
	}{
		{99.4, 100.6, "client", true},
		{99.5, 100.6, "client", false},
		{99.4, 100.5, "client", false},
		{99.9, 100.1, "api-1.log", true},
		{100, 100.1, "api-1.log", false},
		{99.9, 100, "api-1.log", false},
	} {
		b := newTable()
		b.doubt = 500 * time.Millisecond
		b.tried(c.source, "o", c.failed, "create:timeout")
		b.tried("api-1.log", "o", 100, "ack")
		b.tried(c.source, "o", c.ok, "create")
		trip := b.trips(j, witness{sources: []string{"client", "api-1.log"}})[0]
		if wrong := b.wrongOrder(j, trip); (wrong != nil) != c.late {
			t.Errorf("failed at %g, succeeded at %g by %s: %+v", c.failed, c.ok, c.source, wrong)
		}
	}
}

// The client and the logs tell the same journeys. Two witnesses may be 2 s apart.
func TestReconciled(t *testing.T) {
	const both = "both 1, client [], logs []"
	const client, logs = "both 0, client [o], logs []", "both 0, client [], logs [o]"
	const neither = "both 0, client [], logs []"
	one := func(b *table) { b.tried("client", "o", 100, "create") }
	other := func(b *table) { b.tried("api-1.log", "o", 100, "create") }
	for _, c := range []struct {
		name string
		lay  func(*table)
		want string
	}{
		{"nothing", func(*table) {}, neither},
		{"told by both", func(b *table) { one(b); other(b) }, both},
		{"by both, one says that it failed", func(b *table) { one(b); b.tried("api-1.log", "o", 100, "create:timeout") }, client},
		{"before the window", func(b *table) { b.tried("client", "o", -1, "create"); b.tried("api-1.log", "o", -1, "create") }, neither},
		{"only the client", one, client},
		{"only the client, before the window", func(b *table) { b.tried("client", "o", -10, "create") }, neither},
		{"only the client, and the logs were blind from 2 s after it", func(b *table) { one(b); b.blind("api-1.log", 102, 110) }, client},
		{"only the client, and the logs were blind less than 2 s after it", func(b *table) { one(b); b.blind("api-1.log", 101.9, 110) }, neither},
		{"only the client, and the logs were blind until 2 s before it", func(b *table) { one(b); b.blind("api-1.log", 90, 98) }, client},
		{"only the client, and the logs were blind less than 2 s before it", func(b *table) { one(b); b.blind("api-1.log", 90, 98.1) }, neither},
		{"only the logs", other, logs},
		{"only the logs, after the window", func(b *table) { b.tried("api-1.log", "o", 300, "create") }, neither},
		{"only the logs, and the client was blind from 2 s after it", func(b *table) { other(b); b.blind("client", 102, 110) }, logs},
		{"only the logs, and the client was blind less than 2 s before it", func(b *table) { other(b); b.blind("client", 90, 98.1) }, neither},
		{"a process served then whose lines told no step", func(b *table) {
			one(b)
			b.life("api-2", 90, 110)
			b.tried("api-1.log", "another", 50, "ack")
			b.obs.Journeys[1].Target = "api-1"
		}, neither},
		{"it had served before", func(b *table) {
			one(b)
			b.life("api-2", 90, 95)
			b.tried("api-1.log", "another", 50, "ack")
			b.obs.Journeys[1].Target = "api-1"
		}, client},
	} {
		b := newTable()
		b.journey("client", "api-1.log", "api-2.log")
		c.lay(b)
		b.countJourneys()
		create := b.report.Journeys[0].Reconciled[0]
		if create.A != "client" || create.B != AppLogWitness || create.OnlyA != len(create.ExamplesA) || create.OnlyB != len(create.ExamplesB) {
			t.Errorf("%s: %+v", c.name, create)
		}
		if got := fmt.Sprintf("both %d, client %v, logs %v", create.Both, create.ExamplesA, create.ExamplesB); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Application logs are one witness, whatever stands between them; one log goes by its
// own name.
func TestWitnesses(t *testing.T) {
	for want, sources := range map[string][]string{
		"client": {"client"}, "client, api-1.log": {"client", "api-1.log"},
		"application logs (api-1.log api-2.log), client": {"api-1.log", "client", "api-2.log"},
	} {
		b := newTable()
		b.logs()
		var got []string
		for _, w := range b.witnesses(Journey{Sources: sources}) {
			word := w.name
			if !slices.Equal(w.sources, []string{w.name}) {
				word += fmt.Sprintf(" (%s)", strings.Join(w.sources, " "))
			}
			got = append(got, word)
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
