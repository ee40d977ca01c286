package applog

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gapless/collectors/applog/logrules"
)

// Of a text that grows one entry is kept, however often it was looked at.
func TestTextsOfFilesThatGrow(t *testing.T) {
	const files = 20
	dir := t.TempDir()
	sink := &sink{}
	r := open(t, Config{URL: filepath.Join(dir, "app*"), Lines: logrules.Config{LogMatch: answered}}, sink)
	lines := 0
	write := func(name string, n int) {
		t.Helper()
		var text strings.Builder
		for range n {
			lines++
			text.WriteString(line(lines) + "\n")
		}
		appendTo(t, filepath.Join(dir, name), text.String())
	}
	for i := range files {
		put(t, filepath.Join(dir, fmt.Sprintf("app-%d.log", i)), "")
		write(fmt.Sprintf("app-%d.log", i), 3)
	}
	for fresh := range files {
		put(t, filepath.Join(dir, fmt.Sprintf("app-new-%d.log", fresh)), "")
		write(fmt.Sprintf("app-new-%d.log", fresh), 3)
		for i := range files {
			write(fmt.Sprintf("app-%d.log", i), 5)
		}
		r.look(t.Context(), true)
	}
	if len(sink.handled) != lines || len(r.texts) > 2*files {
		t.Errorf("%d of %d lines were read; %d texts are known of %d files", len(sink.handled), lines, len(r.texts), 2*files)
	}
}

// However many texts were read before, the latest are known again.
func TestManyTexts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "app.log")
	sink := &sink{}
	r := open(t, Config{URL: path + "*", Lines: logrules.Config{LogMatch: answered}}, sink)
	for i := range 2 * mostTexts {
		r.remember(&file{position: position{HeadLen: 1, Head: fmt.Sprint(i), Offset: 1}})
	}
	if len(r.texts) > mostTexts {
		t.Errorf("%d texts are known", len(r.texts))
	}
	text := ""
	for i := range 40 {
		text += line(i+1) + "\n"
	}
	put(t, path, text)
	r.look(t.Context(), true)
	put(t, path, line(90)+"\n")
	r.look(t.Context(), true)
	put(t, path+".1.gz", packed(t, text+line(50)+"\n"))
	r.look(t.Context(), true)
	if len(sink.handled) != 42 {
		t.Errorf("%d lines were read, want 42", len(sink.handled))
	}
}
