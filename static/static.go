// Package static holds the style sheet, scripts and icons of the pages, and serves
// them under names that carry a hash of their content, so that a browser may keep
// them for ever. Vendored JavaScript stands in vendor/ with its version and licence.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed app.css app.js zoom.js favicon.svg vendor/*.js vendor/*.LICENSE vendor/README.md
var files embed.FS

// Prefix is the path under which [Handler] expects to be mounted.
const Prefix = "/static/"

type asset struct {
	content     []byte
	contentType string
}

var (
	urls   = map[string]string{} // name in this folder → URL
	assets = map[string]asset{}  // path below Prefix → what it holds
)

func init() {
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		extension := path.Ext(name)
		hashed := strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(sum[:])[:12] + extension
		urls[name] = Prefix + hashed
		assets[hashed] = asset{content, contentTypes[extension]}
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("static: read embedded files: %v", err))
	}
}

var contentTypes = map[string]string{
	".css":     "text/css; charset=utf-8",
	".js":      "text/javascript; charset=utf-8",
	".svg":     "image/svg+xml",
	".md":      "text/plain; charset=utf-8",
	".LICENSE": "text/plain; charset=utf-8",
}

// URL is the address of an asset by its name in this folder, for example
// "vendor/htmx.min.js". An unknown name panics: pages ask at start, not at a request.
func URL(name string) string {
	url, ok := urls[name]
	if !ok {
		panic(fmt.Sprintf("static: there is no asset %q", name))
	}
	return url
}

// Handler serves every asset under its hashed name, to be kept for ever; any other
// path is 404.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := assets[strings.TrimPrefix(r.URL.Path, Prefix)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", found.contentType)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodHead {
			return
		}
		_, _ = w.Write(found.content) // the client going away is not ours to report
	})
}

// Content is an asset by its name in this folder, for a page that carries it
// inside. An unknown name panics, as in [URL].
func Content(name string) []byte {
	return assets[strings.TrimPrefix(URL(name), Prefix)].content
}
