package loki

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A reply is read up to mostBytes, uncompressed; one that is longer is asked for
// again in smaller parts. Of an error's text as much as a person reads is kept.
const (
	mostBytes   = 64 << 20
	mostMessage = 2000
)

// askTimeout is how long a reply may take to its last byte; Loki itself gives up a
// query after a minute unless it is told otherwise.
const askTimeout = 2 * time.Minute

// client asks one Loki one query.
type client struct {
	http   *http.Client
	url    url.URL
	cfg    *Config
	target string // label that names it
	bytes  int64  // that are read of a reply
}

func newClient(cfg Config, base *url.URL) *client {
	c := &client{http: cfg.HTTP, url: *base.JoinPath("loki/api/v1/query_range"), cfg: &cfg, target: cfg.TargetLabel, bytes: mostBytes}
	if c.http == nil {
		c.http = &http.Client{Timeout: askTimeout}
	}
	return c
}

// ask brings up to limit lines of [from, to), times in nanoseconds since 1970, the
// earliest first. Its error is one that [failure] knows.
func (c *client) ask(ctx context.Context, from, to int64, limit int) (*page, error) {
	query := url.Values{
		"query": {c.cfg.Query}, "direction": {"forward"}, "limit": {strconv.Itoa(limit)},
		"start": {strconv.FormatInt(from, 10)}, "end": {strconv.FormatInt(to, 10)},
	}
	address := c.url
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask Loki: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if c.cfg.Tenant != "" {
		request.Header.Set("X-Scope-OrgID", c.cfg.Tenant)
	}
	switch {
	case c.cfg.Token != "":
		request.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	case c.cfg.User != "":
		request.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Loki: %w", unreachable{withoutURL(err)})
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response, c.cfg.Now())
	}
	body := &bounded{from: response.Body, left: c.bytes}
	p, err := decode(body, c.target, limit)
	switch {
	case err == nil:
		return p, nil
	case body.left < 0:
		return nil, errTooLarge
	case body.err != nil && !errors.Is(body.err, io.EOF):
		return nil, fmt.Errorf("read Loki's reply: %w", unreachable{body.err})
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("read Loki's reply: %w", unreachable{err})
	}
	return nil, fmt.Errorf("understand Loki's reply: %w", badReply{err})
}

// withoutURL leaves the query out of a transport's error: it is long, and known.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// refusal is the error of a reply that is none.
func refusal(response *http.Response, now time.Time) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostMessage)) // what was read tells enough
	message := strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
	return &refused{status: response.StatusCode, message: message, after: retryAfter(response.Header.Get("Retry-After"), now)}
}

// retryAfter reads the header of that name: seconds or a date; 0 where there is none.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		return max(time.Duration(min(seconds, 3600))*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), time.Hour)
	}
	return 0
}

// bounded is a reader that remembers why it ended, and ends after a number of bytes.
type bounded struct {
	from io.Reader
	left int64 // negative: there was more
	err  error
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(into[:min(int64(len(into)), b.left+1)])
	b.left -= int64(n)
	b.err = err
	if b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
