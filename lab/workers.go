package lab

import (
	"net/http"
	"sync/atomic"
)

// workers are the threads of a node's web server. Every request takes one from its
// arrival to its answer; where there are none left it waits, whatever it asks for.
type workers struct {
	places chan struct{} // nil: a thread for everybody, as with virtual threads
	busy   atomic.Int64
}

func newWorkers(most int) *workers {
	w := &workers{}
	if most > 0 {
		w.places = make(chan struct{}, most)
	}
	return w
}

// most is how many requests can be worked on at once. Without a bound of threads it
// is Tomcat's bound on connections.
func (w *workers) most() int {
	if w.places == nil {
		return 8192
	}
	return cap(w.places)
}

// serve hands requests to next as workers become free. One whose client has gone
// by then is dropped; Tomcat would find that out a moment later, when it answers.
func (w *workers) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.places != nil {
			select {
			case w.places <- struct{}{}:
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
			defer func() { <-w.places }()
		}
		w.busy.Add(1)
		defer w.busy.Add(-1)
		next.ServeHTTP(out, r)
	})
}
