package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// message is what a stream sends next.
type message struct {
	event string
	data  []byte
	last  string // name of an event that ends the stream after this one; empty goes on
}

// stream sends server-sent events until the client goes, the server closes, or a
// message is the last. It asks next for a message at once, then after every change of
// a service that concerns it (empty: of any), at most once per least, and sends it
// where it differs from the one before. Without any, a heartbeat keeps proxies from
// hanging up; then next is asked too, since time alone changes some things.
func (s *Server) stream(c echo.Context, service string, least time.Duration, changes <-chan string, next func(context.Context) (message, error)) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	first, err := next(ctx)
	if err != nil {
		return err
	}
	out := &eventWriter{w: c.Response(), control: http.NewResponseController(c.Response())}
	if err := out.open(); err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	if ended, err := out.send(first); ended || err != nil {
		return gone(err)
	}
	heartbeat := time.NewTicker(s.pace.heartbeat)
	defer heartbeat.Stop()
	var due <-chan time.Time // set while a change waits for its turn
	lastSent := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case changed, ok := <-changes:
			if !ok {
				return nil // the store is closing
			}
			if due == nil && (service == "" || changed == service) {
				due = time.After(max(least-time.Since(lastSent), 0))
			}
			continue
		case <-due:
			due = nil
		case <-heartbeat.C:
			if err := out.beat(); err != nil {
				return nil // the client went
			}
		}
		lastSent = time.Now()
		changed, err := next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err // logged once; the browser asks again by itself
		}
		if ended, err := out.send(changed); ended || err != nil {
			return gone(err)
		}
	}
}

// gone turns a failed write into the end of the stream: the client hung up.
func gone(err error) error {
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// eventWriter writes server-sent events and flushes each.
type eventWriter struct {
	w       *echo.Response
	control *http.ResponseController
	sent    []byte
	id      int
}

// open sends the header of the stream and takes away the server's write deadline.
func (e *eventWriter) open() error {
	if err := e.control.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events otherwise
	e.w.WriteHeader(http.StatusOK)
	return e.control.Flush()
}

func (e *eventWriter) beat() error {
	if _, err := e.w.Write([]byte(": still here\n\n")); err != nil {
		return err
	}
	return e.control.Flush()
}

// send writes a message unless it equals the one before. It says whether it was the last.
func (e *eventWriter) send(m message) (ended bool, err error) {
	if e.id == 0 || !bytes.Equal(m.data, e.sent) {
		e.sent = m.data
		if err := e.event(m.event, m.data); err != nil {
			return false, err
		}
	}
	if m.last == "" {
		return false, nil
	}
	return true, e.event(m.last, []byte("end"))
}

func (e *eventWriter) event(name string, data []byte) error {
	e.id++
	var b bytes.Buffer
	b.WriteString("event: " + name + "\nid: " + strconv.Itoa(e.id) + "\n")
	for line := range bytes.Lines(data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if _, err := e.w.Write(b.Bytes()); err != nil {
		return err
	}
	return e.control.Flush()
}
