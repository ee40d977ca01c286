package store

import (
	"maps"
	"slices"
	"sync"
)

// subscriber holds the services that changed since its reader last looked.
type subscriber struct {
	mu      sync.Mutex
	pending map[string]struct{}
	wake    chan struct{} // holds one
	done    chan struct{}
	once    sync.Once
}

func (s *subscriber) stop() { s.once.Do(func() { close(s.done) }) }

// Subscribe returns a channel of the names of services, each after a commit that
// changed something of it. Changes that come faster than they are received are
// joined into one, so a slow reader never holds up a writer and never misses the
// last. The channel is closed by cancel and by [DB.Close].
func (db *DB) Subscribe() (changes <-chan string, cancel func()) {
	s := &subscriber{pending: map[string]struct{}{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	out := make(chan string)
	db.mu.Lock()
	if db.closed {
		s.stop()
	} else {
		db.subscribers[s] = struct{}{}
	}
	db.mu.Unlock()
	go s.pump(out)
	return out, func() {
		db.mu.Lock()
		delete(db.subscribers, s)
		db.mu.Unlock()
		s.stop()
	}
}

func (s *subscriber) pump(out chan<- string) {
	defer close(out)
	for {
		select {
		case <-s.done:
			return
		case <-s.wake:
		}
		for _, name := range s.take() {
			select {
			case <-s.done:
				return
			case out <- name:
			}
		}
	}
}

func (s *subscriber) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.pending))
	clear(s.pending)
	return names
}

func (db *DB) notify(service string) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for s := range db.subscribers {
		s.mu.Lock()
		s.pending[service] = struct{}{}
		s.mu.Unlock()
		select {
		case s.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}
