package web

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// apiBundle makes a deploy's evidence bundle and sends it. It is made whole before
// the first byte is sent, so that one that cannot be made is an error, not half a
// file; and one at a time, since each holds a window in memory.
func (s *Server) apiBundle(c echo.Context) error {
	if s.cfg.Bundle == nil {
		return notFound("This server makes no bundles.")
	}
	r, id := c.Request(), param(c, "id")
	select {
	case s.bundling <- struct{}{}:
	case <-r.Context().Done():
		return r.Context().Err()
	case <-s.done.Done():
		return &failure{http.StatusServiceUnavailable, "Stopping", "The console is being stopped."}
	}
	file, err := s.bundle(r, id)
	<-s.bundling
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	h := c.Response().Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(id)}))
	http.ServeContent(c.Response(), r, "", time.Time{}, file)
	return nil
}

// bundle makes the bundle in a temporary file, which is the caller's.
func (s *Server) bundle(r *http.Request, id string) (*os.File, error) {
	file, err := os.CreateTemp("", "gapless-bundle-")
	if err != nil {
		return nil, fmt.Errorf("make a file for the bundle: %w", err)
	}
	err = s.cfg.Bundle(r.Context(), id, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	_ = os.Remove(file.Name())
	return nil, ofDeploy(err, id)
}

// fileName is a name that every file system takes.
func fileName(id string) string {
	safe := func(r rune) rune {
		if alphanumeric(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}
	return "gapless-" + strings.Map(safe, id) + ".zip"
}
