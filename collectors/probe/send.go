package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"gapless/analysis"
)

// send makes one request and tells how it ended. It always returns within the
// timeout, or shortly after it.
func (p *Prober) send(ctx context.Context, r *analysis.ProbeRequest) environment {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	r.Sent = p.clock.now().Truncate(time.Microsecond)
	began := time.Now()
	env := p.exchange(ctx, r)
	r.Done = r.Sent.Add(time.Since(began)).Truncate(time.Microsecond)
	r.Error = analysis.Clip(r.Error, 300)
	return env
}

func (p *Prober) exchange(ctx context.Context, r *analysis.ProbeRequest) environment {
	request, err := p.request(ctx, fmt.Sprintf("%s-%06d", r.Run, r.Seq))
	if err != nil {
		r.Outcome, r.Error = analysis.OutcomeRejected, "not sent: "+err.Error()
		return environment{}
	}
	// A round trip, not a client: no redirect is followed and nothing is repeated.
	response, err := p.cfg.Transport.RoundTrip(request)
	if err != nil {
		r.Outcome, r.Error = broken(ctx, err), err.Error()
		return environment{}
	}
	defer response.Body.Close()
	r.Status = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, p.cfg.MaxBody+1))
	if err != nil {
		r.Outcome, r.Error = broken(ctx, err), "read body: "+err.Error()
		return environmentOf(r.Status, response.Header, nil)
	}
	long := int64(len(body)) > p.cfg.MaxBody
	if long {
		body = body[:p.cfg.MaxBody]
	}
	env := environmentOf(r.Status, response.Header, body)
	p.conditions.judge(env, r)
	if p.cfg.Names != nil && r.Target != "" {
		r.Target = p.cfg.Names.Target(r.Target)
	}
	if long && r.Outcome == analysis.OutcomeBadBody {
		r.Error = fmt.Sprintf("%s; the body is longer than %d bytes", r.Error, p.cfg.MaxBody)
	}
	return env
}

func (p *Prober) request(ctx context.Context, id string) (*http.Request, error) {
	// The wrapper hides the body's kind from net/http, so that it cannot send the
	// request a second time on another connection when a kept one breaks.
	var body io.Reader = struct{ io.Reader }{strings.NewReader(p.cfg.Body)}
	switch p.cfg.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
	default: // never repeated, and an empty body must say that it is empty
		if p.cfg.Body == "" {
			body = http.NoBody
		}
	}
	request, err := http.NewRequestWithContext(ctx, p.cfg.Method, p.cfg.URL, body)
	if err != nil {
		return nil, err
	}
	if p.cfg.Body != "" {
		request.ContentLength = int64(len(p.cfg.Body))
	}
	for name, value := range p.cfg.Headers {
		if strings.EqualFold(name, "Host") {
			request.Host = value
			continue
		}
		request.Header.Set(name, value)
	}
	request.Header.Set("User-Agent", fmt.Sprintf("gapless-%s/%s %s", p.cfg.Class, p.cfg.Version, id))
	request.Header.Set(p.cfg.RequestIDHeader, id)
	return request, nil
}

// broken tells a timeout from a connection that failed or broke.
func broken(ctx context.Context, err error) analysis.Outcome {
	var network net.Error
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return analysis.OutcomeTimeout
	}
	return analysis.OutcomeConnectionError
}
