package static

import (
	"net/http/httptest"
	"regexp"
	"testing"
)

func TestAssetsAreServedUnderHashedNames(t *testing.T) {
	for name, contentType := range map[string]string{
		"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"favicon.svg": "image/svg+xml", "vendor/htmx.min.js": "text/javascript; charset=utf-8",
	} {
		url := URL(name)
		if !regexp.MustCompile(`^/static/.+\.[0-9a-f]{12}\.[a-z]+$`).MatchString(url) {
			t.Errorf("%s: URL %q carries no hash", name, url)
		}
		got := httptest.NewRecorder()
		Handler().ServeHTTP(got, httptest.NewRequest("GET", url, nil))
		if got.Code != 200 || got.Header().Get("Content-Type") != contentType || got.Body.Len() == 0 {
			t.Errorf("%s: %d %q, %d bytes", url, got.Code, got.Header().Get("Content-Type"), got.Body.Len())
		}
		if got.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", url, got.Header().Get("Cache-Control"))
		}
	}
	got := httptest.NewRecorder()
	Handler().ServeHTTP(got, httptest.NewRequest("GET", Prefix+"app.css", nil))
	if got.Code != 404 {
		t.Errorf("a name without hash answered %d, want 404", got.Code)
	}
}

func TestUnknownAssetPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("URL of an unknown asset did not panic")
		}
	}()
	URL("nothing.css")
}
