package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// Whatever a log line holds, the page shows it harmless and the export gives it back
// byte for byte.
func TestHostileLinesStayBytes(t *testing.T) {
	s := newServer(t, Config{})
	hostile := []string{`<script>alert(1)</script>`, "\xff\xfe\x00 not UTF-8", "\u202egnp.exe", `"quoted" \x22 \\`, strings.Repeat("x", 5000), "", "\x1b[31mred"}
	b := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Node: "10.0.0.1", Key: `a/<b>"&.log.gz`, From: began, To: began.Add(5 * time.Minute), Lines: 100, Understood: 40, SetAside: 60, Unmatched: 3}}
	for i := range 59 { // one was not kept
		raw := "plain"
		if i < len(hostile) {
			raw = hostile[i]
		}
		b.Lines = append(b.Lines, analysis.SetAsideLine{Line: i + 1, Offset: int64(i * 7), Reason: "too_few_fields", Detail: "<i>", Kind: "alb", Raw: []byte(raw)})
	}
	if _, err := s.db.AddObject(t.Context(), "orders", b); err != nil {
		t.Fatal(err)
	}
	get := func(path string, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil))
		if w.Code != status {
			t.Fatalf("%s: status %d, want %d", path, w.Code, status)
		}
		return w
	}
	const query = "?service=orders&source=alb"
	page := get("/collectors/lines"+query, 200).Body.String()
	for _, want := range []string{"&lt;script&gt;alert(1)", `\xff\xfe\x00 not UTF-8`, `\u{202e}gnp.exe`, `\x1b[31mred`, "100 lines = 40 understood + 60 set aside, in 1 object",
		"3 are not of this service", "The text of 1 line is not kept", "1–50 of 59", "page=2", "(3,000 bytes more)", "a/&lt;b&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script>alert", "\x00", "\u202e", "\x1b", "<i>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if second := get("/collectors/lines"+query+"&page=2", 200).Body.String(); !strings.Contains(second, "51–59 of 59") || strings.Contains(second, `rel="next"`) {
		t.Error("the second page is not the last nine lines")
	}
	objects := get("/collectors/objects"+query, 200).Body.String()
	for _, want := range []string{"a/&lt;b&gt;&#34;&amp;.log.gz", "10.0.0.1", `href="/collectors/lines.ndjson?service=orders&amp;source=alb"`} {
		if !strings.Contains(objects, want) {
			t.Errorf("the list of objects lacks %q", want)
		}
	}
	if all := get("/collectors", 200).Body.String(); !strings.Contains(all, `href="/collectors/lines?service=orders&amp;source=alb"`) {
		t.Error("the collectors page does not lead to the lines")
	}

	export := get("/collectors/lines.ndjson"+query, 200)
	if kind := export.Header().Get("Content-Type"); kind != "application/x-ndjson" || !strings.Contains(export.Header().Get("Content-Disposition"), "gapless-orders-alb-lines.ndjson") {
		t.Errorf("headers %v", export.Header())
	}
	lines := bytes.Split(bytes.TrimSuffix(export.Body.Bytes(), []byte("\n")), []byte("\n"))
	if len(lines) != 59 {
		t.Fatalf("%d lines exported", len(lines))
	}
	for i, text := range lines[:len(hostile)] {
		var line exportedLine
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		got := line.RawBase64
		if line.Raw != nil {
			got = []byte(*line.Raw)
		}
		if string(got) != hostile[i] || line.Line != i+1 || line.Offset != int64(i*7) || line.Object != b.Key || line.Reason != "too_few_fields" {
			t.Errorf("line %d came back as %q: %+v", i+1, got, line)
		}
	}
	for path, status := range map[string]int{
		"/collectors/lines": 400, "/collectors/lines" + query + "&page=0": 400, "/collectors/lines" + query + "&page=x": 400,
		"/collectors/lines" + query + fmt.Sprintf("&page=%d", lastPage+1): 400, "/collectors/lines" + query + "&page=9": 200,
		"/collectors/lines?service=orders&source=none": 404, "/collectors/lines.ndjson?service=orders&source=none": 404, "/collectors/objects?service=none&source=alb": 404,
	} {
		get(path, status)
	}
}
