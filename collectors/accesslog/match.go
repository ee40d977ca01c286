package accesslog

import (
	"bytes"
	"strings"
)

// Match narrows a log to the rows of one service. Empty fields match everything; a
// row must agree with all that are set. Rows that don't match are understood, not
// counted, and their number is kept.
type Match struct {
	LoadBalancer string // "app/name/id" as logged, or the bare name
	TargetGroup  string // ARN or name
	Host         string // host of the request's URL, without port; case does not matter
}

func (r *rollup) matches(e *entry) bool {
	// Short lines of other logs do not name their load balancer; their objects do.
	named := r.requests || e.balancer != nil
	if want := r.match.LoadBalancer; want != "" && named && !remember(r.matchers[0], e.balancer, func(s string) bool {
		parts := strings.Split(s, "/")
		return s == want || len(parts) == 3 && parts[1] == want
	}) {
		return false
	}
	if want := r.match.TargetGroup; want != "" && !remember(r.matchers[1], e.group, func(s string) bool {
		return s == want || groupName(s) == want
	}) {
		return false
	}
	host := urlHost(e.url)
	if e.host != nil {
		host, _ = splitAddress(e.host)
	}
	return r.match.Host == "" || bytes.EqualFold(host, []byte(r.match.Host))
}

// remember asks once per distinct text.
func remember(answers map[string]bool, b []byte, ask func(string) bool) bool {
	answer, ok := answers[string(b)]
	if !ok {
		answer = ask(string(b))
		if len(answers) < textsKept {
			answers[string(b)] = answer
		}
	}
	return answer
}
