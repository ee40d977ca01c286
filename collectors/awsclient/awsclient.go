// Package awsclient is how every collector that asks AWS gets at it.
//
// What belongs here: an account's configuration from what is configured and the SDK's
// own chain, and stable words for why a call failed. What is asked is the business of
// the collectors.
package awsclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/runcode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Account says where and as whom to ask. Empty fields leave it to the SDK's chain.
type Account struct {
	Region, Profile string
	Role            string // ARN of a role to take on
	Endpoint        string // override: a stand-in for AWS, or a private endpoint
}

// Option is one more setting of the SDK.
type Option = func(*config.LoadOptions) error

// Load finds region and credentials. With an endpoint and no credentials, requests are
// signed with placeholders: a stand-in takes any, and the SDK sends none unsigned. On
// this machine itself the metadata service is not asked for credentials.
func Load(ctx context.Context, account Account, options ...Option) (aws.Config, error) {
	options = slices.Clone(options)
	if account.Region != "" {
		options = append(options, config.WithRegion(account.Region))
	}
	if account.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(account.Profile))
	}
	if account.Endpoint != "" {
		endpoint, err := url.Parse(account.Endpoint)
		if err != nil || endpoint.Host == "" {
			return aws.Config{}, fmt.Errorf("endpoint %q is not an address", account.Endpoint)
		}
		if ip := net.ParseIP(endpoint.Hostname()); endpoint.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
		}
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return aws.Config{}, errors.New("region is missing: set it in the configuration or in AWS_REGION")
	}
	if account.Endpoint != "" {
		within, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if _, err := loaded.Credentials.Retrieve(within); err != nil {
			loaded.Credentials = credentials.NewStaticCredentialsProvider("gapless", "gapless", "")
		}
	}
	if account.Role != "" {
		loaded.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(loaded), account.Role))
	}
	return loaded, nil
}

// Codes of errors, as AWS's services name them.
var (
	throttled = []string{
		"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException",
		"RequestThrottled", "RequestThrottledException", "SlowDown", "PriorRequestNotComplete", "LimitExceeded", "LimitExceededFault",
	}
	forbidden = []string{
		"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthFailure", "InvalidClientTokenId",
		"UnrecognizedClientException", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException",
		"MissingAuthenticationToken", "OptInRequired", "RequestExpired", "IncompleteSignature", "InvalidSignatureException",
	}
	missing = []string{"TargetGroupNotFound", "TargetGroupNotFoundException", "LoadBalancerNotFound"}
)

// Code is the stable word for a call that failed: throttled, forbidden, not_found,
// bad_reply, unreachable, error.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch code := api.ErrorCode(); {
		case slices.Contains(throttled, code):
			return analysis.CodeThrottled
		case slices.Contains(forbidden, code):
			return analysis.CodeForbidden
		case slices.Contains(missing, code):
			return analysis.CodeNotFound
		}
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		if code := runcode.OfStatus(response.HTTPStatusCode()); code != "" {
			return code
		}
	}
	var decode *smithy.DeserializationError
	if errors.As(err, &decode) && (response == nil || response.HTTPStatusCode() < 300) {
		return analysis.CodeBadReply
	}
	var sent *smithyhttp.RequestSendError
	var network net.Error
	switch {
	case strings.Contains(err.Error(), "get credentials:"): // none found: the SDK has no type for it
		return analysis.CodeForbidden
	case errors.As(err, &sent), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return analysis.CodeUnreachable
	}
	return analysis.CodeError
}
