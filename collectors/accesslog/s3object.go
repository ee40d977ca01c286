package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func (b *bucket) open(ctx context.Context, o stored) (io.ReadCloser, error) {
	ctx, stop := context.WithTimeoutCause(ctx, b.limits.download(o.size), errTooSlow)
	d := &download{ctx: ctx, stop: stop, bucket: b, object: o}
	if err := d.connect(); err != nil {
		stop()
		return nil, err
	}
	return d, nil
}

var (
	errTooSlow = fmt.Errorf("it comes too slowly: %w", context.DeadlineExceeded)
	errSilent  = fmt.Errorf("nothing came for too long: %w", context.DeadlineExceeded)
	errLonger  = errors.New("it is longer than the listing says")
)

// download reads one object; where the connection breaks it goes on at the same
// byte, as long as the object is the same one.
type download struct {
	ctx     context.Context
	stop    context.CancelFunc
	bucket  *bucket
	object  stored
	body    io.ReadCloser
	at      int64
	resumes int
}

func (d *download) connect() error {
	input := &s3.GetObjectInput{Bucket: aws.String(d.bucket.name), Key: aws.String(d.object.key), RequestPayer: types.RequestPayerRequester}
	if d.object.etag != "" {
		input.IfMatch = aws.String(d.object.etag)
	}
	if d.at > 0 {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-", d.at))
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	timer := time.AfterFunc(d.bucket.limits.call, func() { cancel(errSilent) })
	reply, err := d.bucket.client.GetObject(ctx, input)
	timer.Stop()
	if err != nil {
		defer cancel(nil)
		return fmt.Errorf("get s3://%s/%s: %w", d.bucket.name, d.object.key, withCause(ctx, err))
	}
	d.body = &impatient{ctx: ctx, cancel: cancel, body: reply.Body, timer: timer, idle: d.bucket.limits.idle}
	if d.at > 0 && !strings.HasPrefix(aws.ToString(reply.ContentRange), fmt.Sprintf("bytes %d-", d.at)) {
		// The store does not know ranges and sent the whole object again.
		if _, err := io.CopyN(io.Discard, d.body, d.at); err != nil {
			return fmt.Errorf("get s3://%s/%s: skip to byte %d: %w", d.bucket.name, d.object.key, d.at, err)
		}
	}
	return nil
}

func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.body.Read(p)
		d.at += int64(n)
		if d.at > d.object.size {
			return n, fmt.Errorf("read s3://%s/%s: %w", d.bucket.name, d.object.key, errLonger)
		}
		if errors.Is(err, io.EOF) && d.at < d.object.size {
			err = io.ErrUnexpectedEOF // the reply was shorter than the object
		}
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil // the error comes again
		}
		if d.resumes++; d.resumes >= s3Downloads || d.ctx.Err() != nil {
			return 0, fmt.Errorf("read s3://%s/%s at byte %d: %w", d.bucket.name, d.object.key, d.at, withCause(d.ctx, err))
		}
		_ = d.body.Close() // it has already failed
		if err := d.bucket.wait(d.ctx, d.resumes); err != nil {
			return 0, err
		}
		if err := d.connect(); err != nil {
			return 0, err
		}
	}
}

func (d *download) Close() error {
	defer d.stop()
	return d.body.Close()
}

// impatient is a reply's body that ends in an error when nothing comes.
type impatient struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	timer  *time.Timer
	idle   time.Duration
}

func (i *impatient) Read(p []byte) (int, error) {
	i.timer.Reset(i.idle)
	n, err := i.body.Read(p)
	i.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = withCause(i.ctx, err)
	}
	return n, err
}

func (i *impatient) Close() error {
	defer i.cancel(nil)
	i.timer.Stop()
	return i.body.Close()
}

// withCause puts why a context ended before an error that came of it.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
