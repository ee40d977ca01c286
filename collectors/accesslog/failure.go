package accesslog

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"gapless/analysis"
	"gapless/collectors/runcode"
)

// codeOf names a failure.
func codeOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded): // whatever else it is, after it was waited for
		return analysis.CodeUnreachable
	case errors.Is(err, errNoNextPage), errors.Is(err, errSamePage), errors.Is(err, errLonger), errors.Is(err, errReplyTooLong):
		return analysis.CodeBadReply
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests":
			return analysis.CodeThrottled
		case "AccessDenied", "Forbidden", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
			return analysis.CodeForbidden
		case "NoSuchBucket", "NoSuchKey", "NotFound":
			return analysis.CodeNotFound
		}
	}
	if reply, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status := reply.HTTPStatusCode()
		if status == http.StatusServiceUnavailable { // S3's "slow down"
			return analysis.CodeThrottled
		}
		if code := runcode.OfStatus(status); code != "" {
			return code
		}
	}
	// Before the network: an errno of the file system looks like its errors.
	if code := runcode.OfFile(err); code != analysis.CodeError {
		return code
	}
	var broken *smithy.DeserializationError
	var network net.Error
	var sent *smithyhttp.RequestSendError
	switch {
	case errors.As(err, &broken):
		return analysis.CodeBadReply
	case errors.As(err, &sent), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF):
		return analysis.CodeUnreachable
	}
	return analysis.CodeError
}
