package accesslog

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// limits bound what one store can make a Reader wait for and keep. Every wait ends in
// a failed run, never in a collector that stands still.
type limits struct {
	call    time.Duration // one API call with its retries, until its reply's head or its whole listing
	idle    time.Duration // without a byte of an object
	listing time.Duration // all pages under one prefix
	object  time.Duration // one object, besides what its size allows
	speed   int64         // bytes a second that an object must come at in the end
	pages   int           // of one listing
	keys    int           // of one listing
}

var usualLimits = limits{
	call: 90 * time.Second, idle: 30 * time.Second, listing: 15 * time.Minute,
	object: 2 * time.Minute, speed: 32 << 10, pages: 5000, keys: 5_000_000,
}

// download is how long an object of a size may take, with all that is tried again.
func (l limits) download(size int64) time.Duration {
	return l.object + time.Duration(size/l.speed)*time.Second
}

// replyMost bounds a reply that is not an object's content. A listing's page holds
// 1000 keys of at most 1 KB, each byte escaped to at most six.
const replyMost = 16 << 20

var errReplyTooLong = errors.New("the reply is longer than any that S3 gives")

// boundedClient ends replies that would fill the memory.
type boundedClient struct{ next s3.HTTPClient }

func (c boundedClient) Do(r *http.Request) (*http.Response, error) {
	reply, err := c.next.Do(r)
	if err != nil || reply.Body == nil {
		return reply, err
	}
	if r.Method != http.MethodGet || r.URL.Query().Has("list-type") || reply.StatusCode >= 300 {
		reply.Body = &boundedBody{ReadCloser: reply.Body, left: replyMost}
	}
	return reply, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errReplyTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
