package web

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// source is where the messages of a stream come from. Streams whose sources have the
// same key share one [feed].
type source struct {
	key       string        // of everything that the messages depend on
	service   string        // whose changes concern it; empty: of any
	least     time.Duration // least time between two messages
	subscribe func() (changes <-chan string, cancel func())
	next      func(context.Context) (message, error)
}

// feed makes the messages of one source, once for all the streams that follow it. It
// asks for a message at once, then after every change that concerns it, at most once
// per least, and at every heartbeat, since time alone changes some things.
type feed struct {
	source
	cancel    context.CancelFunc
	followers int // guarded by feeds.mu

	mu      sync.Mutex
	latest  message
	err     error
	version int           // grows with every message that differs from the one before
	news    chan struct{} // closed and replaced when version grows or the feed ends
	ended   bool
}

// feeds are those that have followers.
type feeds struct {
	mu  sync.Mutex
	all map[string]*feed
}

// follow joins the feed of a source, which begins with its first follower and ends
// with its last. Panics of next become errors.
func (s *Server) follow(src source) (f *feed, leave func()) {
	s.feeds.mu.Lock()
	defer s.feeds.mu.Unlock()
	f = s.feeds.all[src.key]
	if s.done.Err() != nil {
		return &feed{ended: true}, func() {}
	}
	if f == nil || f.over() {
		ctx, cancel := context.WithCancel(s.done)
		f = &feed{source: src, cancel: cancel, news: make(chan struct{})}
		s.feeds.all[src.key] = f
		changes, unsubscribe := src.subscribe()
		s.running.Go(func() {
			defer unsubscribe()
			f.run(ctx, changes, s.pace.heartbeat)
		})
	}
	f.followers++
	return f, func() {
		s.feeds.mu.Lock()
		defer s.feeds.mu.Unlock()
		if f.followers--; f.followers == 0 {
			f.cancel()
			if s.feeds.all[src.key] == f {
				delete(s.feeds.all, src.key)
			}
		}
	}
}

func (f *feed) run(ctx context.Context, changes <-chan string, every time.Duration) {
	defer f.end(nil)
	beat := time.NewTicker(every)
	defer beat.Stop()
	var due <-chan time.Time // set while a change waits for its turn
	for {
		asked := time.Now()
		m, err := f.ask(ctx)
		if err != nil {
			if ctx.Err() == nil {
				f.end(err)
			}
			return
		}
		f.tell(m)
		if m.last != "" {
			return
		}
		due = nil
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return
			case changed, ok := <-changes:
				if !ok {
					return // the store is closing
				}
				if due == nil && (f.service == "" || changed == f.service) {
					due = time.After(max(f.least-time.Since(asked), 0))
				}
			case <-due:
				waiting = false
			case <-beat.C:
				waiting = false
			}
		}
	}
}

func (f *feed) ask(ctx context.Context) (m message, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f.next(ctx)
}

// tell makes a message the latest one, unless it says what the one before says.
func (f *feed) tell(m message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version > 0 && m.same(f.latest) {
		return
	}
	f.latest = m
	f.version++
	close(f.news)
	f.news = make(chan struct{})
}

// end lets the followers know that nothing more comes, and why.
func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.ended, f.err = true, err
	close(f.news)
	f.news = make(chan struct{})
}

func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// state is the latest message with its version, 0 while there is none, and a channel
// that is closed when there is something newer.
func (f *feed) state() (m message, version int, news <-chan struct{}, ended bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest, f.version, f.news, f.ended, f.err
}
