package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
)

// Truth is what really happened: every request, from the balancer's memory and that
// of the simulated users. It does not pass through the access log.
type Truth struct {
	Scenario string
	Deploy   string // id; empty before it began
	Requests []Request
	Orders   []OrderTruth    // of order-journey
	Invoices InvoiceTruth    // of blue-green; zero until the lab is closed
	Payments []Payment       // of slow-dependency, as the payers saw them
	Calls    []GatewayCall   // and as the gateways did
	Trips    []Trip          // of admission-queue
	Spans    map[string]Span // parts of a scenario
}

// Request is one request as it was.
type Request struct {
	Class analysis.Class
	ID    string // X-Request-Id, or a simulated user's own number
	Run   string // of a probe: its run and number
	Seq   int
	// Start and End are when the balancer got the request and made the answer, to
	// the microsecond; both zero for a user's request that never reached it.
	Start, End   time.Time
	Method, Path string
	UserAgent    string
	Status       int    // what the balancer answered
	TargetStatus int    // what the target answered; 0: it did not
	Target       string // name of the target that it was sent to, else empty
	Outcome      analysis.Outcome
	User         *UserView // what the simulated user saw; nil for others' requests
}

// ServedBy is the target that answered, or empty.
func (r *Request) ServedBy() string {
	if r.TargetStatus == 0 {
		return ""
	}
	return r.Target
}

// UserView is a request as the simulated user that sent it saw it.
type UserView struct {
	Sent, Done time.Time
	Status     int // 0: none came
	Outcome    analysis.Outcome
	Error      string
}

// Tally counts requests of one class in one span.
type Tally struct {
	Requests, Failures int
	Outcomes           map[analysis.Outcome]int
	SentTo, ServedBy   map[string]int // by target; requests without one are in neither
}

// Counts are the requests of a class in a half-open span, and how many failed, by
// the balancer's answer: a failure belongs where it ended, any other request where
// it started, as a report counts: what it reads in an access log by the second of
// the start, probes and health samples by the exact time. Of these the balancer
// knows when and how they arrived, not what their sender saw.
func (t Truth) Counts(from, to time.Time, class analysis.Class) (requests, failures int) {
	tally := t.Tally(from, to, class)
	return tally.Requests, tally.Failures
}

// Tally is [Truth.Counts] in detail.
func (t Truth) Tally(from, to time.Time, class analysis.Class) Tally {
	tally := Tally{Outcomes: map[analysis.Outcome]int{}, SentTo: map[string]int{}, ServedBy: map[string]int{}}
	for i := range t.Requests {
		r := &t.Requests[i]
		if r.Class != class || r.End.IsZero() {
			continue
		}
		at := r.Start
		if class == analysis.ClassUser || class == analysis.ClassTool {
			at = at.Truncate(time.Second)
		}
		if r.Outcome.Failure() {
			at = r.End
		}
		if at.Before(from) || !at.Before(to) {
			continue
		}
		tally.Requests++
		tally.Outcomes[r.Outcome]++
		if r.Outcome.Failure() {
			tally.Failures++
		}
		if r.Target != "" {
			tally.SentTo[r.Target]++
		}
		if served := r.ServedBy(); served != "" {
			tally.ServedBy[served]++
		}
	}
	return tally
}

// WriteNDJSON writes one JSON object a request, a line each. Times are RFC 3339 in
// UTC with six decimals, null where there was none.
func (t Truth) WriteNDJSON(w io.Writer) error {
	type user struct {
		Sent    analysis.Time    `json:"sent"`
		Done    analysis.Time    `json:"done"`
		Status  *int             `json:"status"`
		Outcome analysis.Outcome `json:"outcome"`
		Error   *string          `json:"error"`
	}
	type line struct {
		Class        analysis.Class   `json:"class"`
		ID           *string          `json:"id"`
		Start        analysis.Time    `json:"start"`
		End          analysis.Time    `json:"end"`
		Method       string           `json:"method"`
		Path         string           `json:"path"`
		UserAgent    string           `json:"user_agent"`
		Status       *int             `json:"status"`
		TargetStatus *int             `json:"target_status"`
		Target       *string          `json:"target"`
		ServedBy     *string          `json:"served_by"`
		Outcome      analysis.Outcome `json:"outcome"`
		User         *user            `json:"user"`
	}
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for i := range t.Requests {
		r := &t.Requests[i]
		out := line{
			Class: r.Class, ID: known(r.ID), Start: analysis.Time{Time: r.Start}, End: analysis.Time{Time: r.End},
			Method: r.Method, Path: r.Path, UserAgent: r.UserAgent,
			Status: known(r.Status), TargetStatus: known(r.TargetStatus),
			Target: known(r.Target), ServedBy: known(r.ServedBy()), Outcome: r.Outcome,
		}
		if u := r.User; u != nil {
			out.User = &user{analysis.Time{Time: u.Sent}, analysis.Time{Time: u.Done}, known(u.Status), u.Outcome, known(u.Error)}
		}
		if err := encoder.Encode(out); err != nil {
			return fmt.Errorf("write truth: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write truth: %w", err)
	}
	return nil
}

// known is nil for the zero value, which here always means that there was none.
func known[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// memory collects the truth. Its two sides are told apart until somebody asks.
type memory struct {
	names map[string]string // target's name by its address

	mu       sync.Mutex
	requests []Request
	users    map[string]userSide // by the user's number
}

type userSide struct {
	UserView
	method, path, userAgent string
}

// balancerSaw remembers a request as the balancer answered it.
func (m *memory) balancerSaw(x exchange) {
	r := Request{
		ID: x.requestID, Start: x.start, End: x.end, Method: x.method, Path: x.path, UserAgent: x.userAgent,
		Status: x.status, TargetStatus: x.targetStatus, Target: m.names[x.target],
		Outcome: analysis.LogOutcome(x.status, x.targetStatus),
	}
	if r.Target == "" {
		r.Target = x.target
	}
	if x.outOfService && x.targetStatus == http.StatusServiceUnavailable {
		r.Outcome = analysis.OutcomeDrain503
	}
	if x.labID != "" {
		r.ID = x.labID
	}
	switch {
	case x.labID != "":
		r.Class = analysis.ClassUser
	case strings.HasPrefix(x.userAgent, probePrefix):
		r.Class = analysis.ClassProbe
	case strings.HasPrefix(x.userAgent, healthPrefix), strings.HasPrefix(x.userAgent, checkerPrefix), x.path == healthPath:
		r.Class = analysis.ClassHealth
	default:
		r.Class = analysis.ClassUser // somebody who called by hand
	}
	if run, seq, ok := analysis.ProbeUserAgent(x.userAgent); ok {
		r.Run, r.Seq = run, seq
	}
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.mu.Unlock()
}

// userSaw remembers a request as the user that sent it saw it.
func (m *memory) userSaw(id string, side userSide) {
	m.mu.Lock()
	m.users[id] = side
	m.mu.Unlock()
}

// truth joins both sides: the balancer's requests in the order of their ends, then
// the users' that never reached it.
func (m *memory) truth() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Request, len(m.requests), len(m.requests)+8)
	copy(all, m.requests)
	reached := make(map[string]bool, len(m.users))
	for i := range all {
		if side, ok := m.users[all[i].ID]; ok && all[i].Class == analysis.ClassUser {
			reached[all[i].ID] = true
			view := side.UserView
			all[i].User = &view
		}
	}
	for id, side := range m.users {
		if !reached[id] {
			view := side.UserView
			all = append(all, Request{
				Class: analysis.ClassUser, ID: id, Method: side.method, Path: side.path,
				UserAgent: side.userAgent, Outcome: side.Outcome, User: &view,
			})
		}
	}
	return all
}
