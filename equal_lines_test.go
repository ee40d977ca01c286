package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
	"gapless/collectors/applog"
	"gapless/collectors/applog/logrules"
	"gapless/store"
)

// A log whose times are whole seconds has many lines that agree in everything. However
// often its reader is killed, before a batch is stored or right after, the database
// holds what it holds after one uninterrupted reading.
func TestEqualLinesOfAKilledReader(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("2026-10-14T06:25:%02dZ call to pay sent", i/30), fmt.Sprintf("2026-10-14T06:25:%02dZ journey=order key=1 step=create outcome=ok", i/30))
	}
	text := strings.Join(lines, "\n") + "\n"
	var cuts []int
	for range 40 {
		cuts = append(cuts, random.IntN(len(text)))
	}
	slices.Sort(cuts)
	want := readKilled(t, text, []int{len(text)}, nil)
	if want != [2]int{300, 300} {
		t.Fatalf("read at once: %v signals and steps", want)
	}
	for round := range 5 {
		if got := readKilled(t, text, append(slices.Clone(cuts), len(text)), random); got != want {
			t.Errorf("seed %d, round %d: %v signals and steps, want %v", seed, round, got, want)
		}
	}
}

// readKilled reads a log that grows to one length after another, and says how many
// signals and journey steps are stored then. With random set its store dies now and then.
func readKilled(t *testing.T, text string, lengths []int, random *rand.Rand) [2]int {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	db, err := store.Open(ctx, filepath.Join(dir, "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PutService(ctx, analysis.Service{Name: "orders-api"}); err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 10, 14, 6, 25, 0, 0, time.UTC)
	path := filepath.Join(dir, "app.log")
	cfg := applog.Config{Service: "orders-api", Source: "app", URL: path, Lines: logrules.Config{Target: "api-1", Own: []logrules.Own{
		{Name: "sent", Match: `call to (?P<name>\S+) sent`, Event: string(analysis.EventCallSent)},
		{Name: "step", Match: `journey=(?P<journey>\S+) key=(?P<key>\S+) step=(?P<step>\S+) outcome=(?P<outcome>\S+)`, Event: string(analysis.EventJourneyStep)},
	}}}
	for _, length := range lengths {
		if err := os.WriteFile(path, []byte(text[:length]), 0o600); err != nil {
			t.Fatal(err)
		}
		for killed := true; killed; { // each time a new reader, as after a start
			sink := &dyingSink{DB: db, random: random}
			r, err := applog.New(cfg, sink)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Collect(ctx, from, from.Add(time.Minute))
			if killed = errors.Is(err, errDied); err != nil && !killed {
				t.Fatal(err)
			}
		}
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", from, from.Add(time.Minute), "")
	if err != nil {
		t.Fatal(err)
	}
	return [2]int{len(o.Signals), len(o.Journeys)}
}

var errDied = errors.New("killed")

// dyingSink is a store that dies before it stores a batch, or after that.
type dyingSink struct {
	*store.DB
	random *rand.Rand
}

func (s *dyingSink) AddAppBatch(ctx context.Context, service string, b analysis.AppBatch) error {
	dies := 2 // not at all
	if s.random != nil {
		dies = s.random.IntN(3)
	}
	if dies == 0 {
		return errDied
	}
	if err := s.DB.AddAppBatch(ctx, service, b); err != nil {
		return err
	}
	if dies == 1 {
		return errDied
	}
	return nil
}
