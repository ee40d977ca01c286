package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// knownHost refuses requests for a host that this server is not. Without it, a page
// of another site could have its own name resolve to this machine (DNS rebinding) and
// then read and write here as if it were the console's own page.
//
// Any name will do where a token or a password guards the server and no hosts are
// configured: a browser does not know those secrets under another name.
func (s *Server) knownHost(next echo.HandlerFunc) echo.HandlerFunc {
	guarded := (s.cfg.Token != "" || s.cfg.Password != "") && len(s.cfg.Hosts) == 0
	return func(c echo.Context) error {
		if host := hostOf(c.Request().Host); !guarded && !loopback(host) && !slices.ContainsFunc(s.cfg.Hosts, func(known string) bool { return strings.EqualFold(known, host) }) {
			return &failure{http.StatusMisdirectedRequest, "Not this server",
				"This server answers only to names of this machine, such as localhost, and to those under hosts in its configuration."}
		}
		return next(c)
	}
}

// hostOf is a Host header without its port.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
