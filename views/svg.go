package views

import (
	"fmt"
	"net/url"
	"strconv"
)

func px(v int) string { return strconv.Itoa(v) }

func viewBox(t Timeline) string { return fmt.Sprintf("0 0 %d %d", t.Width, t.Height) }

func down(y int) string { return fmt.Sprintf("translate(0 %d)", y) }

func namesBox(t Timeline) string { return fmt.Sprintf("0 0 %d %d", t.Left, t.Height) }

func span(c Cell) string { return strconv.Itoa(max(c.Span, 1)) }

func serviceURL(service string) string { return "/?service=" + url.QueryEscape(service) }
