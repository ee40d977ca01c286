package cloudwatch

import (
	"bytes"
	"context"
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
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"
)

// newClient makes a client that speaks CloudWatch's query protocol rather than the
// SDK's binary one, which stand-ins for AWS do not know and people cannot read.
func newClient(ctx context.Context, cfg *Config) (API, error) {
	var options []func(*awsconfig.LoadOptions) error
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
		return nil, errors.New("region is missing: set it in the configuration or in AWS_REGION")
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
	return cw.NewFromConfig(loaded, func(o *cw.Options) {
		if cfg.Endpoint != "" {
			o.BaseEndpoint = aws.String(cfg.Endpoint)
		}
		o.Protocol = awsquery.New(schemas.GraniteServiceVersion20100801)
		o.APIOptions = append(o.APIOptions, addResultCheck)
	}), nil
}

// errBadReply is a reply that says success and is none.
var errBadReply = errors.New("bad reply")

// refused is a reply that holds, instead of a metric's sums, why it does not.
type refused struct {
	metric   string
	status   types.StatusCode
	messages []types.MessageData
}

func (r *refused) Error() string {
	parts := []string{r.metric, string(r.status)}
	for _, m := range r.messages {
		parts = append(parts, aws.ToString(m.Value))
	}
	return strings.Join(parts, ": ")
}

// maxReply bounds the bytes of a reply that are read.
const maxReply = 16 << 20

// addResultCheck refuses successful replies without the element that holds the
// result: the SDK would take an empty body for an answer without any sums.
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
		if !bytes.Contains(body, []byte("<MetricDataResults")) || !bytes.Contains(body, []byte("</GetMetricDataResponse>")) {
			return out, metadata, fmt.Errorf("%w: status %d with %d bytes and no MetricDataResults element", errBadReply, response.StatusCode, len(body))
		}
		return out, metadata, nil
	})
	// After the deserializer in the stack is before it on the way back.
	return stack.Deserialize.Insert(check, "OperationDeserializer", middleware.After)
}

// codeOf is the stable word for a failed reading.
func codeOf(err error) string {
	if errors.Is(err, errBadReply) {
		return "bad_reply"
	}
	if r, ok := errors.AsType[*refused](err); ok {
		if r.status == types.StatusCodeForbidden {
			return "forbidden"
		}
		return "error"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "LimitExceeded", "LimitExceededFault":
			return "throttled"
		case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId",
			"UnrecognizedClientException", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "MissingAuthenticationToken", "OptInRequired":
			return "forbidden"
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
