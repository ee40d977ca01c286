package targethealth

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// API is the part of the ELBv2 client that is used.
type API interface {
	DescribeTargetHealth(context.Context, *elb.DescribeTargetHealthInput, ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error)
	DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error)
	DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error)
}

func newClient(ctx context.Context, cfg Config) (API, error) {
	options := []func(*awsconfig.LoadOptions) error{
		// One attempt: a poll that failed is a fact to be stored, and the next is near.
		awsconfig.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
	}
	if cfg.Region != "" {
		options = append(options, awsconfig.WithRegion(cfg.Region))
	}
	if cfg.Profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(cfg.Profile))
	}
	if cfg.Endpoint != "" {
		endpoint, err := url.Parse(cfg.Endpoint)
		if err != nil || endpoint.Host == "" {
			return nil, fmt.Errorf("endpoint %q is not an address", cfg.Endpoint)
		}
		if ip := net.ParseIP(endpoint.Hostname()); endpoint.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			options = append(options, awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled))
		}
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("load AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return nil, fmt.Errorf("region is missing: set it in the configuration or in AWS_REGION")
	}
	if cfg.Endpoint != "" {
		within, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if _, err := loaded.Credentials.Retrieve(within); err != nil {
			loaded.Credentials = credentials.NewStaticCredentialsProvider("gapless", "gapless", "")
		}
	}
	if cfg.Role != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), cfg.Role)
		loaded.Credentials = aws.NewCredentialsCache(provider)
	}
	return elb.NewFromConfig(loaded, func(o *elb.Options) {
		if cfg.Endpoint != "" {
			o.BaseEndpoint = aws.String(cfg.Endpoint)
		}
		o.APIOptions = append(o.APIOptions, addResultCheck)
	}), nil
}

// errBadReply is a reply that says success and is none.
var errBadReply = errors.New("bad reply")

// maxReply bounds the bytes of a reply that are read.
const maxReply = 16 << 20

// addResultCheck refuses successful replies without their result element. The SDK
// decodes such a reply (an empty body, or a proxy's page) to no targets at all and
// no error (seen in v1.63.9 and v1.64.0 of its ELBv2 package).
func addResultCheck(stack *middleware.Stack) error {
	check := middleware.DeserializeMiddlewareFunc("gapless:ResultCheck", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || response.StatusCode < 200 || response.StatusCode > 299 {
			return out, metadata, err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil {
			return out, metadata, fmt.Errorf("read reply: %w", err)
		}
		operation := middleware.GetOperationName(ctx)
		if want := operation + "Result"; !hasElement(body, want) {
			return out, metadata, fmt.Errorf("%w: status %d with %d bytes and no %s element", errBadReply, response.StatusCode, len(body), want)
		}
		return out, metadata, nil
	})
	// After the deserializer in the stack is before it on the way back.
	return stack.Deserialize.Insert(check, "OperationDeserializer", middleware.After)
}

// hasElement reports whether body is well-formed XML with an element of that name.
func hasElement(body []byte, name string) bool {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	found := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return found && errors.Is(err, io.EOF)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == name {
			found = true
		}
	}
}

// codeOf is the stable word for a failed call.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, errBadReply) {
		return "bad_reply"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException",
			"RequestThrottled", "RequestThrottledException", "SlowDown", "PriorRequestNotComplete":
			return "throttled"
		case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId",
			"UnrecognizedClientException", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException",
			"MissingAuthenticationToken", "OptInRequired", "RequestExpired", "IncompleteSignature", "InvalidSignatureException":
			return "forbidden"
		case "TargetGroupNotFound", "TargetGroupNotFoundException", "LoadBalancerNotFound":
			return "not_found"
		}
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		switch response.HTTPStatusCode() {
		case http.StatusTooManyRequests:
			return "throttled"
		case http.StatusUnauthorized, http.StatusForbidden:
			return "forbidden"
		case http.StatusNotFound:
			return "not_found"
		}
	}
	var decode *smithy.DeserializationError
	if errors.As(err, &decode) && (response == nil || response.HTTPStatusCode() < 300) {
		return "bad_reply"
	}
	var sent *smithyhttp.RequestSendError
	var network net.Error
	switch {
	case strings.Contains(err.Error(), "get credentials:"): // none found: the SDK has no type for it
		return "forbidden"
	case errors.As(err, &sent), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return "unreachable"
	}
	return "error"
}
