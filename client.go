package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"gapless/analysis"
)

// client tells a server about deploys over its HTTP API, for `gapless deploy` and
// for the demo's deploys alike.
type client struct {
	server string // URL without a path's end
	token  string // empty: none is sent
	http   *http.Client
}

func newClient(server, token string) (*client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("the server's address %q is not a URL; allowed: http://host:port or https://host", server)
	}
	return &client{
		server: strings.TrimRight(server, "/"), token: token,
		http: &http.Client{Timeout: 10 * time.Second},
	}, nil
}

// tell sends one event. Sending the same event again is no error: the server
// stores it once.
func (c *client) tell(ctx context.Context, event analysis.StepEvent) error {
	if err := event.Validate(); err != nil {
		return err
	}
	address := c.server + "/api/v1/deploys"
	if event.Kind != analysis.StepDeployStarted {
		address += "/" + url.PathEscape(event.Deploy) + "/steps"
	}
	body, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode the step: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("prepare the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return refusal(address, response, answer)
	}
	return nil
}

// refusal words an answer that is not a success, from its problem document
// (RFC 9457) where it is one.
func refusal(address string, response *http.Response, body []byte) error {
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(body, &problem) // not one: only the status is left to say
	detail := problem.Detail
	if detail == "" {
		detail = problem.Title
	}
	if response.StatusCode == http.StatusUnauthorized && detail == "" {
		detail = "the server wants a token: set GAPLESS_TOKEN or --token-file"
	}
	if detail != "" {
		detail = ": " + detail
	}
	return fmt.Errorf("%s answered %s%s", address, response.Status, detail)
}
