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
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "503 SlowDown":
			return codeThrottled
		case "AccessDenied", "Forbidden", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
			return codeForbidden
		case "NoSuchBucket", "NoSuchKey", "NotFound":
			return codeNotFound
		}
	}
	var reply *smithyhttp.ResponseError
	if errors.As(err, &reply) {
		switch status := reply.HTTPStatusCode(); {
		case status == 401 || status == 403:
			return codeForbidden
		case status == 404:
			return codeNotFound
		case status == 429 || status == 503:
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
	case errors.As(err, &broken), errors.Is(err, errNoNextPage):
		return codeBadReply
	case errors.As(err, &sent), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		return codeUnreachable
	}
	return codeError
}
