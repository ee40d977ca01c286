package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"gapless/analysis"
)

// environment is what expressions see. Its fields' tags are their names.
type environment struct {
	Status              int                 `expr:"status"`
	Body                any                 `expr:"body"`
	Text                string              `expr:"text"`
	Null                any                 `expr:"null"` // as JSON writes nil
	Headers             map[string]string   `expr:"headers"`
	Header              func(string) string `expr:"header"`
	Outcome             string              `expr:"outcome"`
	Sent                int                 `expr:"sent"`
	Failures            int                 `expr:"failures"`
	ConsecutiveFailures int                 `expr:"consecutive_failures"`
}

// conditions are the compiled expressions of one probe; nil where not configured.
type conditions struct {
	expect, rejected, unknown, drain, fromTarget, stopWhen, target *vm.Program
}

func compileConditions(cfg Config) (c conditions, err error) {
	compile := func(key, source string, as expr.Option) *vm.Program {
		if err != nil || strings.TrimSpace(source) == "" {
			return nil
		}
		program, failed := expr.Compile(source, expr.Env(environment{}), as)
		if failed != nil {
			err = fmt.Errorf("probe %s: %s: %q: %w", cfg.Source, key, source, failed)
		}
		return program
	}
	for key := range cfg.Classify {
		if key != "rejected" && key != "unknown" {
			return c, fmt.Errorf("probe %s: classify: %q is neither rejected nor unknown", cfg.Source, key)
		}
	}
	c.expect = compile("expect", cfg.Expect, expr.AsBool())
	c.rejected = compile("classify.rejected", cfg.Classify["rejected"], expr.AsBool())
	c.unknown = compile("classify.unknown", cfg.Classify["unknown"], expr.AsBool())
	c.drain = compile("drain", cfg.Drain, expr.AsBool())
	c.fromTarget = compile("from_target", cfg.FromTarget, expr.AsBool())
	c.stopWhen = compile("stop_when", cfg.StopWhen, expr.AsBool())
	c.target = compile("target", cfg.Target, expr.AsAny())
	return c, err
}

// holds runs a condition. One that fails on this answer (a key of a body that is
// not JSON, say) does not hold; why says so.
func holds(program *vm.Program, env environment) (ok bool, why string) {
	if program == nil {
		return false, ""
	}
	value, err := expr.Run(program, env)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, first
	}
	ok, _ = value.(bool)
	return ok, ""
}

// text runs an expression that names something; empty where it names nothing.
func text(program *vm.Program, env environment) string {
	if program == nil {
		return ""
	}
	value, err := expr.Run(program, env)
	if err != nil || value == nil {
		return ""
	}
	return analysis.Clip(fmt.Sprint(value), 200)
}

func environmentOf(status int, header http.Header, body []byte) environment {
	env := environment{Status: status, Text: string(body), Headers: make(map[string]string, len(header)), Header: header.Get}
	for name := range header {
		env.Headers[name] = header.Get(name)
	}
	env.Body = env.Text
	if value, ok := decodeJSON(body); ok {
		env.Body = value
	}
	return env
}

// decodeJSON keeps whole numbers exact, so that ids beyond 2^53 compare right.
func decodeJSON(body []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, false
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, false
	}
	return numbers(value), true
}

func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return int(n)
		}
		f, _ := value.Float64()
		return f
	case map[string]any:
		for key := range value {
			value[key] = numbers(value[key])
		}
	case []any:
		for i := range value {
			value[i] = numbers(value[i])
		}
	}
	return value
}

// judge tells the outcome of an answer that came whole. The order is: a deliberate
// drain answer, what classify says, what expect says, then the status.
func (c conditions) judge(env environment, r *analysis.ProbeRequest) {
	r.Target = text(c.target, env)
	if ok, _ := holds(c.drain, env); ok {
		r.Outcome, r.OutOfService = analysis.OutcomeDrain503, true
		return
	}
	if ok, _ := holds(c.rejected, env); ok {
		r.Outcome = analysis.OutcomeRejected
		return
	}
	if ok, _ := holds(c.unknown, env); ok {
		r.Outcome = analysis.OutcomeUnknown
		return
	}
	why := ""
	if c.expect != nil {
		ok, failed := holds(c.expect, env)
		if ok {
			r.Outcome = analysis.OutcomeOK
			return
		}
		if why = "expect does not hold"; failed != "" {
			why = "expect: " + failed
		}
	}
	switch {
	case env.Status >= 500:
		r.Outcome = analysis.OutcomeLB5xx
		if ok, _ := holds(c.fromTarget, env); ok || r.Target != "" {
			r.Outcome = analysis.OutcomeTarget5xx
		}
	case env.Status == http.StatusTooManyRequests:
		r.Outcome = analysis.OutcomeRejected
	case env.Status >= 400:
		r.Outcome = analysis.OutcomeClientError
	case c.expect != nil:
		r.Outcome, r.Error = analysis.OutcomeBadBody, why
	default:
		r.Outcome = analysis.OutcomeOK
	}
}
