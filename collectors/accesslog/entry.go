package accesslog

import (
	"gapless/analysis"
)

// A format understands the lines of one kind of log.
type format interface {
	// parse reads one line, without its line end, into e, whose old contents it
	// overwrites. It answers false, and why, where the line is not understood. The
	// slices of e are parts of line.
	parse(line []byte, e *entry) (reject, bool)
	// rest completes the entry of the line that was parsed last. Until then the node,
	// errorReason, before and targetTook may be missing, which few lines are asked for.
	rest(e *entry)
	// appendFields writes every field of the line that was parsed last, as it stood, as
	// the members of a JSON object, in the order of the line.
	appendFields(b []byte) []byte
}

// entry is one logged request in the terms that all formats share. A slice is nil
// where the log has no value. Text stands as logged, escapes and all.
type entry struct {
	start, end           int64 // µs since 1970 UTC
	hasStart             bool
	balancer             []byte // load balancer
	node                 []byte // the load balancer's node
	client, clientPort   []byte
	target               []byte // address with port
	group                []byte // target group, as ARN
	method, url          []byte
	protocol             []byte
	agent                []byte
	errorReason          []byte
	status, targetStatus int  // 0: none
	connected            bool // a connection to the target was made
	webSocket            bool
	before, targetTook   int64 // µs, as in [analysis.Request]; below 0: the log does not say. By rest

	host []byte // that was asked for, where it is not part of url

	// What proxies say of their attempts.
	outcome      analysis.Outcome // empty: follows from the statuses
	attempts     int              // 0: the log does not tell
	masked       bool             // an attempt failed, and the client did not see it
	failedOn     [][]byte         // target of each failed attempt before the last; nil: not told
	upstreams    []upstream       // oldest first; nil: the log does not tell
	termination  []byte
	retries      []byte
	redispatched bool
	openEnded    bool // logged before its end: its duration is a lower bound
	escape       escape
}

// outcomeOf is how the request ended.
func (e *entry) outcomeOf() analysis.Outcome {
	if e.outcome != "" {
		return e.outcome
	}
	return analysis.LogOutcome(e.status, e.targetStatus)
}
