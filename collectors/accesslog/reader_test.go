package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

var (
	testFrom = time.Date(2026, 10, 14, 2, 20, 0, 0, time.UTC)
	testTo   = time.Date(2026, 10, 14, 2, 50, 0, 0, time.UTC)
)

// objectKey is a key in AWS's layout whose object ends at the given time.
func objectKey(end, random string) string {
	at, err := time.Parse("2006-01-02 15:04", end)
	if err != nil {
		panic(err)
	}
	return "AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2/" + at.Format("2006/01/02/") +
		"123456789012_elasticloadbalancing_ap-northeast-2_app.shop-public.50dc6c495c0c9188_" + at.Format("20060102T1504Z") +
		"_203.0.113.200_" + random + ".log.gz"
}

func TestFolderInAWSLayout(t *testing.T) {
	root := t.TempDir()
	lines := []byte(logLine{}.String() + logLine{}.String())
	wanted := []string{objectKey("2026-10-14 02:25", "a"), objectKey("2026-10-14 02:35", "a"), objectKey("2026-10-14 02:35", "b")}
	for _, key := range wanted {
		writeObject(t, root, key, compress(lines))
	}
	writeObject(t, root, objectKey("2026-10-14 01:00", "a"), compress(lines)) // too early
	writeObject(t, root, objectKey("2026-10-14 09:00", "a"), compress(lines)) // too late
	writeObject(t, root, "AWSLogs/123456789012/ELBAccessLogTestFile", []byte("Enable AccessLog for ELB: app/x at 2020-11-20T09:55:52.806Z"))
	writeObject(t, root, strings.Replace(wanted[0], "123456789012_elastic", "health_check_log_123456789012_elastic", 1), compress([]byte("x\n")))
	sink := &memory{}
	r := newReader(t, "file://"+root, sink)
	var calls []string
	progress := func(done, total int, _ int64) { calls = append(calls, fmt.Sprintf("%d/%d", done, total)) }
	if err := r.Collect(t.Context(), testFrom, testTo, progress); err != nil {
		t.Fatal(err)
	}
	if got := sink.keys(); !slices.Equal(got, wanted) {
		t.Errorf("read %v, want %v", got, wanted)
	}
	if want := []string{"0/3", "1/3", "2/3", "3/3"}; !slices.Equal(calls, want) {
		t.Errorf("progress %v", calls)
	}
	run := sink.lastRun()
	if run.Code != "" || run.Rows != 6 || run.Source != "alb" || run.Kind != "alb" || !run.From.Equal(testFrom) || !run.To.Equal(testTo) {
		t.Errorf("run %+v", run)
	}
	o := sink.objects[wanted[1]]
	if o.Node != "203.0.113.200" || !o.From.Equal(time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)) || !o.To.Equal(o.From.Add(5*time.Minute)) || o.Object.Lines != 2 {
		t.Errorf("object %+v", o.Object)
	}
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	for key, n := range sink.adds {
		if n != 1 {
			t.Errorf("%s was added %d times", key, n)
		}
	}
	if len(sink.runs) != 2 || sink.lastRun().Rows != 0 {
		t.Errorf("%d runs, last %+v", len(sink.runs), sink.lastRun())
	}
}

// An object that holds the last five minutes of a day lies under the next day.
func TestObjectOfMidnight(t *testing.T) {
	root := t.TempDir()
	key := objectKey("2026-10-15 00:00", "a")
	writeObject(t, root, key, compress([]byte(logLine{}.String())))
	sink := &memory{}
	day := time.Date(2026, 10, 14, 0, 0, 0, 0, time.UTC)
	if err := newReader(t, "file://"+root, sink).Collect(t.Context(), day.Add(23*time.Hour), day.Add(24*time.Hour-time.Minute), nil); err != nil {
		t.Fatal(err)
	}
	if got := sink.keys(); !slices.Equal(got, []string{key}) {
		t.Errorf("read %v", got)
	}
}

func TestPlainFiles(t *testing.T) {
	root := t.TempDir()
	writeObject(t, root, "one.log", []byte(logLine{}.String()))
	writeObject(t, root, "deep/two.log.gz", []byte(logLine{}.String())) // plain text under a .gz name
	writeObject(t, root, "deep/three.gz", compress([]byte(logLine{}.String()+"nothing of ours")))
	writeObject(t, root, "deep/empty.log", nil)
	old := testFrom.Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, "deep/empty.log"), old, old); err != nil {
		t.Fatal(err)
	}
	sink := &memory{}
	for range 2 { // the second Reader knows only what the sink knows
		r := newReader(t, "file://"+root, sink)
		for range 2 {
			if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]string{"one.log": "1=1+0", "deep/two.log.gz": "1=1+0", "deep/three.gz": "2=1+1", "deep/empty.log": "0=0+0"}
	for key, count := range want {
		o := sink.objects[key].Object
		if got := fmt.Sprintf("%d=%d+%d", o.Lines, o.Understood, o.SetAside); got != count || sink.adds[key] != 1 || o.Partial {
			t.Errorf("%s: %s, want %s; added %d times; partial %v", key, got, count, sink.adds[key], o.Partial)
		}
	}
	if len(sink.objects) != len(want) {
		t.Errorf("read %v", sink.keys())
	}
	o := sink.objects["one.log"].Object
	if !o.From.Equal(time.Date(2026, 10, 14, 2, 30, 1, 190e6, time.UTC)) || !o.To.Equal(o.From.Add(10*time.Millisecond)) {
		t.Errorf("one.log from %v to %v", o.From, o.To)
	}
	single := &memory{}
	if err := newReader(t, "file://"+root+"/one.log", single).Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if got := single.keys(); !slices.Equal(got, []string{"one.log"}) {
		t.Errorf("of a single file: %v", got)
	}
}

func TestFolderThatVanishes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "logs")
	sink := &memory{}
	r := newReader(t, "file://"+root, sink)
	err := r.Collect(t.Context(), testFrom, testTo, nil)
	if err == nil {
		t.Fatal("no error")
	}
	run := sink.lastRun()
	if run.Code != analysis.CodeNotFound || !strings.Contains(run.Error, "list log files") || !strings.Contains(run.Error, root) ||
		!run.From.Equal(testFrom) || !run.To.Equal(testTo) {
		t.Errorf("run %+v", run)
	}
	writeObject(t, root, objectKey("2026-10-14 02:25", "a"), compress([]byte(logLine{}.String())))
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || sink.lastRun().Code != "" {
		t.Errorf("after it came back: %v, %+v", err, sink.lastRun())
	}
}

// A file that is cut short is partial, is read again when it has changed or after a
// while, and then counts whole.
func TestPartialObjectIsReadAgain(t *testing.T) {
	root := t.TempDir()
	key := objectKey("2026-10-14 02:25", "a")
	packed := compress(generate(100))
	writeObject(t, root, key, packed[:len(packed)/2])
	sink := &memory{}
	now := testTo
	r := newReader(t, "file://"+root, sink, func(c *Config) { c.Now = func() time.Time { return now } })
	collect := func() {
		t.Helper()
		if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
			t.Fatal(err)
		}
	}
	collect()
	if o := sink.objects[key].Object; !o.Partial || o.Understood == 0 {
		t.Errorf("first %+v", o)
	}
	now = now.Add(30 * time.Second)
	collect()
	if sink.adds[key] != 1 {
		t.Errorf("read again at once, though nothing changed")
	}
	now = now.Add(31 * time.Second)
	collect()
	if sink.adds[key] != 2 {
		t.Errorf("not read again after a minute")
	}
	writeObject(t, root, key, packed)
	collect()
	if o := sink.objects[key].Object; o.Partial || o.Understood != 100 {
		t.Errorf("last %+v", o)
	}
}

func TestUnreadableObject(t *testing.T) {
	root := t.TempDir()
	good, bad := objectKey("2026-10-14 02:25", "a"), objectKey("2026-10-14 02:35", "b")
	writeObject(t, root, good, compress([]byte(logLine{}.String())))
	writeObject(t, root, bad, compress([]byte(logLine{}.String())))
	sink := &memory{}
	r := newReader(t, "file://"+root, sink, func(c *Config) { c.Now = func() time.Time { return testTo } })
	r.place = unreadable{r.place, bad}
	err := r.Collect(t.Context(), testFrom, testTo, nil)
	if err == nil || !strings.Contains(err.Error(), "1 of 2 objects") {
		t.Errorf("error %v", err)
	}
	if o := sink.objects[bad].Object; !strings.Contains(o.Error, "input/output error") || o.Lines != 0 {
		t.Errorf("object %+v", o)
	}
	if o := sink.objects[good].Object; o.Error != "" || o.Understood != 1 {
		t.Errorf("the other object %+v", o)
	}
	run := sink.lastRun()
	if run.Code != analysis.CodeError || !run.From.Equal(time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)) || !run.To.Equal(time.Date(2026, 10, 14, 2, 35, 0, 0, time.UTC)) {
		t.Errorf("run %+v", run)
	}
	if len(sink.runs) != 2 || sink.runs[0].Code != "" || !sink.runs[1].At.After(sink.runs[0].At) {
		t.Errorf("runs %+v", sink.runs)
	}
	r.place = r.place.(unreadable).place
	r.retries = map[string]retry{}
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if o := sink.objects[bad].Object; o.Error != "" || o.Understood != 1 {
		t.Errorf("later %+v", o)
	}
}

func TestStoreFailureEndsThePass(t *testing.T) {
	root := t.TempDir()
	writeObject(t, root, objectKey("2026-10-14 02:25", "a"), compress([]byte(logLine{}.String())))
	sink := &memory{fail: errors.New("disk is full")}
	r := newReader(t, "file://"+root, sink)
	if err := r.Collect(t.Context(), testFrom, testTo, nil); !errors.Is(err, sink.fail) {
		t.Errorf("error %v", err)
	}
	if run := sink.lastRun(); run.Code != analysis.CodeError {
		t.Errorf("run %+v", run)
	}
	sink.fail = nil
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 1 {
		t.Errorf("afterwards: %v, %v", err, sink.keys())
	}
}

// A pass that is told to stop leaves the objects that it has not begun, and no run:
// neither a good one, which would cover them, nor a hole.
func TestPassThatIsStopped(t *testing.T) {
	root := t.TempDir()
	for i := range 40 {
		writeObject(t, root, objectKey("2026-10-14 02:25", fmt.Sprintf("%02d", i)), compress([]byte(logLine{}.String())))
	}
	sink := &memory{}
	r := newReader(t, "file://"+root, sink, func(c *Config) { c.Parallel = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	err := r.Collect(ctx, testFrom, testTo, func(done, _ int, _ int64) {
		if done == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(sink.objects) != 10 || len(sink.allRuns()) != 0 {
		t.Errorf("%v, %d objects, runs %+v", err, len(sink.objects), sink.allRuns())
	}
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 40 || sink.lastRun().Rows != 30 {
		t.Errorf("afterwards: %v, %d objects, run %+v", err, len(sink.objects), sink.lastRun())
	}
}

func TestS3(t *testing.T) {
	server, put := s3Server(t, nil)
	text := compress([]byte(logLine{}.String()))
	var wanted []string
	for i := range 25 { // several objects of one period, written in the same second
		key := "logs/" + objectKey("2026-10-14 02:30", fmt.Sprintf("%02d", i))
		put(key, text)
		wanted = append(wanted, key)
	}
	put("logs/"+objectKey("2026-10-13 02:30", "old"), text)
	put("logs/AWSLogs/123456789012/ELBAccessLogTestFile", []byte("Enable AccessLog for ELB: app/x at 2020-11-20T09:55:52.806Z"))
	for _, prefix := range []string{"logs", "logs/", "logs/AWSLogs", "logs/AWSLogs/123456789012", "logs/AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2/"} {
		sink := &memory{}
		r := newReader(t, "s3://bucket/"+prefix, sink, withEndpoint(server))
		if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
			t.Fatal(err)
		}
		if got := sink.keys(); !slices.Equal(got, wanted) {
			t.Errorf("prefix %s: read %d objects, want %d", prefix, len(got), len(wanted))
		}
	}
	// A late one whose key sorts before all that were read, and one of the same second.
	sink := &memory{}
	r := newReader(t, "s3://bucket/logs", sink, withEndpoint(server))
	for range 2 {
		if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
			t.Fatal(err)
		}
		late := "logs/" + objectKey("2026-10-14 02:25", "00")
		put(late, text)
		put("logs/"+objectKey("2026-10-14 02:30", "000"), text)
	}
	if len(sink.objects) != len(wanted)+2 {
		t.Errorf("%d objects, want %d", len(sink.objects), len(wanted)+2)
	}
	for key, n := range sink.adds {
		if n != 1 {
			t.Errorf("%s was added %d times", key, n)
		}
	}
}

func TestS3Forbidden(t *testing.T) {
	server, _ := s3Server(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
		})
	})
	sink := &memory{}
	if err := newReader(t, "s3://bucket/logs", sink, withEndpoint(server)).Collect(t.Context(), testFrom, testTo, nil); err == nil {
		t.Error("no error")
	}
	run := sink.lastRun()
	if run.Code != analysis.CodeForbidden || !strings.Contains(run.Error, "s3://bucket/logs/AWSLogs/") || !strings.Contains(run.Error, "AccessDenied") {
		t.Errorf("run %+v", run)
	}
}

func TestS3BucketThatIsNotThere(t *testing.T) {
	server, _ := s3Server(t, nil)
	sink := &memory{}
	if err := newReader(t, "s3://nobody/logs", sink, withEndpoint(server)).Collect(t.Context(), testFrom, testTo, nil); err == nil {
		t.Error("no error")
	}
	if run := sink.lastRun(); run.Code != analysis.CodeNotFound {
		t.Errorf("run %+v", run)
	}
}

// A download that breaks off goes on at the same byte.
func TestS3BrokenDownloadGoesOn(t *testing.T) {
	var ranged, broken atomic.Int32
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Range") != "" {
				ranged.Add(1)
			}
			if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, ".gz") && broken.Add(1) < 3 {
				w = &breaking{ResponseWriter: w, left: 30000}
			}
			next.ServeHTTP(w, req)
		})
	})
	text := generate(1000)
	key := "logs/" + objectKey("2026-10-14 02:30", "a")
	put(key, compress(text))
	sink := &memory{}
	r := newReader(t, "s3://bucket/logs", sink, withEndpoint(server))
	r.place.(*bucket).wait = func(context.Context, int) error { return nil }
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if o := sink.objects[key].Object; o.Understood != 1000 || o.Partial || o.Error != "" {
		t.Errorf("object %+v", o)
	}
	if ranged.Load() != 2 {
		t.Errorf("%d ranged requests", ranged.Load())
	}
}

// One that breaks off every time is an object that could not be read, not one that
// was cut short.
func TestS3DownloadThatAlwaysBreaks(t *testing.T) {
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, ".gz") && req.Method == http.MethodGet {
				w = &breaking{ResponseWriter: w, left: 1000}
			}
			next.ServeHTTP(w, req)
		})
	})
	key := "logs/" + objectKey("2026-10-14 02:30", "a")
	put(key, compress(generate(1000)))
	sink := &memory{}
	r := newReader(t, "s3://bucket/logs", sink, withEndpoint(server))
	r.place.(*bucket).wait = func(context.Context, int) error { return nil }
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err == nil {
		t.Error("no error")
	}
	if o := sink.objects[key].Object; o.Error == "" || o.Partial {
		t.Errorf("object %+v", o)
	}
	if run := sink.lastRun(); run.Code != analysis.CodeUnreachable {
		t.Errorf("run %+v", run)
	}
}

func TestS3Pages(t *testing.T) {
	pages := &pagedS3{keys: []string{objectKey("2026-10-14 02:25", "a"), objectKey("2026-10-14 02:30", "a"), objectKey("2026-10-14 02:35", "a")}}
	sink := &memory{}
	r := newReader(t, "s3://bucket/AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2", sink, func(c *Config) { c.S3 = pages })
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if got := sink.keys(); !slices.Equal(got, pages.keys) {
		t.Errorf("read %v", got)
	}
	pages.fail = &smithy.GenericAPIError{Code: "SlowDown", Message: "Please reduce your request rate."}
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err == nil || sink.lastRun().Code != analysis.CodeThrottled {
		t.Errorf("throttled: %v, %+v", err, sink.lastRun())
	}
}

func TestNewRefusesWhatItCannotRead(t *testing.T) {
	for _, c := range []Config{{Kind: "alb", URL: "ftp://x/y"}, {Kind: "alb", URL: "s3:///x"}, {Kind: "alb", URL: "file://host/x"}, {Kind: "alb"}, {Kind: "iis", URL: "file:///x"}} {
		c.Source = "public-log"
		if _, err := New(t.Context(), c, benchRules(t), &memory{}); err == nil || !strings.Contains(err.Error(), "public-log") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func newReader(t *testing.T, url string, sink Sink, change ...func(*Config)) *Reader {
	t.Helper()
	cfg := Config{Service: "shop", Source: "alb", Kind: "alb", URL: url, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg)
	}
	r, err := New(t.Context(), cfg, benchRules(t), sink)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeObject(t *testing.T, root, key string, data []byte) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func withEndpoint(url string) func(*Config) {
	return func(c *Config) { c.Endpoint, c.Region = url, "ap-northeast-2" }
}

// s3Server serves one bucket over HTTP; wrap may come between.
func s3Server(t *testing.T, wrap func(http.Handler) http.Handler) (url string, put func(key string, data []byte)) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	at := time.Date(2026, 10, 14, 2, 36, 0, 0, time.UTC)
	backend := s3mem.New(s3mem.WithTimeSource(gofakes3.FixedTimeSource(at)))
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(backend, gofakes3.WithTimeSkewLimit(0)).Server()
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, func(key string, data []byte) {
		t.Helper()
		if _, err := backend.PutObject("bucket", key, map[string]string{"Last-Modified": at.Format(http.TimeFormat)}, bytes.NewReader(data), int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// breaking is a connection that breaks after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		_, _ = b.ResponseWriter.Write(p[:b.left])
		b.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

// unreadable fails while it delivers one object.
type unreadable struct {
	place
	key string
}

func (u unreadable) open(ctx context.Context, o stored) (io.ReadCloser, error) {
	body, err := u.place.open(ctx, o)
	if err != nil || o.key != u.key {
		return body, err
	}
	broken := io.MultiReader(io.LimitReader(body, 20), failing{})
	return struct {
		io.Reader
		io.Closer
	}{broken, body}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

// pagedS3 lists one key a page.
type pagedS3 struct {
	keys []string
	fail error
}

func (p *pagedS3) ListObjectsV2(_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	if p.fail != nil {
		return nil, p.fail
	}
	var under []string
	for _, key := range p.keys {
		if strings.HasPrefix(key, aws.ToString(in.Prefix)) {
			under = append(under, key)
		}
	}
	page := 0
	if in.ContinuationToken != nil {
		_, _ = fmt.Sscan(*in.ContinuationToken, &page)
	}
	out := &s3.ListObjectsV2Output{IsTruncated: aws.Bool(page+1 < len(under))}
	if page < len(under) {
		out.Contents = append(out.Contents, s3Object(under[page]))
	}
	if page+1 < len(under) {
		out.NextContinuationToken = aws.String(fmt.Sprint(page + 1))
	}
	return out, nil
}

func s3Object(key string) types.Object {
	return types.Object{Key: aws.String(key), Size: aws.Int64(int64(len(logLine{}.String()))), ETag: aws.String(`"x"`)}
}

func (p *pagedS3) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return &s3.GetObjectOutput{Body: io.NopCloser(strings.NewReader(logLine{}.String()))}, nil
}
