package targethealth

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"gapless/collectors/awsclient"
)

// API is the part of the ELBv2 client that is used.
type API interface {
	DescribeTargetHealth(context.Context, *elb.DescribeTargetHealthInput, ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error)
	DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error)
	DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error)
}

func newClient(ctx context.Context, cfg Config) (API, error) {
	// One attempt: a poll that failed is a fact to be stored, and the next is near.
	once := awsconfig.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} })
	loaded, err := awsclient.Load(ctx, awsclient.Account{Region: cfg.Region, Profile: cfg.Profile, Role: cfg.Role, Endpoint: cfg.Endpoint}, once)
	if err != nil {
		return nil, err
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
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errBadReply):
		return "bad_reply"
	}
	return awsclient.Code(err)
}
