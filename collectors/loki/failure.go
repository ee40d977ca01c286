package loki

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"gapless/analysis"
	"gapless/collectors/runcode"
)

// errTooLarge is a reply that would not fit in memory.
var errTooLarge = errors.New("the reply is larger than is read at once")

// unreachable is a connection that failed, also in the middle of a reply.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

// badReply is a reply that is not what was asked for.
type badReply struct{ error }

func (e badReply) Unwrap() error { return e.error }

// refused is an answer with another status than 200.
type refused struct {
	status  int
	message string
	after   time.Duration // that Loki asks to wait; 0 where it does not say
}

func (e *refused) Error() string {
	if e.message == "" {
		return fmt.Sprintf("Loki answered %d", e.status)
	}
	return fmt.Sprintf("Loki answered %d: %s", e.status, e.message)
}

// passing says that the same question may be answered later.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if r, ok := errors.AsType[*refused](err); ok {
		return r.status == http.StatusTooManyRequests || r.status >= 500
	}
	_, lost := errors.AsType[unreachable](err)
	return lost
}

// Limits, as Loki 1.6 to 3 word them.
var (
	// max entries limit per query exceeded, limit > max_entries_limit (10000 > 5000)
	entriesLimit = regexp.MustCompile(`max entries limit.*\(\d+ > (\d+)\)`)
	// the query time range exceeds the limit (query length: 744h0m0s, limit: 721h0m0s)
	// and of Loki 1.5: invalid query, length > limit (744h0m0s > 721h0m0s)
	lengthLimit = regexp.MustCompile(`(?:time range exceeds the limit.*limit: |length > limit \([^>]*> )([0-9a-zµ.]+)`)
)

// limitOfEntries is the limit that a refusal names; 0 where it is about another thing.
func limitOfEntries(err error) int {
	r, ok := errors.AsType[*refused](err)
	if !ok || r.status != http.StatusBadRequest {
		return 0
	}
	m := entriesLimit.FindStringSubmatch(r.message)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits; one too many for an int is no limit
	return n
}

// limitOfLength is the longest range that a refusal allows; 0 where it is about
// another thing.
func limitOfLength(err error) time.Duration {
	r, ok := errors.AsType[*refused](err)
	if !ok || r.status != http.StatusBadRequest {
		return 0
	}
	m := lengthLimit.FindStringSubmatch(r.message)
	if m == nil {
		return 0
	}
	if d, err := time.ParseDuration(m[1]); err == nil {
		return d
	}
	d, _ := model.ParseDuration(m[1]) // 30d1h, as newer ones write
	return time.Duration(d)
}

// tooMuch says that a shorter range may be answered where this one was not: the
// query took too long, or would have read too much.
func tooMuch(err error) bool {
	r, ok := errors.AsType[*refused](err)
	if !ok {
		return false
	}
	if r.status == http.StatusGatewayTimeout {
		return true
	}
	for _, part := range []string{"too many bytes", "deadline exceeded", "timed out", "larger than max", "timeout"} {
		if strings.Contains(r.message, part) {
			return true
		}
	}
	return false
}

// failure is the stable word for why a pass failed; empty for nil.
func failure(err error) string {
	if err == nil {
		return ""
	}
	if r, ok := errors.AsType[*refused](err); ok {
		return cmp.Or(runcode.OfStatus(r.status), analysis.CodeError)
	}
	if _, ok := errors.AsType[badReply](err); ok {
		return analysis.CodeBadReply
	}
	if _, ok := errors.AsType[unreachable](err); ok {
		return analysis.CodeUnreachable
	}
	return analysis.CodeError
}
