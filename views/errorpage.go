package views

import "strconv"

// ErrorPage says what went wrong in words for people, with what an operator needs to
// find it in the log.
type ErrorPage struct {
	Shell     Shell
	Status    string
	Heading   string
	Message   string
	RequestID string
}

// NewErrorPage words an error.
func NewErrorPage(status int, heading, message, requestID string) ErrorPage {
	return ErrorPage{Status: strconv.Itoa(status), Heading: heading, Message: message, RequestID: requestID}
}
