package analysis

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ProbeRecord is one probe request as it is told to gapless: a line of a file of
// probe records, or a part of a call to the API. Unknown keys are ignored.
type ProbeRecord struct {
	ID      string  `json:"id"` // <run>-<number>
	Sent    Time    `json:"sent"`
	Done    Time    `json:"done"`   // null: when it was sent
	Status  *int    `json:"status"` // null where none came
	Outcome Outcome `json:"outcome"`
	Target  *string `json:"target"`
	Error   *string `json:"error"`
}

// ProbeRecordOf is a request as it is told.
func ProbeRecordOf(r ProbeRequest) ProbeRecord {
	record := ProbeRecord{ID: fmt.Sprintf("%s-%06d", r.Run, r.Seq), Sent: Time{r.Sent}, Done: Time{r.Done}, Outcome: r.Outcome}
	if r.Status != 0 {
		record.Status = &r.Status
	}
	if r.Target != "" {
		record.Target = &r.Target
	}
	if r.Error != "" {
		record.Error = &r.Error
	}
	return record
}

// Plausible reports whether a time may be that of something that really happened
// while this program could be told of it.
func Plausible(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }

// Validate says what is wrong with a record, or in it contradicts the rest.
func (r *ProbeRecord) Validate() error {
	run, _, ok := ProbeID(r.ID)
	status, isOK := 0, r.Outcome == OutcomeOK
	if r.Status != nil {
		status = *r.Status
	}
	switch {
	case !ok || len(run) > 100:
		return fmt.Errorf("id %q is not <run>-<number>", Clip(r.ID, 100))
	case r.Sent.IsZero():
		return fmt.Errorf("sent is missing")
	case !Plausible(r.Sent.Time):
		return fmt.Errorf("sent is in the year %d", r.Sent.Year())
	case !slices.Contains(Outcomes, r.Outcome):
		return fmt.Errorf("outcome %q is not known", Clip(string(r.Outcome), 100))
	case !r.Done.IsZero() && r.Done.Before(r.Sent.Time):
		return fmt.Errorf("done is before sent")
	case !r.Done.IsZero() && !Plausible(r.Done.Time):
		return fmt.Errorf("done is in the year %d", r.Done.Year())
	case status < 0 || status > 999:
		return fmt.Errorf("status %d is not between 0 and 999", status)
	case isOK && status == 0:
		return fmt.Errorf("outcome ok without a status")
	case isOK && status >= 400:
		return fmt.Errorf("outcome ok with status %d", status)
	case isOK && r.Error != nil && *r.Error != "":
		return fmt.Errorf("outcome ok with an error")
	}
	return nil
}

// Request is a record that was validated, of a source, a probe and a class. names may
// be nil.
func (r *ProbeRecord) Request(source, probe string, class Class, names *Classifier) ProbeRequest {
	run, seq, _ := ProbeID(r.ID)
	q := ProbeRequest{
		Source: source, Probe: probe, Class: class, Run: run, Seq: seq,
		Sent: r.Sent.UTC(), Done: r.Done.UTC(), Outcome: r.Outcome, OutOfService: r.Outcome == OutcomeDrain503,
	}
	if q.Done.IsZero() {
		q.Done = q.Sent
	}
	if r.Status != nil {
		q.Status = *r.Status
	}
	if r.Target != nil {
		q.Target = Clip(*r.Target, 200)
		if names != nil {
			q.Target = names.Target(q.Target)
		}
	}
	if r.Error != nil {
		q.Error = Clip(*r.Error, 300)
	}
	return q
}

// Clip bounds a text from outside, in bytes before an ellipsis, and makes it valid UTF-8.
func Clip(text string, longest int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// ProbeReport is what a prober at another place tells of one of a service's probes:
// the requests of a stretch of time, all of them.
type ProbeReport struct {
	Probe    string        `json:"probe"`
	Vantage  string        `json:"vantage"` // the place; has no @
	From     Time          `json:"from"`    // of the stretch
	To       Time          `json:"to"`
	Code     string        `json:"code,omitempty"` // of [RunCodes], where it could not probe, else empty
	Error    string        `json:"error,omitempty"`
	Requests []ProbeRecord `json:"requests"`
}

// Validate says what is wrong with a report, and in which request.
func (r *ProbeReport) Validate() error {
	switch {
	case r.Probe == "":
		return fmt.Errorf("probe is missing")
	case r.Vantage == "":
		return fmt.Errorf("vantage is missing")
	case strings.Contains(r.Vantage, vantageSign):
		return fmt.Errorf("vantage %q has an %s", Clip(r.Vantage, 100), vantageSign)
	case !Plausible(r.From.Time) || !Plausible(r.To.Time) || r.To.Before(r.From.Time):
		return fmt.Errorf("from and to are no stretch of time")
	}
	if err := CheckRunCode(r.Code); err != nil {
		return err
	}
	if err := checkName("vantage", r.Vantage); err != nil {
		return err
	}
	for i := range r.Requests {
		if err := r.Requests[i].Validate(); err != nil {
			return fmt.Errorf("request %d: %w", i+1, err)
		}
	}
	return nil
}

// KindProbe is the kind of the runs that live probers store, wherever they are.
const KindProbe = "probe"

// How far a prober's times may be off: from the present by its own clock, and a request
// from the stretch that it is told with.
const (
	probeClockAhead = time.Hour
	probeBefore     = time.Minute
	probeWait       = time.Hour
)

// CheckTimes says what in a valid report cannot have happened by now: what is later, or
// was before oldest (zero: nothing is too old), and requests that were not sent in the
// stretch or took longer than an hour beyond timeout. A report vouches for its stretch,
// and one of a time to come would vouch for what nobody saw.
func (r *ProbeReport) CheckTimes(now, oldest time.Time, timeout time.Duration) error {
	latest := now.Add(probeClockAhead)
	switch {
	case r.To.After(latest):
		return fmt.Errorf("to is %s, and it is %s", r.To.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case r.From.Before(oldest):
		return fmt.Errorf("from is %s, and nothing is kept of before %s", r.From.UTC().Format(time.RFC3339), oldest.UTC().Format(time.RFC3339))
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		switch {
		case !r.Holds(q.Sent.Time):
			return fmt.Errorf("request %d: sent is not between a minute before from and an hour after to", i+1)
		case q.Sent.After(latest) || q.Done.After(latest):
			return fmt.Errorf("request %d: its times are still to come", i+1)
		case q.Done.Sub(q.Sent.Time) > probeWait+timeout:
			return fmt.Errorf("request %d: done is more than %s after sent", i+1, probeWait+timeout)
		}
	}
	return nil
}

// Holds reports whether a request that was sent at a time may be told with a report's
// stretch: one that got stuck ends a stretch, and later ones are told with it.
func (r *ProbeReport) Holds(sent time.Time) bool {
	return !sent.Before(r.From.Add(-probeBefore)) && !sent.After(r.To.Add(probeWait))
}

// MostRunError bounds the text of a failure that is told from elsewhere, in bytes.
const MostRunError = 500

// Run is a valid report as a run; at is when it was told, by the clock of whom it was
// told to: of two runs over the same time the later one counts.
func (r *ProbeReport) Run(at time.Time) Run {
	return Run{
		Source: VantageSource(r.Probe, r.Vantage), Kind: KindProbe, From: r.From.UTC(), To: r.To.UTC(), At: at.UTC().Truncate(time.Microsecond),
		Rows: len(r.Requests), Code: r.Code, Error: Clip(r.Error, MostRunError),
	}
}

// RunCodes are the stable words for why a run failed that may be told from elsewhere.
var RunCodes = []string{CodeUnreachable, CodeForbidden, CodeNotFound, CodeThrottled, CodeBadReply, CodeError}

// CheckRunCode refuses a code that is neither empty nor one of [RunCodes].
func CheckRunCode(code string) error {
	if code != "" && !slices.Contains(RunCodes, code) {
		return fmt.Errorf("code %q is not known; allowed: %s", Clip(code, 100), strings.Join(RunCodes, ", "))
	}
	return nil
}

// vantageSign stands between a probe's name and the place that it was sent from.
const vantageSign = "@"

// VantageSource is the source of a probe's requests from another place.
func VantageSource(probe, vantage string) string { return probe + vantageSign + vantage }

// Vantage is the place that a source's requests were sent from; empty for the
// console's own.
func Vantage(source string) string {
	_, vantage, _ := strings.Cut(source, vantageSign)
	return vantage
}

// ProbeOf is the name of the probe that a source's requests are of, wherever they were
// sent from.
func ProbeOf(source string) string {
	probe, _, _ := strings.Cut(source, vantageSign)
	return probe
}
