package lab

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
)

// customer sends a scenario's own requests through the balancer, as one kind of user.
// Like the crowd's they are users' requests, and remembered with what their sender
// saw.
type customer struct {
	url, userAgent string
	memory         *memory
	client         *http.Client
}

func newCustomer(l *Lab, userAgent string) *customer {
	return &customer{
		url: l.url, userAgent: userAgent, memory: l.memory,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: userPatience},
	}
}

// said is what an answer of the application says in its body.
type said struct {
	Success bool           `json:"success"`
	Reason  string         `json:"reason"`
	Data    map[string]any `json:"data"`
}

// text is a string in the answer's data, empty where there is none.
func (s said) text(key string) string {
	value, _ := s.Data[key].(string)
	return value
}

// ask sends one request, once, under a number of its own, and judges the answer by
// its status and then by what its body says.
func (c *customer) ask(number, method, path, body string) (view UserView, answer said) {
	bare, _, _ := strings.Cut(path, "?")
	side := userSide{method: method, path: bare, userAgent: c.userAgent}
	side.Sent = stamp(time.Now())
	side.Status, side.Outcome, answer = 0, analysis.OutcomeConnectionError, said{}
	status, text, err := c.send(number, method, path, body)
	side.Done, side.Status = stamp(time.Now()), status
	switch {
	case err != nil && (os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded)):
		side.Outcome, side.Error = analysis.OutcomeTimeout, err.Error()
	case err != nil:
		side.Error = err.Error()
	default:
		side.Outcome = analysis.LogOutcome(status, status)
		if strings.HasPrefix(string(text), "<html>") { // the balancer made it
			side.Outcome = analysis.LogOutcome(status, 0)
		}
		if json.Unmarshal(text, &answer) != nil || !answer.Success {
			if side.Outcome == analysis.OutcomeOK {
				side.Outcome = analysis.OutcomeBadBody
			}
		}
	}
	c.memory.userSaw(number, side)
	return side.UserView, answer
}

func (c *customer) send(number, method, path, body string) (status int, text []byte, err error) {
	request, err := http.NewRequestWithContext(context.Background(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.GetBody = nil // so that the transport cannot send it twice
	request.Header.Set("User-Agent", c.userAgent)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(labHeader, number)
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	return response.StatusCode, text, err
}

// pace calls do for n = 1, 2, … in a goroutine each, every so often and whatever
// became of those before, until ctx ends; then it waits for them. Where the machine
// is late, it makes up for it: the number of calls depends on the time only.
func pace(ctx context.Context, every time.Duration, do func(n int)) {
	var under sync.WaitGroup
	defer under.Wait()
	began := time.Now()
	for n := 1; ; n++ {
		if sleep(ctx, time.Until(began.Add(time.Duration(n-1)*every))) != nil {
			return
		}
		under.Go(func() { do(n) })
	}
}

// times calls do for n = 1 to count as [pace] does, and waits for them.
func times(ctx context.Context, count int, every time.Duration, do func(n int)) {
	counted, stop := context.WithCancel(ctx)
	defer stop()
	pace(counted, every, func(n int) {
		if n >= count {
			stop()
		}
		if n <= count {
			do(n)
		}
	})
}
