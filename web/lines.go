package web

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"gapless/store"
	"gapless/views"
)

// lastPage bounds the number of a page, so that its first row is a sound number.
const lastPage = 1 << 20

// sourceAndPage are what the pages about one source are asked for.
func sourceAndPage(c echo.Context) (service, source string, page int, err error) {
	service, source, page = c.QueryParam("service"), c.QueryParam("source"), 1
	if service == "" || source == "" {
		return "", "", 0, badRequest("Name a service and a source.")
	}
	if text := c.QueryParam("page"); text != "" {
		if page, err = strconv.Atoi(text); err != nil || page < 1 || page > lastPage {
			return "", "", 0, badRequest("A page is a number from 1 on.")
		}
	}
	return service, source, page, nil
}

// objects is the page of the log objects of one source.
func (s *Server) objects(c echo.Context) error {
	service, source, number, err := sourceAndPage(c)
	if err != nil {
		return err
	}
	read, err := s.cfg.Store.Objects(c.Request().Context(), service, source, (number-1)*views.PageRows, views.PageRows)
	if err != nil {
		return err
	}
	objects := make([]views.SourceObject, len(read.Rows))
	for i, row := range read.Rows {
		objects[i] = views.SourceObject(row)
	}
	page := views.NewObjectsPage(service, source, views.SourceCounts(read.LineCounts), objects, number, s.cfg.Zone)
	page.Shell = s.shell(page.Heading, "collectors")
	return s.render(c, http.StatusOK, views.Source(page))
}

// lines is the page of the lines of one source that were not understood.
func (s *Server) lines(c echo.Context) error {
	service, source, number, err := sourceAndPage(c)
	if err != nil {
		return err
	}
	read, err := s.cfg.Store.SetAsideLines(c.Request().Context(), service, source, (number-1)*views.PageRows, views.PageRows)
	if err != nil {
		return err
	}
	lines := make([]views.SetAsideLine, len(read.Rows))
	for i, row := range read.Rows {
		lines[i] = views.SetAsideLine{Object: row.Object, Line: row.Line, Offset: row.Offset, Reason: row.Reason, Detail: row.Detail, Kind: row.Kind, Raw: string(row.Raw)}
	}
	page := views.NewLinesPage(service, source, views.SourceCounts(read.LineCounts), lines, number)
	page.Shell = s.shell(page.Heading, "collectors")
	return s.render(c, http.StatusOK, views.Source(page))
}

// exportedLine is a line that was not understood. Raw is null where its bytes are
// not UTF-8, which JSON cannot hold; then they are in RawBase64.
type exportedLine struct {
	Service   string  `json:"service"`
	Source    string  `json:"source"`
	Object    string  `json:"object"`
	Line      int     `json:"line"`
	Offset    int64   `json:"offset"`
	Reason    string  `json:"reason"`
	Detail    string  `json:"detail"`
	Kind      string  `json:"kind"`
	Raw       *string `json:"raw"`
	RawBase64 []byte  `json:"raw_base64,omitempty"`
}

// linesFile is every kept line of one source that was not understood, one JSON
// object a line, as they come out of the store. A failure in the middle breaks the
// connection off, so that half a file does not pass for a whole one.
func (s *Server) linesFile(c echo.Context) error {
	service, source, _, err := sourceAndPage(c)
	if err != nil {
		return err
	}
	if err := http.NewResponseController(c.Response()).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := c.Response().Header()
	begin := func() {
		h.Set("Content-Type", "application/x-ndjson")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": strings.TrimSuffix(fileName(service+"-"+source+"-lines"), ".zip") + ".ndjson"}))
		c.Response().WriteHeader(http.StatusOK)
	}
	encoder := json.NewEncoder(c.Response())
	encoder.SetEscapeHTML(false)
	err = s.cfg.Store.EachSetAside(c.Request().Context(), service, source, func(l store.SetAsideRow) error {
		if !c.Response().Committed {
			begin()
		}
		out := exportedLine{Service: service, Source: source, Object: l.Object, Line: l.Line, Offset: l.Offset, Reason: l.Reason, Detail: l.Detail, Kind: l.Kind}
		if utf8.Valid(l.Raw) {
			text := string(l.Raw)
			out.Raw = &text
		} else {
			out.RawBase64 = l.Raw
		}
		return encoder.Encode(out)
	})
	switch {
	case err != nil && c.Response().Committed:
		s.cfg.Log.Error("export of lines broke off", "service", service, "source", source, "error", err)
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	case !c.Response().Committed:
		begin()
	}
	return nil
}
