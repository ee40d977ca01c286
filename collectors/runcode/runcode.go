// Package runcode says in a stable word why a collector's run failed.
//
// What belongs here: the failures that several collectors share, those of HTTP and of
// files. What only one source can answer is named where it is read.
package runcode

import (
	"errors"
	"io/fs"
	"net/http"

	"gapless/analysis"
)

// OfStatus names what an HTTP status refuses; empty for one that says nothing of it.
func OfStatus(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return analysis.CodeThrottled
	case http.StatusUnauthorized, http.StatusForbidden:
		return analysis.CodeForbidden
	case http.StatusNotFound:
		return analysis.CodeNotFound
	}
	return ""
}

// OfFile names why a file could not be read; empty for nil.
func OfFile(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return analysis.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		return analysis.CodeForbidden
	}
	return analysis.CodeError
}
