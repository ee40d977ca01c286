package accesslog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"gapless/collectors/awsclient"
)

// S3 is what this package asks of S3: s3:ListBucket on the bucket and s3:GetObject
// on its objects. [s3.Client] has it.
type S3 interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

const (
	s3Attempts  = 5                // of one call, with the SDK's own jittered backoff
	s3Answer    = 20 * time.Second // until the head of a reply, then the call is tried again
	s3Downloads = 4                // of one object that breaks off: each goes on where the last ended
)

// newS3 builds a client from the SDK's own chain of credentials.
func newS3(ctx context.Context, cfg *Config) (S3, error) {
	options := []awsclient.Option{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.ResponseHeaderTimeout = s3Answer
		})),
		config.WithRetryer(func() aws.Retryer {
			return awsretry.NewStandard(func(o *awsretry.StandardOptions) { o.MaxAttempts = s3Attempts })
		}),
	}
	loaded, err := awsclient.Load(ctx, awsclient.Account{Region: cfg.Region, Profile: cfg.Profile, Role: cfg.Role, Endpoint: cfg.Endpoint}, options...)
	if err != nil {
		return nil, err
	}
	return s3.NewFromConfig(loaded, func(o *s3.Options) {
		o.HTTPClient = boundedClient{o.HTTPClient}
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
	limits limits
}

// layoutRegion is a prefix that ends at or below the region of AWS's layout.
var layoutRegion = regexp.MustCompile(`^((?:.*/)?AWSLogs/\d{12}/elasticloadbalancing/[a-z0-9-]+)(/.*)?$`)

// layoutAccount is the folder of an account in AWS's layout, with or without what it
// keeps the logs of load balancers in.
var layoutAccount = regexp.MustCompile(`^((?:.*/)?AWSLogs/\d{12}/)(?:elasticloadbalancing/)?$`)

func (b *bucket) list(ctx context.Context, from, to time.Time, found func(stored)) error {
	regions, layout, err := b.regions(ctx)
	if err != nil {
		return err
	}
	if !layout {
		return b.everything(ctx, found)
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

// everything lists what lies in the folder that the prefix names; where nothing does
// and it is named as a file is, that one object. What only begins with the same
// letters (prod-other beside prod) is somebody else's, and a reader of one folder may
// not be allowed to ask for it.
func (b *bucket) everything(ctx context.Context, found func(stored)) error {
	if b.prefix == "" || strings.HasSuffix(b.prefix, "/") {
		_, err := b.page(ctx, b.prefix, "", found)
		return err
	}
	some := false
	_, err := b.page(ctx, b.prefix+"/", "", func(o stored) {
		some = true
		found(o)
	})
	if err != nil || some || path.Ext(b.prefix) == "" {
		return err
	}
	_, err = b.page(ctx, b.prefix, "/", func(o stored) {
		if o.key == b.prefix {
			found(o)
		}
	})
	return err
}

// regions finds the folders above the dates of AWS's layout. There are none before the
// first object is delivered, and then there is nothing to read. layout is false where
// there is no such layout under the prefix, or the prefix leads below the region: then
// everything under it is to be listed.
func (b *bucket) regions(ctx context.Context) (regions []string, layout bool, err error) {
	if m := layoutRegion.FindStringSubmatch(b.prefix); m != nil {
		if rest := strings.Trim(m[2], "/"); rest != "" {
			return nil, false, nil // a day, or one object: list just that
		}
		return []string{m[1]}, true, nil
	}
	base := b.prefix
	if base != "" && !strings.HasSuffix(base, "/") {
		base += "/"
	}
	if !strings.Contains("/"+base, "/AWSLogs/") {
		base += "AWSLogs/"
	}
	switch m := layoutAccount.FindStringSubmatch(base); {
	case m != nil:
		regions, err := b.page(ctx, m[1]+"elasticloadbalancing/", "/", nil)
		return trimSlashes(regions), true, err
	case !strings.HasSuffix("/"+base, "/AWSLogs/"):
		return nil, false, nil
	}
	accounts, err := b.page(ctx, base, "/", nil)
	if err != nil {
		return nil, false, err
	}
	for _, account := range accounts {
		if !layoutAccount.MatchString(account) {
			continue
		}
		list, err := b.page(ctx, account+"elasticloadbalancing/", "/", nil)
		if err != nil {
			return nil, false, err
		}
		regions, layout = append(regions, list...), true
	}
	return trimSlashes(regions), layout, nil
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
	ctx, stop := context.WithTimeout(ctx, b.limits.listing)
	defer stop()
	var folders []string
	keys, seen := 0, map[string]bool{}
	for pages := 1; ; pages++ {
		reply, err := b.listPage(ctx, input)
		if err != nil {
			return nil, fmt.Errorf("list objects under s3://%s/%s: %w", b.name, prefix, err)
		}
		keys += len(reply.Contents) + len(reply.CommonPrefixes)
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
		next := aws.ToString(reply.NextContinuationToken)
		switch {
		case next == "":
			err = errNoNextPage
		case seen[next]:
			err = errSamePage
		case pages >= b.limits.pages || keys >= b.limits.keys:
			err = errTooMany
		}
		if err != nil {
			return nil, fmt.Errorf("list objects under s3://%s/%s: %w", b.name, prefix, err)
		}
		seen[next] = true
		input.ContinuationToken = reply.NextContinuationToken
	}
}

var (
	errNoNextPage = errors.New("the reply says that there is more, but not where")
	errSamePage   = errors.New("the reply leads back to a page that was read already")
	errTooMany    = errors.New("there are more objects than one listing may hold; a longer prefix names fewer")
)

// listPage asks for one page, and waits no longer than a call may take.
func (b *bucket) listPage(ctx context.Context, input *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	call, stop := context.WithTimeout(ctx, b.limits.call)
	defer stop()
	reply, err := b.client.ListObjectsV2(call, input)
	if err != nil && call.Err() != nil {
		return nil, fmt.Errorf("no answer in time: %w", errors.Join(call.Err(), err))
	}
	return reply, err
}
