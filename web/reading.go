package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gapless/views"
)

// keptReadings bounds the retrospectives whose progress is remembered. What they
// read is in the store and stays.
const keptReadings = 20

// readings are the retrospectives that were asked for lately.
type readings struct {
	mu  sync.Mutex
	all []*reading // oldest first
}

func newReadings() *readings { return &readings{} }

func (r *readings) find(id string) (*reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.all {
		if each.now.ID == id {
			return each, true
		}
	}
	return nil, false
}

// begin adds a reading, unless one of the same service is under way.
func (r *readings) begin(service string, from, to time.Time) (*reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.all {
		if now, _ := each.state(); now.Service == service && !now.Finished {
			return nil, false
		}
	}
	next := &reading{now: views.Reading{ID: rand.Text()[:12], Service: service, From: from, To: to}, watchers: map[chan string]bool{}}
	r.all = append(r.all, next)
	if len(r.all) > keptReadings {
		r.all = slices.Delete(r.all, 0, len(r.all)-keptReadings)
	}
	return next, true
}

// reading is one retrospective that is being read, or was.
type reading struct {
	mu       sync.Mutex
	now      views.Reading
	version  int
	watchers map[chan string]bool
}

// state is a copy of how far it is, and a number that grows with every change.
func (r *reading) state() (views.Reading, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	now.Stages = slices.Clone(r.now.Stages)
	return now, r.version
}

// subscribe returns a channel that holds a value whenever something changed.
func (r *reading) subscribe() (changes <-chan string, cancel func()) {
	watcher := make(chan string, 1)
	r.mu.Lock()
	r.watchers[watcher] = true
	r.mu.Unlock()
	return watcher, func() {
		r.mu.Lock()
		delete(r.watchers, watcher)
		r.mu.Unlock()
	}
}

func (r *reading) change(change func(*views.Reading)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now)
	r.version++
	for watcher := range r.watchers {
		select {
		case watcher <- "":
		default: // it has one waiting already
		}
	}
}

func (r *reading) progress(stage string, done, total int) {
	r.change(func(now *views.Reading) {
		for i := range now.Stages {
			if now.Stages[i].Name == stage {
				now.Stages[i].Done, now.Stages[i].Total = done, total
				return
			}
		}
		now.Stages = append(now.Stages, views.Stage{Name: stage, Done: done, Total: total})
	})
}

// read starts to read a span in the background and returns the reading's id; not
// where one of the same service is under way.
func (s *Server) read(service string, from, to time.Time) (id string, ok bool) {
	reading, ok := s.readings.begin(service, from, to)
	if !ok {
		return "", false
	}
	s.running.Go(func() {
		problem := s.collect(reading, service, from, to)
		ids, err := s.deploysFound(service, from, to)
		if err != nil && problem == "" {
			problem = "The deploys of the span could not be looked up."
			s.cfg.Log.Error("look up deploys of a retrospective", "service", service, "error", err)
		}
		reading.change(func(now *views.Reading) {
			now.Finished, now.Problem, now.Deploys, now.SpanURL = true, problem, ids, views.SpanURL(service, from, to)
		})
	})
	return reading.now.ID, true
}

// collect reads the sources and returns what went wrong, in words.
func (s *Server) collect(reading *reading, service string, from, to time.Time) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			s.cfg.Log.Error("panic in a retrospective", "service", service, "error", fmt.Sprint(r))
			problem = "Something failed that should not have while it was read."
		}
	}()
	err := s.cfg.Collect(s.done, service, from, to, reading.progress)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return "The console was stopped before everything was read."
	}
	s.cfg.Log.Warn("read a retrospective", "service", service, "error", err)
	return err.Error()
}

func (s *Server) deploysFound(service string, from, to time.Time) ([]string, error) {
	deploys, err := s.cfg.Store.DeploysIn(context.WithoutCancel(s.done), service, from, to)
	ids := make([]string, len(deploys))
	for i := range deploys {
		ids[i] = deploys[i].ID
	}
	return ids, err
}
