package web

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"gapless/views"
)

// render writes a whole page or none: a component that fails leaves no half page.
func (s *Server) render(c echo.Context, status int, component templ.Component) error {
	body, err := markup(c.Request().Context(), component)
	if err != nil {
		return err
	}
	return c.HTMLBlob(status, body)
}

func markup(ctx context.Context, component templ.Component) ([]byte, error) {
	var b bytes.Buffer
	if err := component.Render(ctx, &b); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return views.Bare(b.Bytes()), nil
}

// param is a path parameter, decoded. The router hands them over as they stood
// where the path has an escaped slash.
func param(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		return decoded
	}
	return value
}
