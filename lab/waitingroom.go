package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// waitingRoom is the sorted set and the tokens of the third report, which keeps them
// in Redis: who waits, in order of entry, and who may order now.
type waitingRoom struct {
	mu     sync.Mutex
	queue  []string
	tokens map[string]string // by the waiting user's id
	active map[string]bool   // tokens that were issued and not used, by user
	issued int
}

// tokenTakes is how long it takes to issue a token after its user was taken from the
// queue. In between, neither knows the user: that is the report's 404.
const tokenTakes = 30 * time.Millisecond

func newWaitingRoom() *waitingRoom {
	return &waitingRoom{tokens: map[string]string{}, active: map[string]bool{}}
}

// position is what a waiting user is told.
type position struct {
	State    string `json:"state"`    // WAITING or READY
	Position int    `json:"position"` // from 1
	Waiting  int    `json:"waiting"`
	Token    string `json:"token,omitempty"`
}

const (
	queueWaiting = "WAITING"
	queueReady   = "READY"
)

func (q *waitingRoom) routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /queue/{user}", func(_ http.ResponseWriter, r *http.Request) { q.enter(r.PathValue("user")) })
	mux.HandleFunc("GET /queue/{user}", func(w http.ResponseWriter, r *http.Request) {
		p, ok := q.position(r.PathValue("user"))
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answerJSON(w, p)
	})
	mux.HandleFunc("POST /admit", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ TargetActive int }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answerJSON(w, map[string]int{"admitted": q.admit(asked.TargetActive)})
	})
	mux.HandleFunc("DELETE /tokens/{token}", func(w http.ResponseWriter, r *http.Request) {
		if !q.use(r.URL.Query().Get("user"), r.PathValue("token")) {
			w.WriteHeader(http.StatusConflict)
		}
	})
}

// enter puts a user at the end of the queue; whoever is in it keeps the place (ZADD
// NX).
func (q *waitingRoom) enter(user string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.queue, user) {
		q.queue = append(q.queue, user)
	}
}

// position is false for whoever is neither in the queue nor has a token.
func (q *waitingRoom) position(user string) (position, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if token := q.tokens[user]; token != "" {
		return position{State: queueReady, Token: token}, true
	}
	if at := slices.Index(q.queue, user); at >= 0 {
		return position{State: queueWaiting, Position: at + 1, Waiting: len(q.queue)}, true
	}
	return position{}, false
}

// admit takes as many users from the queue as are missing to targetActive (ZPOPMIN)
// and then issues their tokens.
func (q *waitingRoom) admit(targetActive int) (admitted int) {
	q.mu.Lock()
	admitted = min(max(targetActive-len(q.active), 0), len(q.queue))
	users := slices.Clone(q.queue[:admitted])
	q.queue = slices.Delete(q.queue, 0, admitted)
	for _, user := range users {
		q.active[user] = true
	}
	q.mu.Unlock()
	if admitted == 0 {
		return 0
	}
	time.Sleep(tokenTakes)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, user := range users {
		q.issued++
		q.tokens[user] = fmt.Sprintf("token-%06d", q.issued)
	}
	return admitted
}

// use compares a token and deletes it, as one step: one token is one order.
func (q *waitingRoom) use(user, token string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if token == "" || q.tokens[user] != token {
		return false
	}
	delete(q.tokens, user)
	delete(q.active, user)
	return true
}
