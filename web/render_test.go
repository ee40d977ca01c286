package web

import (
	"context"
	"io"
	"testing"

	"github.com/a-h/templ"
)

// Every page and every piece of one goes through here: nothing hides in them.
func TestMarkupHidesNothing(t *testing.T) {
	page := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<code title=\"/\u202e\">\x00\x1b[31m\u0085</code>\n")
		return err
	})
	body, err := markup(t.Context(), page)
	if want := `<code title="/\u202e">\u0000\u001b[31m\u0085</code>` + "\n"; err != nil || string(body) != want {
		t.Errorf("%q, %v", body, err)
	}
}
