package views

import (
	"net/url"
	"time"
)

// DeployURL is the address of a deploy's page.
func DeployURL(id string) string { return "/deploys/" + url.PathEscape(id) }

// SpanURL is the address of a stretch of time that is judged without a deploy.
func SpanURL(service string, from, to time.Time) string {
	return spanPath(service) + "?" + spanQuery(from, to)
}

func spanPath(service string) string { return "/services/" + url.PathEscape(service) + "/span" }

// spanQuery is from and to as a page's address carries them.
func spanQuery(from, to time.Time) string {
	return url.Values{"from": {from.UTC().Format(time.RFC3339Nano)}, "to": {to.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// CompareURL is the address of the comparison of two deploys; with the earlier one
// left out it is the one before b.
func CompareURL(a, b string) string {
	query := url.Values{"b": {b}}
	if a != "" {
		query.Set("a", a)
	}
	return "/compare?" + query.Encode()
}
