package runcode

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestStableWords(t *testing.T) {
	for status, want := range map[int]string{401: "forbidden", 403: "forbidden", 404: "not_found", 429: "throttled", 200: "", 400: "", 500: "", 503: "", 0: ""} {
		if got := OfStatus(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
	for want, err := range map[string]error{"": nil, "not_found": fmt.Errorf("open: %w", fs.ErrNotExist), "forbidden": errors.Join(fs.ErrPermission), "error": errors.New("odd")} {
		if got := OfFile(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
