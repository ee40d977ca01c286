package accesslog

import "fmt"

// reject says why a line is not understood.
type reject struct {
	reason string // stable word
	detail string // for people
	kind   string // what the line seems to be: one of Formats, or of the kinds below
}

// What a line that is set aside may seem to be beside a line of one of [Formats].
const (
	kindClassic = "classic_elb" // a Classic Load Balancer's access log
	kindNLB     = "nlb"         // a Network Load Balancer's
	kindUnknown = "unknown"
)

// Reasons for setting a line aside. README lists them, and [reject.requestless] which of
// them leave nothing open.
const (
	reasonEmpty    = "empty"          // nothing in the line
	reasonTestFile = "test_file"      // what AWS writes once to try its access to the bucket
	reasonOther    = "other_log"      // a line of another log than the one wanted; kind and detail say which
	reasonPrefixed = "prefixed"       // something stands before the line, as grep puts a file name
	reasonFew      = "too_few_fields" // ends before what a line must have
	reasonTime     = "bad_time"
	reasonRange    = "time_out_of_range" // a time that the log cannot be about
	reasonStatus   = "bad_status"
	reasonType     = "bad_type"
	reasonLatency  = "bad_latency"
	reasonAddress  = "bad_address"
	reasonTooLong  = "too_long"      // over maxLine
	reasonCut      = "cut_short"     // the object broke off in this line
	reasonFormat   = "not_in_format" // not a line of the format that was configured
	reasonNotJSON  = "not_json"
	reasonState    = "not_a_request" // what a proxy says of its servers or of itself
)

var (
	rejectCut   = reject{reasonCut, "the object breaks off in this line", kindUnknown}
	rejectEmpty = reject{reasonEmpty, "an empty line", kindUnknown}
	rejectLong  = reject{reasonTooLong, "the line is longer than any that a load balancer writes", kindUnknown}
)

// requestless reports whether a line stands for no request, so that none can have failed
// in it. A line that may be what is left of a request's is none such.
func (r reject) requestless() bool {
	return r.reason == reasonEmpty || r.reason == reasonState || r.reason == reasonTestFile
}

// few says that a line ends before what it must have.
func few(t *albTokens, least int, names []string, kind string) reject {
	detail := fmt.Sprintf("%d fields where there must be %d", t.n, least)
	if t.open {
		detail = fmt.Sprintf("field %d (%s) has no closing quote", t.n, names[min(t.n, len(names))-1])
	}
	return reject{reasonFew, detail, kind}
}

// quote shows at most 64 bytes of b.
func quote(b []byte) string {
	if len(b) > 64 {
		return fmt.Sprintf("%q…", b[:64])
	}
	return fmt.Sprintf("%q", b)
}
