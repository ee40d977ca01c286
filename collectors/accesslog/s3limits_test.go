package accesslog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gapless/analysis"
)

// Whatever a store does, a pass ends soon, in a failed run that says why.
func TestS3ThatNeverEnds(t *testing.T) {
	listing := func(w io.Writer, more string) {
		fmt.Fprintf(w, `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name>%s<Contents><Key>%s</Key><LastModified>2026-10-14T02:36:00.000Z</LastModified><ETag>"x"</ETag><Size>100000</Size></Contents></ListBucketResult>`,
			more, objectKey("2026-10-14 02:30", "a"))
	}
	whole := func(w http.ResponseWriter, _ *http.Request) { listing(w, "<IsTruncated>false</IsTruncated>") }
	hang := func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	var pages atomic.Int32
	send := func(piece []byte, every time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			for req.Context().Err() == nil {
				if _, err := w.Write(piece); err != nil {
					return
				}
				if every > 0 {
					w.(http.Flusher).Flush()
					time.Sleep(every)
				}
			}
		}
	}
	for _, c := range []struct {
		name      string
		list, get http.HandlerFunc
		code      string
		says      string
	}{
		{"listing hangs", hang, nil, analysis.CodeUnreachable, "no answer in time"},
		{"listing drips", send([]byte(" "), 10*time.Millisecond), nil, analysis.CodeUnreachable, "no answer in time"},
		{"listing without end", send([]byte("<ListBucketResult>"+strings.Repeat(" ", 64<<10)), 0), nil, analysis.CodeBadReply, ""},
		{"same page again", func(w http.ResponseWriter, _ *http.Request) {
			listing(w, "<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>")
		}, nil, analysis.CodeBadReply, "leads back"},
		{"always another page", func(w http.ResponseWriter, _ *http.Request) {
			listing(w, fmt.Sprintf("<IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", pages.Add(1)))
		}, nil, analysis.CodeError, "more objects than"},
		{"object hangs", whole, hang, analysis.CodeUnreachable, "nothing came"},
		{"object stops", whole, func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, "h2 ")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}, analysis.CodeUnreachable, "nothing came"},
		{"object drips", whole, send([]byte("h"), 10*time.Millisecond), analysis.CodeUnreachable, "too slowly"},
		{"object without end", whole, send(make([]byte, 64<<10), 0), analysis.CodeBadReply, "longer than the listing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, _ := s3Server(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if req.URL.Query().Has("list-type") {
						c.list(w, req)
					} else {
						c.get(w, req)
					}
				})
			})
			sink := &memory{}
			r := newReader(t, "s3://bucket/AWSLogs/123456789012/elasticloadbalancing/ap-northeast-2", sink, withEndpoint(server))
			b := r.place.(*bucket)
			b.wait = func(context.Context, int) error { return nil }
			b.limits = limits{call: 300 * time.Millisecond, idle: 150 * time.Millisecond, listing: 3 * time.Second, object: 20 * time.Second, speed: 1 << 30, pages: 20, keys: 1000}
			if c.name == "object drips" {
				b.limits.object = time.Second
			}
			if strings.Contains(c.name, "without end") {
				b.limits.call, b.limits.listing, b.limits.object = time.Minute, time.Minute, time.Minute // it is the length that ends it
			}
			err := r.Collect(t.Context(), testFrom, testTo, nil)
			if run := sink.lastRun(); err == nil || run.Code != c.code || !strings.Contains(run.Error, c.says) {
				t.Errorf("%v, run %+v; want code %s and %q", err, run, c.code, c.says)
			}
		})
	}
}
