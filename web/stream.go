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

// maxStreams bounds the streams that are open at once.
const maxStreams = 256

// message is what a stream sends next.
type message struct {
	event string
	data  []byte
	says  []byte // what makes it differ from another; nil: its data
	last  string // name of an event that ends the stream after this one; empty goes on
}

// same says whether a reader of the other message learns nothing from this one.
func (m message) same(other message) bool {
	if m.last != other.last {
		return false
	}
	if m.says != nil {
		return bytes.Equal(m.says, other.says)
	}
	return bytes.Equal(m.data, other.data)
}

// stream sends server-sent events until the client goes, the server closes, or a
// message is the last. Streams of the same source share its messages. Without any, a
// heartbeat keeps proxies from hanging up.
func (s *Server) stream(c echo.Context, src source) error {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		c.Response().Header().Set("Retry-After", "10")
		return &failure{http.StatusServiceUnavailable, "Too many streams", "This server has as many live streams open as it allows. Try again later, or reload the page now and then."}
	}
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	defer context.AfterFunc(s.done, cancel)()
	f, leave := s.follow(src)
	defer leave()
	out := &eventWriter{w: c.Response(), control: http.NewResponseController(c.Response()), patience: s.pace.write}
	heartbeat := time.NewTicker(s.pace.heartbeat)
	defer heartbeat.Stop()
	for {
		m, version, news, ended, err := f.state()
		switch {
		case version > out.version:
			out.version = version
			if err := out.open(); err != nil {
				return gone(err)
			}
			if c.Request().Method == http.MethodHead {
				return nil
			}
			if last, err := out.send(m); last || err != nil {
				return gone(err)
			}
			continue
		case ended && ctx.Err() == nil && err != nil:
			return err // logged once; the browser asks again by itself
		case ended:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-heartbeat.C:
			if out.id == 0 {
				continue
			}
			if err := out.beat(); err != nil {
				return nil // the client went
			}
		}
	}
}

// gone turns a failed write into the end of the stream: the client hung up, or did
// not read for so long that it may as well have.
func gone(err error) error {
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// eventWriter writes server-sent events and flushes each.
type eventWriter struct {
	w        *echo.Response
	control  *http.ResponseController
	patience time.Duration // for one event to be taken
	version  int           // of the message sent last
	id       int           // of the event sent last
	opened   bool
}

// open sends the header of the stream, once.
func (e *eventWriter) open() error {
	if e.opened {
		return nil
	}
	e.opened = true
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events otherwise
	if err := e.wait(); err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	e.w.WriteHeader(http.StatusOK)
	return e.control.Flush()
}

// wait begins the time that a reader has to take what is written next.
func (e *eventWriter) wait() error {
	err := e.control.SetWriteDeadline(time.Now().Add(e.patience))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

func (e *eventWriter) beat() error { return e.write([]byte(": still here\n\n")) }

// send writes a message. It says whether it was the last.
func (e *eventWriter) send(m message) (last bool, err error) {
	if err := e.event(m.event, m.data); err != nil {
		return false, err
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
	return e.write(b.Bytes())
}

func (e *eventWriter) write(b []byte) error {
	if err := e.wait(); err != nil {
		return err
	}
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.control.Flush()
}
