package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"gapless/analysis"
)

const (
	usersPerSecond = 25
	usersAtOnce    = 64               // one more goes away without asking
	usersStayFor   = 10 * time.Minute // traffic ends by itself when nobody closes the lab
	userPatience   = 5 * time.Second
)

// persona is a kind of user, as an access log shows it.
type persona struct {
	share     int // of a hundred
	userAgent string
	calls     []call
}

type call struct {
	share        int // of a hundred
	method, path string
	body         string
}

var personas = []persona{
	{55, "Mozilla/5.0 (Linux; Android 16; SM-S938N) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Mobile Safari/537.36", []call{
		{45, http.MethodGet, "/v1/stores/17", ""},
		{35, http.MethodGet, "/v1/stores/17/menus?lang=ko", ""},
		{20, http.MethodPost, "/v1/orders", `{"store":17,"menus":[1,2]}`},
	}},
	{30, "OrderApp/7.2.0 (iPhone; iOS 20.1) CFNetwork/3860.100.1 Darwin/26.1.0", []call{
		{50, http.MethodGet, "/v1/stores/42", ""},
		{30, http.MethodGet, "/v1/stores/42/menus", ""},
		{20, http.MethodPost, "/v1/orders", `{"store":42,"menus":[2]}`},
	}},
	{15, "StorePOS/3.4.1 (Windows NT 10.0; Win64)", []call{
		{100, http.MethodGet, "/v1/orders/5f0c2a91", ""},
	}},
}

// crowd is the simulated users. They arrive at random, at usersPerSecond on
// average, whatever the answers of those before them.
type crowd struct {
	url      string
	memory   *memory
	client   *http.Client
	rate     float64
	personas []persona
}

func newCrowd(url string, memory *memory) *crowd {
	transport := &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: usersAtOnce}
	return &crowd{url: url, memory: memory, rate: usersPerSecond, personas: personas, client: &http.Client{Transport: transport, Timeout: userPatience}}
}

// run sends until ctx ends or usersStayFor is over, and waits for the last answers.
func (c *crowd) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, usersStayFor)
	defer cancel()
	defer c.client.CloseIdleConnections()
	var asking sync.WaitGroup
	defer asking.Wait()
	places := make(chan struct{}, usersAtOnce)
	next := time.NewTimer(0)
	defer next.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		wait := rand.ExpFloat64() / c.rate
		next.Reset(min(time.Duration(wait*float64(time.Second)), time.Second))
		select {
		case places <- struct{}{}:
		default:
			continue
		}
		id := fmt.Sprintf("user-%06d", n)
		asking.Go(func() {
			defer func() { <-places }()
			c.ask(id)
		})
	}
}

// ask sends one request and remembers what came of it. It is not cut off when the
// crowd goes home: a user waits for the answer.
func (c *crowd) ask(id string) {
	who := c.personas[pick(len(c.personas), func(i int) int { return c.personas[i].share })]
	what := who.calls[pick(len(who.calls), func(i int) int { return who.calls[i].share })]
	path, _, _ := strings.Cut(what.path, "?")
	side := userSide{method: what.method, path: path, userAgent: who.userAgent}
	var body io.Reader
	if what.body != "" {
		body = strings.NewReader(what.body)
	}
	request, err := http.NewRequest(what.method, c.url+what.path, body)
	if err != nil {
		side.Outcome, side.Error = analysis.OutcomeRejected, err.Error()
		c.memory.userSaw(id, side)
		return
	}
	request.GetBody = nil // so that the transport cannot send it twice
	request.Header.Set("User-Agent", who.userAgent)
	request.Header.Set(labHeader, id)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	side.Sent = stamp(time.Now())
	side.Status, side.Outcome, err = c.outcome(request)
	side.Done = stamp(time.Now())
	if err != nil {
		side.Error = err.Error()
	}
	c.memory.userSaw(id, side)
}

// outcome judges an answer as a careful client does: by its status, then by what
// its body says.
func (c *crowd) outcome(request *http.Request) (status int, outcome analysis.Outcome, err error) {
	response, err := c.client.Do(request)
	if err != nil {
		if os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
			return 0, analysis.OutcomeTimeout, err
		}
		return 0, analysis.OutcomeConnectionError, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return response.StatusCode, analysis.OutcomeUnknown, err
	}
	targetStatus := response.StatusCode
	if response.Header.Get("Server") == balancerName {
		targetStatus = 0
	}
	outcome = analysis.LogOutcome(response.StatusCode, targetStatus)
	if outcome == analysis.OutcomeOK {
		var said struct {
			Success bool `json:"success"`
		}
		if json.Unmarshal(body, &said) != nil || !said.Success {
			outcome = analysis.OutcomeBadBody
		}
	}
	return response.StatusCode, outcome, nil
}

// pick chooses an index by its share of a hundred.
func pick(n int, share func(int) int) int {
	roll := rand.IntN(100)
	for i := range n {
		if roll -= share(i); roll < 0 {
			return i
		}
	}
	return n - 1
}
