package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// authenticate asks for the token on write calls where one is set, and for the
// password (or the token) on everything where a password is set.
//
// A browser cannot send a bearer token, so the pages' own forms also take either
// secret by basic authentication.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		token, password := s.credentials(r)
		allowed := true
		api := strings.HasPrefix(r.URL.Path, "/api/")
		switch write := r.Method != http.MethodGet && r.Method != http.MethodHead; {
		case write && api && s.cfg.Token != "":
			allowed = token
		case write && s.cfg.Token != "", s.cfg.Password != "":
			allowed = token || password
		}
		if allowed {
			return next(c)
		}
		challenge, detail := `Basic realm="gapless", charset="UTF-8"`, "This server asks for its password."
		if api && s.cfg.Token != "" {
			challenge, detail = `Bearer realm="gapless"`, "This call needs the server's token, and none was sent: Authorization: Bearer …"
			if r.Header.Get("Authorization") != "" {
				detail = "This call needs the server's token: Authorization: Bearer … What was sent is another."
			}
		}
		c.Response().Header().Set("WWW-Authenticate", challenge)
		return &failure{http.StatusUnauthorized, "Not authorized", detail}
	}
}

// credentials says which of the secrets a request carries.
func (s *Server) credentials(r *http.Request) (token, password bool) {
	// A scheme's name may be written in any case (RFC 9110, 11.1).
	if scheme, bearer, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return same(strings.TrimLeft(bearer, " "), s.cfg.Token), false
	}
	if _, secret, ok := r.BasicAuth(); ok {
		return same(secret, s.cfg.Token), same(secret, s.cfg.Password)
	}
	return false, false
}

// same compares secrets in a time that tells nothing about them. An unset secret
// equals nothing.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}
