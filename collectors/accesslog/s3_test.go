package accesslog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// What only begins with the same letters as the prefix is another environment's, and
// the README's least policy does not allow to ask for it: right after logging was
// switched on there is nothing to read, and that is no reason to look elsewhere.
func TestS3PrefixIsAFolder(t *testing.T) {
	line := compress([]byte(logLine{}.String()))
	const test = "AWSLogs/123456789012/ELBAccessLogTestFile"
	object := objectKey("2026-10-14 02:30", "a")
	for _, c := range []struct {
		name, prefix string
		keys, want   []string
	}{
		{"nothing delivered yet", "prod", []string{"prod/" + test}, nil},
		{"nothing delivered yet, prefix with a slash", "prod/", []string{"prod/" + test}, nil},
		{"nothing delivered yet, prefix with AWSLogs", "prod/AWSLogs", []string{"prod/" + test}, nil},
		{"nothing delivered yet, prefix with the account", "prod/AWSLogs/123456789012", []string{"prod/" + test}, nil},
		{"nothing delivered yet, prefix with the service", "prod/AWSLogs/123456789012/elasticloadbalancing", []string{"prod/" + test}, nil},
		{"one of two accounts", "prod", []string{"prod/" + test, "prod/AWSLogs/210987654321/CloudTrail/x.json.gz", "prod/" + object}, []string{"prod/" + object}},
		{"no layout", "prod", []string{"prod/a.log.gz", "prod/deep/b.log.gz"}, []string{"prod/a.log.gz", "prod/deep/b.log.gz"}},
		{"no accounts in AWSLogs", "prod", []string{"prod/AWSLogs/copy/a.log.gz"}, []string{"prod/AWSLogs/copy/a.log.gz"}},
		{"a folder of one's own in AWSLogs", "prod/AWSLogs/copy", []string{"prod/AWSLogs/copy/a.log.gz"}, []string{"prod/AWSLogs/copy/a.log.gz"}},
		{"one day", "prod/" + path.Dir(object), []string{"prod/" + object}, []string{"prod/" + object}},
		{"one object", "prod/" + object, []string{"prod/" + object}, []string{"prod/" + object}},
		{"one file", "prod/a.log", []string{"prod/a.log", "prod/a.log-other", "prod/a.log.gz"}, []string{"prod/a.log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			server, put := s3Server(t, watching(func(req *http.Request) {
				if req.URL.Query().Get("list-type") == "2" {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, req.URL.Query().Get("prefix"))
				}
			}))
			for _, key := range append(c.keys, "prod-other/"+object, "prod2.log") {
				put(key, line)
			}
			sink := &memory{}
			if err := newReader(t, "s3://bucket/"+c.prefix, sink, withEndpoint(server)).Collect(t.Context(), testFrom, testTo, nil); err != nil {
				t.Fatal(err)
			}
			if got := sink.keys(); !slices.Equal(got, c.want) {
				t.Errorf("read %v, want %v", got, c.want)
			}
			for _, prefix := range asked {
				inLayout := strings.HasPrefix(prefix, "prod/AWSLogs/")
				if c.want == nil && !inLayout || !strings.HasPrefix(prefix, "prod/") {
					t.Errorf("asked for %q", prefix)
				}
			}
		})
	}
}

// Pages of a listing, through a server that cuts them at 1000 keys as S3 does.
func TestS3ManyPages(t *testing.T) {
	var lists atomic.Int32
	server, put := s3Server(t, watching(func(req *http.Request) {
		if req.URL.Query().Get("list-type") == "2" {
			lists.Add(1)
		}
	}))
	const objects = 2500
	line := compress([]byte(logLine{}.String()))
	for i := range objects {
		put(objectKey("2026-10-14 02:30", fmt.Sprintf("%04d", i)), line)
	}
	sink := &memory{}
	r := newReader(t, "s3://bucket/AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2", sink, withEndpoint(server))
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if len(sink.objects) != objects || sink.lastRun().Rows != objects {
		t.Errorf("%d objects, run %+v; want %d", len(sink.objects), sink.lastRun(), objects)
	}
	if lists.Load() != 4 { // of the day, and one of the day after
		t.Errorf("%d pages, want 4", lists.Load())
	}
}

// A call that the server fails is tried again after a pause
// that grows; one that is refused is not.
func TestS3RetriesWithBackoff(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for _, c := range []struct {
		code, want string
		status     int
		attempts   int
	}{
		{"InternalError", analysis.CodeError, http.StatusInternalServerError, s3Attempts},
		{"AccessDenied", analysis.CodeForbidden, http.StatusForbidden, 1},
	} {
		t.Run(c.code, func(t *testing.T) {
			var mu sync.Mutex
			var moments []time.Time
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				moments = append(moments, time.Now())
				mu.Unlock()
				w.WriteHeader(c.status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", c.code)
			}))
			defer server.Close()
			cfg := Config{Endpoint: server.URL, Region: "ap-northeast-2"}
			client, err := newS3(t.Context(), &cfg)
			if err != nil {
				t.Fatal(err)
			}
			b := &bucket{client: client, name: "bucket", limits: usualLimits}
			_, err = b.page(t.Context(), "AWSLogs/", "", nil)
			if codeOf(err) != c.want {
				t.Errorf("code %q, want %q: %v", codeOf(err), c.want, err)
			}
			if len(moments) != c.attempts {
				t.Errorf("%d attempts, want %d", len(moments), c.attempts)
			}
			if last := len(moments) - 1; last > 0 && moments[last].Sub(moments[0]) < 50*time.Millisecond {
				t.Errorf("all attempts within %s", moments[last].Sub(moments[0]))
			}
		})
	}
}

// A listing that is throttled twice and then answered is no failure.
func TestS3ThrottledForAWhile(t *testing.T) {
	var calls atomic.Int32
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if n := calls.Add(1); n == 1 || n == 2 || n == 4 {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
				return
			}
			next.ServeHTTP(w, req)
		})
	})
	put(objectKey("2026-10-14 02:30", "a"), compress([]byte(logLine{}.String())))
	sink := &memory{}
	r := newReader(t, "s3://bucket/AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2", sink, withEndpoint(server))
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 1 || sink.lastRun().Code != "" {
		t.Errorf("%v, %d objects, run %+v", err, len(sink.objects), sink.lastRun())
	}
}

// Downloads run side by side, and never more of them than configured.
func TestS3ParallelDownloadsAreBounded(t *testing.T) {
	const parallel = 3
	var now, most atomic.Int32
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if strings.HasSuffix(req.URL.Path, ".gz") {
				running := now.Add(1)
				for m := most.Load(); running > m && !most.CompareAndSwap(m, running); m = most.Load() {
				}
				time.Sleep(10 * time.Millisecond) // long enough for others to come
				defer now.Add(-1)
			}
			next.ServeHTTP(w, req)
		})
	})
	for i := range 30 {
		put(objectKey("2026-10-14 02:30", fmt.Sprintf("%02d", i)), compress([]byte(logLine{}.String())))
	}
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, withEndpoint(server), func(c *Config) { c.Parallel = parallel })
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 30 {
		t.Fatal(err, len(sink.objects))
	}
	if most.Load() != parallel {
		t.Errorf("%d downloads at once, want %d", most.Load(), parallel)
	}
}

// The second half of a broken download asks for the bytes that are missing, of the
// object that was listed; every request says that the requester pays.
func TestS3HeadersOfAResume(t *testing.T) {
	var broken atomic.Int32
	var mu sync.Mutex
	var gets []http.Header
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("X-Amz-Request-Payer") != "requester" {
				t.Errorf("%s %s does not say who pays", req.Method, req.URL)
			}
			if strings.HasSuffix(req.URL.Path, ".gz") {
				mu.Lock()
				gets = append(gets, req.Header.Clone())
				mu.Unlock()
				if broken.Add(1) == 1 {
					w = &breaking{ResponseWriter: w, left: 40000}
				}
			}
			next.ServeHTTP(w, req)
		})
	})
	put(objectKey("2026-10-14 02:30", "a"), compress(generate(1000)))
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, withEndpoint(server))
	r.place.(*bucket).wait = func(context.Context, int) error { return nil }
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || sink.lastRun().Rows != 1000 {
		t.Fatal(err, sink.lastRun())
	}
	if len(gets) != 2 {
		t.Fatalf("%d requests", len(gets))
	}
	from := 0
	if _, err := fmt.Sscanf(gets[1].Get("Range"), "bytes=%d-", &from); err != nil || from < 1 || from > 40000 {
		t.Errorf("range %q", gets[1].Get("Range"))
	}
	for _, get := range gets {
		if get.Get("If-Match") == "" || get.Get("If-Match") != gets[0].Get("If-Match") {
			t.Errorf("if-match %q", get.Get("If-Match"))
		}
	}
}

// A store that ignores ranges sends all of the object again: nothing is counted twice.
func TestS3ResumeWithoutRanges(t *testing.T) {
	var broken atomic.Int32
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			req.Header.Del("Range")
			if strings.HasSuffix(req.URL.Path, ".gz") && broken.Add(1) == 1 {
				w = &breaking{ResponseWriter: w, left: 40000}
			}
			next.ServeHTTP(w, req)
		})
	})
	key := objectKey("2026-10-14 02:30", "a")
	put(key, compress(generate(1000)))
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, withEndpoint(server))
	r.place.(*bucket).wait = func(context.Context, int) error { return nil }
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if o := sink.objects[key].Object; broken.Load() != 2 || o.Understood != 1000 || o.Partial {
		t.Errorf("%d requests, object %+v", broken.Load(), o)
	}
}

// An object that is replaced while it is read is not a mixture of both: the download
// fails, and the next pass reads the new one.
func TestS3ObjectReplacedDuringItsDownload(t *testing.T) {
	var broken atomic.Int32
	server, put := s3Server(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if match := req.Header.Get("If-Match"); match != "" && broken.Load() > 0 && req.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusPreconditionFailed) // the fake store does not look at it
				_, _ = io.WriteString(w, "<Error><Code>PreconditionFailed</Code><Message>changed</Message></Error>")
				return
			}
			if strings.HasSuffix(req.URL.Path, ".gz") && broken.Add(1) == 1 {
				w = &breaking{ResponseWriter: w, left: 40000}
			}
			next.ServeHTTP(w, req)
		})
	})
	key := objectKey("2026-10-14 02:30", "a")
	put(key, compress(generate(1000)))
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, withEndpoint(server))
	r.place.(*bucket).wait = func(context.Context, int) error { return nil }
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err == nil || !strings.Contains(err.Error(), "PreconditionFailed") {
		t.Errorf("first pass: %v", err)
	}
	if o := sink.objects[key].Object; o.Error == "" || o.Lines != 0 {
		t.Errorf("object of the first pass: %+v", o)
	}
	put(key, compress(generate(300)))
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if o := sink.objects[key].Object; o.Error != "" || o.Understood != 300 {
		t.Errorf("object of the second pass: %+v", o)
	}
}

// A profile's keys, region and endpoint are those of the SDK's own files.
func TestS3Profile(t *testing.T) {
	var seen []string
	server, put := s3Server(t, watching(func(req *http.Request) { seen = append(seen, req.Header.Get("Authorization")) }))
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[profile logs]\nregion = eu-north-1\naws_access_key_id = AKIDLOGS\naws_secret_access_key = secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", config)
	put(objectKey("2026-10-14 02:30", "a"), compress([]byte(logLine{}.String())))
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, func(c *Config) { c.Endpoint, c.Profile = server, "logs" })
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 1 {
		t.Fatal(err, len(sink.objects))
	}
	for _, header := range seen {
		if !strings.Contains(header, "Credential=AKIDLOGS/") || !strings.Contains(header, "/eu-north-1/s3/") {
			t.Errorf("signed as %s", header)
		}
	}
}

// A role is assumed with the chain's own credentials, and its keys sign the requests.
func TestS3Role(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	server, put := s3Server(t, watching(func(req *http.Request) {
		mu.Lock()
		seen = append(seen, req.Header.Get("Authorization")+" "+req.Header.Get("X-Amz-Security-Token"))
		mu.Unlock()
	}))
	var asked []string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		asked = append(asked, req.Form.Get("Action")+" "+req.Form.Get("RoleArn"), req.Header.Get("Authorization"))
		fmt.Fprintf(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>token-of-the-role</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer tokens.Close()
	t.Setenv("AWS_ENDPOINT_URL_STS", tokens.URL)
	put(objectKey("2026-10-14 02:30", "a"), compress([]byte(logLine{}.String())))
	sink := &memory{}
	r := newReader(t, "s3://bucket", sink, withEndpoint(server), func(c *Config) { c.Role = "arn:aws:iam::123456789012:role/read-logs" })
	if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil || len(sink.objects) != 1 {
		t.Fatal(err, len(sink.objects))
	}
	if len(asked) != 2 || asked[0] != "AssumeRole arn:aws:iam::123456789012:role/read-logs" || !strings.Contains(asked[1], "Credential=test/") {
		t.Errorf("asked for a role %v", asked)
	}
	if len(seen) == 0 || slices.ContainsFunc(seen, func(s string) bool {
		return !strings.Contains(s, "Credential=AKIDROLE/") || !strings.HasSuffix(s, " token-of-the-role")
	}) {
		t.Errorf("signed as %v", seen)
	}
}

// An endpoint is asked by path, as S3's stand-ins want it.
func TestS3EndpointByPath(t *testing.T) {
	client, err := newS3(t.Context(), &Config{Endpoint: "http://127.0.0.1:1", Region: "eu-north-1"})
	if err != nil {
		t.Fatal(err)
	}
	options := client.(*s3.Client).Options()
	if aws.ToString(options.BaseEndpoint) != "http://127.0.0.1:1" || !options.UsePathStyle || options.Region != "eu-north-1" {
		t.Errorf("endpoint %v, by path %v, region %s", aws.ToString(options.BaseEndpoint), options.UsePathStyle, options.Region)
	}
}

// watching calls see for every request.
func watching(see func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			see(req)
			next.ServeHTTP(w, req)
		})
	}
}
