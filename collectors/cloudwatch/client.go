package cloudwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"gapless/collectors/awsclient"
)

// newClient makes a client that speaks CloudWatch's query protocol rather than the
// SDK's binary one, which stand-ins for AWS do not know and people cannot read.
func newClient(ctx context.Context, cfg *Config) (API, error) {
	loaded, err := awsclient.Load(ctx, awsclient.Account{Region: cfg.Region, Profile: cfg.Profile, Role: cfg.Role, Endpoint: cfg.Endpoint})
	if err != nil {
		return nil, err
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
	return awsclient.Code(err)
}
