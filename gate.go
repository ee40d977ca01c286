package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/views"
)

// gateCommand waits for the verdict on a deploy, for pipelines. It fails closed:
// whatever is not a final and good verdict is no success.
type gateCommand struct {
	serverFlags
	Deploy    string        `required:"" placeholder:"ID" help:"The deploy."`
	Wait      time.Duration `default:"30m" placeholder:"TIME" help:"How long to wait for the verdict to be final; 0 looks once."`
	ProbeOnly bool          `help:"Judge by the probes (no-probe-failure-caused), where users are not measured."`
}

// Intervals of a gate.
const (
	gateFirstPause = 200 * time.Millisecond // between two looks, growing
	gateLastPause  = 5 * time.Second
	gatePatience   = time.Minute // for a server that does not answer
	gateAnswerTime = 30 * time.Second
)

func (c *gateCommand) run(ctx context.Context, p *program) (int, error) {
	if c.Wait < 0 {
		return exitFailed, fmt.Errorf("--wait %s is less than nothing", c.Wait)
	}
	server, err := c.client(p)
	if err != nil {
		return exitFailed, err
	}
	server.http.Timeout = gateAnswerTime
	if c.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Wait)
		defer cancel()
	}
	v, err := c.wait(ctx, server, gatePatience, p.stderr)
	if err != nil {
		return exitFailed, err
	}
	c.print(p.stdout, v)
	if !v.final && v.state != analysis.Disproved {
		fmt.Fprintf(p.stdout, "\nThis is not final: the window is %s, and the verdict was waited for %s. The gate stays closed.\n", v.report.Window.State, c.Wait)
		return exitInconclusive, nil
	}
	return verdictStatus(v.state), nil
}

// gateVerdict is what a gate decides by.
type gateVerdict struct {
	report *analysis.Report
	claim  analysis.Claim
	state  analysis.VerdictState
	final  bool

	tookOver string // the announced deploy that the noticed one asked for became; else empty
	byProbes bool   // the claim is that of the probes, since users tested nothing
}

// wait asks until the verdict is final, or disproved, or the time is up. It returns
// an error where the server's last word is not a report; one that says nothing useful
// is asked again for as long as patience lasts.
func (c *gateCommand) wait(ctx context.Context, server *client, patience time.Duration, progress io.Writer) (*gateVerdict, error) {
	answered := time.Now()
	var said analysis.WindowState
	var last *gateVerdict // what the latest look that came to an end brought
	var lastErr error
	for pause := gateFirstPause; ; pause = min(pause*3/2, gateLastPause) {
		v, err := c.look(ctx, server)
		if err == nil || ctx.Err() == nil || last == nil && lastErr == nil { // else it was cut short
			last, lastErr = v, err
		}
		var refused *refusal
		switch {
		case err == nil && (v.final || v.state == analysis.Disproved || c.Wait == 0):
			return v, nil
		case err == nil:
			answered = time.Now()
			if state := v.report.Window.State; state != said {
				fmt.Fprintf(progress, "gapless: the window is %s, so far %s\n", state, v.state)
				said = state
			}
		case errors.As(err, &refused) && refused.status/100 == 4 && refused.status != http.StatusTooManyRequests && refused.status != http.StatusRequestTimeout:
			return nil, fmt.Errorf("no verdict on deploy %s: %w", c.Deploy, err) // asking again would bring the same
		case c.Wait == 0 || time.Since(answered) > patience:
			return nil, fmt.Errorf("no verdict on deploy %s: %w", c.Deploy, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if lastErr == nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				lastErr = ctx.Err()
			}
			if lastErr != nil {
				return nil, fmt.Errorf("no verdict on deploy %s: %w", c.Deploy, lastErr)
			}
			return last, nil
		}
	}
}

// maxReport bounds a report, in bytes.
const maxReport = 64 << 20

// look asks once. An answer that is not the report of this deploy is an error.
func (c *gateCommand) look(ctx context.Context, server *client) (*gateVerdict, error) {
	response, err := server.get(ctx, c.Deploy, "report")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReport))
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	report := new(analysis.Report)
	if err := json.Unmarshal(body, report); err != nil {
		return nil, fmt.Errorf("the server's answer is not a report: %w", err)
	}
	id, tookOver := c.Deploy, ""
	if came := response.Request.URL.EscapedPath(); !strings.HasSuffix(came, deployPath(id, "report")) && strings.HasSuffix(came, deployPath(report.Deploy.ID, "report")) {
		id, tookOver = report.Deploy.ID, report.Deploy.ID // the server led there
	}
	v, err := c.decide(report, id)
	if err == nil {
		v.tookOver = tookOver
	}
	return v, err
}

func (c *gateCommand) decide(report *analysis.Report, id string) (*gateVerdict, error) {
	if report.Schema != 1 || report.Deploy.ID != id {
		return nil, errors.New("the server's answer is not the report of this deploy")
	}
	v := &gateVerdict{report: report, state: report.Verdict.State}
	find := func(id string) (analysis.Claim, error) {
		for _, claim := range report.Claims {
			if claim.ID == id {
				return claim, nil
			}
		}
		return analysis.Claim{}, fmt.Errorf("the report has no claim %q", id)
	}
	var err error
	if v.claim, err = find(report.Verdict.Claim); err != nil {
		return nil, err
	}
	if c.ProbeOnly {
		probes, err := find(analysis.ClaimNoProbeFailureCaused)
		if err != nil {
			return nil, err
		}
		// Probes speak where nothing was put to the test by users; they never outweigh
		// what happened to users.
		if v.state == analysis.Untested || probes.State == analysis.Disproved {
			v.claim, v.state, v.byProbes = probes, probes.State, true
		}
	}
	switch v.state {
	case analysis.Supported, analysis.Disproved, analysis.Inconclusive, analysis.Untested:
	default:
		return nil, fmt.Errorf("the report's verdict %q is none that this program knows", v.state)
	}
	provisional := slices.ContainsFunc(report.Verdict.Conditions, func(c analysis.Condition) bool { return c.Code == "provisional" })
	v.final = report.Window.State == analysis.WindowSealed && !provisional
	return v, nil
}

// print says the verdict, what it depends on, and what to do about the findings.
func (c *gateCommand) print(w io.Writer, v *gateVerdict) {
	r := v.report
	s := &sheet{w: w, zone: time.UTC}
	s.title(fmt.Sprintf("%s %s: %s", r.Deploy.Service, s.deployName(r), v.state))
	if v.tookOver != "" {
		s.line("Deploy %s was announced later, as %s: this is its report.", c.Deploy, v.tookOver)
	}
	if v.byProbes {
		s.line("By the probes alone: %s (%s, %s)", v.claim.Text, v.claim.ID, views.ReasonWords(r, v.claim.Reason))
		s.line("Of users: %s", r.Verdict.Sentence)
	} else {
		s.line("%s", r.Verdict.Sentence)
	}
	s.line("Window %s to %s, %s.", s.moment(r.Window.From), s.moment(r.Window.To), views.WindowWords(r.Window.State))
	s.conditions(r)
	s.findings(r)
}
