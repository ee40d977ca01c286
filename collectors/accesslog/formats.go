package accesslog

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kinds of access logs.
const (
	KindALB            = "alb"
	KindALBHealth      = "alb-health" // of an ALB's own health checks
	KindALBConnections = "alb-conn"   // of connections to an ALB
	KindNginx          = "nginx"
	KindNginxJSON      = "nginx-json"
	KindHAProxy        = "haproxy"
)

// Formats are the kinds that are understood.
var Formats = []string{KindALB, KindALBHealth, KindALBConnections, KindNginx, KindNginxJSON, KindHAProxy}

// Follows reports whether a kind is of proxies, which write files that are followed,
// rather than objects.
func Follows(kind string) bool {
	return kind == KindNginx || kind == KindNginxJSON || kind == KindHAProxy
}

// newFormat makes the parser that cfg asks for. It serves one goroutine.
func newFormat(cfg *Config) (format, error) {
	zone := cfg.Zone
	if zone == nil {
		zone = time.UTC
	}
	switch cfg.Kind {
	case KindALB:
		return &albFormat{}, nil
	case KindALBHealth:
		return &healthFormat{}, nil
	case KindALBConnections:
		return &connFormat{}, nil
	case KindNginx:
		return newNginx(cfg.Format, zone)
	case KindNginxJSON:
		return newNginxJSON(zone), nil
	case KindHAProxy:
		return &haproxyFormat{zone: zone}, nil
	}
	return nil, fmt.Errorf("format %q is not known; known: %s", cfg.Kind, strings.Join(Formats, ", "))
}

// CheckFormat reports what is wrong with the text of an nginx log_format, nil if it
// can be read.
func CheckFormat(text string) error {
	_, err := newNginx(text, time.UTC)
	return err
}

// FormatHasHost reports whether lines of an nginx log_format name the host that was
// asked for.
func FormatHasHost(text string) bool {
	f, err := newNginx(text, time.UTC)
	return err == nil && slices.ContainsFunc(f.steps, func(s nginxStep) bool { return s.is == nginxHost })
}
