package accesslog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Stable words for why a run failed, as in [analysis.Run].
const (
	codeThrottled   = "throttled"
	codeForbidden   = "forbidden"
	codeNotFound    = "not_found"
	codeBadReply    = "bad_reply"
	codeUnreachable = "unreachable"
	codeError       = "error"
)

// codeOf names a failure.
func codeOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded): // whatever else it is, after it was waited for
		return codeUnreachable
	case errors.Is(err, errNoNextPage), errors.Is(err, errSamePage), errors.Is(err, errLonger), errors.Is(err, errReplyTooLong):
		return codeBadReply
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests":
			return codeThrottled
		case "AccessDenied", "Forbidden", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
			return codeForbidden
		case "NoSuchBucket", "NoSuchKey", "NotFound":
			return codeNotFound
		}
	}
	if reply, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		switch reply.HTTPStatusCode() {
		case 401, 403:
			return codeForbidden
		case 404:
			return codeNotFound
		case 429, 503:
			return codeThrottled
		}
	}
	var broken *smithy.DeserializationError
	var network net.Error
	var sent *smithyhttp.RequestSendError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return codeNotFound
	case errors.Is(err, fs.ErrPermission):
		return codeForbidden
	case errors.As(err, &broken):
		return codeBadReply
	case errors.As(err, &sent), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF):
		return codeUnreachable
	}
	return codeError
}
