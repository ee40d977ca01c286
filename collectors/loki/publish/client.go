package publish

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/grafana/loki-client-go/loki"
	"github.com/grafana/loki-client-go/pkg/backoff"
	"github.com/grafana/loki-client-go/pkg/urlutil"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
)

// line is one line to be sent.
type line struct {
	labels map[string]string
	at     time.Time
	text   string
}

// client sends lines with Grafana's client, one of those for each: it says only in its
// log what became of a batch, and is done when it was stopped.
type client struct {
	cfg loki.Config
}

// sendTimeout is how long Loki may take to answer.
const sendTimeout = 10 * time.Second

func newClient(cfg Config, base *url.URL) (*client, error) {
	c := &client{cfg: loki.Config{
		URL:       urlutil.URLValue{URL: base.JoinPath("loki/api/v1/push")},
		TenantID:  cfg.Tenant,
		BatchSize: 1 << 20,
		BatchWait: time.Hour, // a batch goes when the client is stopped
		Timeout:   sendTimeout,
		// One attempt: the outbox tries again.
		BackoffConfig: backoff.BackoffConfig{MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, MaxRetries: 1},
	}}
	switch {
	case cfg.Token != "":
		c.cfg.Client.BearerToken = config.Secret(cfg.Token)
	case cfg.User != "":
		c.cfg.Client.BasicAuth = &config.BasicAuth{Username: cfg.User, Password: config.Secret(cfg.Password)}
	}
	if err := c.cfg.Client.Validate(); err != nil {
		return nil, fmt.Errorf("publish: loki: %w", err)
	}
	return c, nil
}

// send returns nil once Loki has taken a line, else a [refused]. It does not wait for
// an answer after ctx ended.
func (c *client) send(ctx context.Context, l line) error {
	done := make(chan error, 1)
	go func() { done <- c.sendNow(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) sendNow(l line) error {
	log := &outcome{}
	sender, err := loki.NewWithLogger(c.cfg, log)
	if err != nil {
		return fmt.Errorf("make a client for Loki: %w", err)
	}
	labels := model.LabelSet{}
	for name, value := range l.labels {
		labels[model.LabelName(name)] = model.LabelValue(value)
	}
	_ = sender.Handle(labels, l.at, l.text) // it never fails
	sender.Stop()
	return log.err()
}

// outcome is a logger that remembers what the client complains of.
type outcome struct {
	mu     sync.Mutex
	failed *refused
}

// What the client writes when it gives a batch up.
const (
	wroteFinal    = "final error sending batch"
	wroteEncoding = "error encoding batch"
)

// Log implements the client's logger.
func (o *outcome) Log(pairs ...any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	failed, final := &refused{}, false
	for i := 0; i+1 < len(pairs); i += 2 {
		switch pairs[i] {
		case "msg":
			final = pairs[i+1] == wroteFinal || pairs[i+1] == wroteEncoding
		case "status":
			failed.status, _ = pairs[i+1].(int)
		case "error":
			failed.text = fmt.Sprint(pairs[i+1])
		}
	}
	if final {
		o.failed = failed
	}
	return nil
}

func (o *outcome) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		return nil
	}
	return o.failed
}
