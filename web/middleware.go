package web

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// contentPolicy lets a page load only what this server has, and nothing inline.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

func secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // assets say otherwise for themselves
		return next(c)
	}
}

const requestIDHeader = "X-Request-Id"

// requestID names every request. A name that a proxy gave is kept where it is harmless.
func (s *Server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(requestIDHeader)
		if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return !strings.ContainsRune("-_.:", r) && !alphanumeric(r) }) {
			id = rand.Text()[:16]
		}
		c.Response().Header().Set(requestIDHeader, id)
		return next(c)
	}
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func requestIDOf(c echo.Context) string { return c.Response().Header().Get(requestIDHeader) }

// recovered turns a panic into an internal error, with its stack in the log.
func (s *Server) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				if failed, ok := r.(error); ok && errors.Is(failed, http.ErrAbortHandler) {
					panic(r)
				}
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}

// limitBody bounds the size of a body and the time that it may take to come. The
// time begins before anything reads the body, also where nothing will.
func (s *Server) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.ContentLength != 0 {
			r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBody)
			err := http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(s.pace.body))
			if err != nil && !errors.Is(err, http.ErrNotSupported) {
				return fmt.Errorf("bound the time of a body: %w", err)
			}
		}
		return next(c)
	}
}

// readBody reads the body whole, then takes its time limit away again: it would end
// whatever outlasts it.
func readBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength == 0 {
			return next(c)
		}
		body, err := io.ReadAll(r.Body)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return &failure{http.StatusRequestTimeout, "Body too slow", "The body did not come in time."}
		}
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		err = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{})
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return fmt.Errorf("take the time limit of a body away: %w", err)
		}
		return next(c)
	}
}

// crossOrigin refuses what another site makes a browser send.
func (s *Server) crossOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		if err := protection.Check(c.Request()); err != nil {
			return &failure{http.StatusForbidden, "Forbidden", "The request came from another site."}
		}
		return next(c)
	}
}
