package lab

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

// orderBook is the orders in the database.
type orderBook struct {
	mu           sync.Mutex
	acknowledged map[string]bool // by the order's key
}

func newOrderBook() *orderBook { return &orderBook{acknowledged: map[string]bool{}} }

func (b *orderBook) routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /orders/{key}", func(_ http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if key := r.PathValue("key"); !b.acknowledged[key] {
			b.acknowledged[key] = false
		}
	})
	mux.HandleFunc("GET /orders/{key}", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, there := b.acknowledged[r.PathValue("key")]; !there {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	mux.HandleFunc("POST /orders/{key}/ack", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, there := b.acknowledged[r.PathValue("key")]; !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		b.acknowledged[r.PathValue("key")] = true
	})
}

// keys are the orders that there are, in order, and how many are acknowledged.
func (b *orderBook) keys() (all []string, acknowledged int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, done := range b.acknowledged {
		if done {
			acknowledged++
		}
	}
	return slices.Sorted(maps.Keys(b.acknowledged)), acknowledged
}
