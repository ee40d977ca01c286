package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// S3 is what this package asks of S3: s3:ListBucket on the bucket and s3:GetObject
// on its objects. [s3.Client] has it.
type S3 interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

const (
	s3Attempts  = 5 // of one call, with the SDK's own jittered backoff
	s3Downloads = 4 // of one object that breaks off: each goes on where the last ended
)

// newS3 builds a client from the SDK's own chain of credentials.
func newS3(ctx context.Context, cfg *Config) (S3, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer {
			return awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.MaxAttempts = s3Attempts })
		}),
	}
	if cfg.Region != "" {
		options = append(options, config.WithRegion(cfg.Region))
	}
	if cfg.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(cfg.Profile))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("load AWS configuration: %w", err)
	}
	if cfg.Role != "" {
		loaded.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), cfg.Role))
	}
	return s3.NewFromConfig(loaded, func(o *s3.Options) {
		// Ranged replies carry no checksum that could be held against the part.
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if cfg.Endpoint != "" {
			o.BaseEndpoint = aws.String(cfg.Endpoint)
			o.UsePathStyle = true
		}
	}), nil
}

// bucket is a prefix of an S3 bucket.
type bucket struct {
	client S3
	name   string
	prefix string // without a leading slash
	wait   func(ctx context.Context, attempt int) error
}

// layoutRegion is a prefix that ends at or below the region of AWS's layout.
var layoutRegion = regexp.MustCompile(`^((?:.*/)?AWSLogs/\d{12}/elasticloadbalancing/[a-z0-9-]+)(/.*)?$`)

func (b *bucket) list(ctx context.Context, from, to time.Time, found func(stored)) error {
	regions, err := b.regions(ctx)
	if err != nil {
		return err
	}
	if regions == nil {
		_, err := b.page(ctx, b.prefix, "", found)
		return err
	}
	for _, region := range regions {
		for _, day := range days(from, to) {
			if _, err := b.page(ctx, region+"/"+day+"/", "", found); err != nil {
				return err
			}
		}
	}
	return nil
}

// regions finds the folders above the dates of AWS's layout; nil where the prefix
// has none, and then everything under it is listed.
func (b *bucket) regions(ctx context.Context) ([]string, error) {
	if m := layoutRegion.FindStringSubmatch(b.prefix); m != nil {
		if rest := strings.Trim(m[2], "/"); rest != "" {
			return nil, nil // a day, or one object: list just that
		}
		return []string{m[1]}, nil
	}
	base := b.prefix
	if base != "" && !strings.HasSuffix(base, "/") {
		base += "/"
	}
	if !strings.Contains("/"+base, "/AWSLogs/") {
		base += "AWSLogs/"
	}
	if strings.HasSuffix("/"+base, "/AWSLogs/") {
		accounts, err := b.page(ctx, base, "/", nil)
		if err != nil {
			return nil, err
		}
		var regions []string
		for _, account := range accounts {
			list, err := b.page(ctx, account+"elasticloadbalancing/", "/", nil)
			if err != nil {
				return nil, err
			}
			regions = append(regions, list...)
		}
		return trimSlashes(regions), nil
	}
	if !strings.HasSuffix(base, "elasticloadbalancing/") {
		base += "elasticloadbalancing/"
	}
	regions, err := b.page(ctx, base, "/", nil)
	return trimSlashes(regions), err
}

func trimSlashes(list []string) []string {
	for i := range list {
		list[i] = strings.TrimSuffix(list[i], "/")
	}
	return list
}

// page lists all pages under a prefix: objects to found, and folders as the result
// where a delimiter is given.
func (b *bucket) page(ctx context.Context, prefix, delimiter string, found func(stored)) ([]string, error) {
	input := &s3.ListObjectsV2Input{Bucket: aws.String(b.name), Prefix: aws.String(prefix), RequestPayer: types.RequestPayerRequester}
	if delimiter != "" {
		input.Delimiter = aws.String(delimiter)
	}
	var folders []string
	for {
		reply, err := b.client.ListObjectsV2(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("list objects under s3://%s/%s: %w", b.name, prefix, err)
		}
		for _, folder := range reply.CommonPrefixes {
			folders = append(folders, aws.ToString(folder.Prefix))
		}
		if found != nil {
			for _, o := range reply.Contents {
				if key := aws.ToString(o.Key); !strings.HasSuffix(key, "/") {
					found(stored{key: key, size: aws.ToInt64(o.Size), modified: aws.ToTime(o.LastModified), etag: aws.ToString(o.ETag)})
				}
			}
		}
		if !aws.ToBool(reply.IsTruncated) {
			return folders, nil
		}
		if aws.ToString(reply.NextContinuationToken) == "" {
			return nil, fmt.Errorf("list objects under s3://%s/%s: %w", b.name, prefix, errNoNextPage)
		}
		input.ContinuationToken = reply.NextContinuationToken
	}
}

var errNoNextPage = errors.New("the reply says that there is more, but not where")

func (b *bucket) open(ctx context.Context, o stored) (io.ReadCloser, error) {
	d := &download{ctx: ctx, bucket: b, object: o}
	if err := d.connect(); err != nil {
		return nil, err
	}
	return d, nil
}

// download reads one object; where the connection breaks it goes on at the same
// byte, as long as the object is the same one.
type download struct {
	ctx     context.Context
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
	reply, err := d.bucket.client.GetObject(d.ctx, input)
	if err != nil {
		return fmt.Errorf("get s3://%s/%s: %w", d.bucket.name, d.object.key, err)
	}
	d.body = reply.Body
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
			return 0, fmt.Errorf("read s3://%s/%s at byte %d: %w", d.bucket.name, d.object.key, d.at, err)
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

func (d *download) Close() error { return d.body.Close() }
