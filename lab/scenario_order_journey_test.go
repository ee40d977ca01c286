package lab

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// The table of the first report's third round, in its shape: before the kills every
// order completes; after each, some complete after retries, some are acknowledged
// though their detail was never read, and some were never created.
func TestOrderJourneyHasTheReportsTable(t *testing.T) {
	t.Parallel()
	l, told := runBent(t, OrderJourney, nil, func(s *scenario) {
		s.scale(4 * time.Second)
		s.window.Baseline = time.Second
	}, nil)
	truth := l.Truth()
	before := truth.OrderTable(time.Time{}, told.deploy.StartedAt)
	if before.Orders < 10 || before.Completed != before.Orders {
		t.Errorf("before the kills %+v; want every order completed at once", before)
	}
	after := truth.OrderTable(told.deploy.StartedAt, time.Now())
	if after.AfterRetries == 0 || after.AckWithoutDetail == 0 || after.NeverCreated == 0 {
		t.Errorf("after the kills %+v; want orders in every column", after)
	}
	if after.Completed < after.AfterRetries+after.AckWithoutDetail+after.NeverCreated {
		t.Errorf("after the kills %+v; want most orders completed", after)
	}
	t.Logf("before %+v, after %+v", before, after)

	// What the app wrote down is what it did, and the orders in the database are
	// those whose creation it saw, as the report found: no difference on either side, but
	// for what the kill at work may have cut after it was written.
	attempts, badBody := map[string]map[string]int{}, 0
	file, err := os.Open(l.Settings().Journeys[0].Records[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var record struct {
			Journey, Key, Step string
			At                 analysis.Time
			Outcome            analysis.Outcome
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil || record.Journey != journeyOrder || record.At.IsZero() {
			t.Fatalf("record %s: %v", lines.Bytes(), err)
		}
		if attempts[record.Key] == nil {
			attempts[record.Key] = map[string]int{}
		}
		attempts[record.Key][record.Step]++
		if record.Outcome == analysis.OutcomeBadBody {
			badBody++
		}
	}
	created := map[string]bool{}
	for _, o := range truth.Orders {
		got := attempts[o.Key]
		if got[stepCreate] != 1 || got[stepDetail] != o.DetailAttempts || got[stepAck] != o.AckAttempts {
			t.Errorf("records %v of %+v", got, o)
		}
		if o.Created {
			created[o.Key] = true
		}
	}
	keys, acknowledged := l.backend.orders.keys()
	cut := map[string]bool{} // sent to the node that was killed at work, and not answered
	for _, r := range truth.Requests {
		if key, put := strings.CutPrefix(r.Path, "/v1/orders/"); put && r.Method == http.MethodPut && r.Target == l.nodes[1].name && r.TargetStatus == 0 {
			cut[key] = true
		}
	}
	for _, key := range keys {
		if !created[key] && !cut[key] {
			t.Errorf("order %s is in the database, and the app did not create it", key)
		}
		delete(created, key)
	}
	if len(created) != 0 {
		t.Errorf("the app created %v, which the database does not have", created)
	}
	if all := truth.OrderTable(time.Time{}, time.Now()); acknowledged != all.Completed+all.AfterRetries+all.AckWithoutDetail {
		t.Errorf("%d orders acknowledged in the database, by the app %+v", acknowledged, all)
	}
	if badBody == 0 {
		t.Error("no acknowledgement was refused in a body with status 200, though nodes were warming up")
	}
	// The idle kill cut nothing, the other one cut the work that it waited for.
	if cut := halved(t, l.nodes[0].logPath); len(cut) != 0 {
		t.Errorf("%s was killed idle, and %v has no end", l.nodes[0].name, cut)
	}
	torn := halved(t, l.nodes[1].logPath)
	if !slices.ContainsFunc(torn, func(key string) bool { return strings.HasPrefix(key, "big-") }) {
		t.Errorf("%s was killed at work on %v; want the big order among them", l.nodes[1].name, torn)
	}
	wantLogEqualsTruth(t, l)
}

// halved lists the work in a node's log that was begun and has no end.
func halved(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{}
	for _, m := range workLine.FindAllStringSubmatch(string(text), -1) {
		if m[2] == "begun" {
			open[m[1]] = true
		} else {
			delete(open, m[1])
		}
	}
	return slices.Sorted(maps.Keys(open))
}

var workLine = regexp.MustCompile(`order=(\S+) work (begun|ended)`)
