package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"gapless/analysis"
)

// serverFlags say which server a command talks to.
type serverFlags struct {
	Server    string `placeholder:"URL" help:"The server; else GAPLESS_URL, else http://127.0.0.1:8080."`
	TokenFile string `placeholder:"FILE" help:"A file with the server's token; else GAPLESS_TOKEN."`
}

// client finds the server and the token.
func (s *serverFlags) client(p *program) (*client, error) {
	token := p.env("GAPLESS_TOKEN")
	if s.TokenFile != "" {
		body, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		token = strings.TrimSpace(string(body))
	}
	return newClient(cmp.Or(s.Server, p.env("GAPLESS_URL"), "http://"+defaultListen), token)
}

// client talks to a server over its HTTP API, for commands and for the demo's
// deploys alike.
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
// stores it once. What the server warns of was stored all the same.
func (c *client) tell(ctx context.Context, event analysis.StepEvent) (warnings []string, err error) {
	if err := event.Validate(); err != nil {
		return nil, err
	}
	address := c.server + "/api/v1/deploys"
	if event.Kind != analysis.StepDeployStarted {
		address += "/" + url.PathEscape(event.Deploy) + "/steps"
	}
	body, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("encode the step: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("prepare the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.send(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	var answer struct{ Warnings []string }
	_ = json.Unmarshal(body, &answer) // a success without our document has no warnings
	return answer.Warnings, nil
}

// deployPath is where the API has something of a deploy's, below the server's address.
func deployPath(deploy, what string) string {
	return "/api/v1/deploys/" + url.PathEscape(deploy) + "/" + what
}

// get asks for something of a deploy's: "report", "bundle". Whoever gets an answer
// closes its body.
func (c *client) get(ctx context.Context, deploy, what string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+deployPath(deploy, what), nil)
	if err != nil {
		return nil, fmt.Errorf("prepare the request: %w", err)
	}
	return c.send(request)
}

// send returns the answer where it is a success, else a *refusal or why there is none.
func (c *client) send(request *http.Request) (*http.Response, error) {
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reach the server (--server or GAPLESS_URL says where it is): %w", err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	return nil, refusalOf(request.URL.String(), response, body, c.token != "")
}

// refusal is an answer that is not a success.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// refusalOf words an answer that is not a success, from its problem document
// (RFC 9457) where it is one. What to do about a token is known better here than there.
func refusalOf(address string, response *http.Response, body []byte, withToken bool) *refusal {
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(body, &problem) // not one: only the status is left to say
	detail := problem.Detail
	if detail == "" {
		detail = problem.Title
	}
	switch {
	case response.StatusCode != http.StatusUnauthorized:
	case strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Basic"):
		detail = "the server asks for a password, and this command sends only a token: give the server a token too"
	case withToken:
		detail = "the token that was sent, of --token-file or else GAPLESS_TOKEN, is not the server's"
	default:
		detail = "the server wants its token, and none was sent: set GAPLESS_TOKEN or --token-file"
	}
	if detail != "" {
		detail = ": " + detail
	}
	return &refusal{response.StatusCode, fmt.Sprintf("%s answered %s%s", address, response.Status, detail)}
}
