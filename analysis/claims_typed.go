package analysis

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// TypedClaim is a sentence that a person asserts of one deploy, or of every deploy in
// a span of time. What it says is always "no request of a class failed"; the text is
// how the person put it.
type TypedClaim struct {
	ID      string `json:"id"` // made by [TypedClaim.Key] where nobody gave one
	Service string `json:"service"`
	Deploy  string `json:"deploy"` // id; empty: of the span from From to To
	About   Class  `json:"about"`  // whose requests it is about: user, probe or health
	// Caused: none failed because of the deploy. Else the claim is literal, and any
	// failure in scope disproves it.
	Caused bool `json:"caused"`
	// Basis is what the person goes by, where it was told: health, for health samples.
	Basis        Class     `json:"basis"`
	Text         string    `json:"text"`
	From         time.Time `json:"from"` // of its scope; zero: the deploy's start
	To           time.Time `json:"to"`   // zero: the end of the deploy's window
	By           string    `json:"by"`
	RegisteredAt time.Time `json:"registered_at"`
}

// MaxClaimText bounds the text of a claim, in characters.
const MaxClaimText = 500

// maxClaimBy bounds the name of who says so, in characters.
const maxClaimBy = 100

// ReasonHealthSamples says that a claim about users rests on health samples, and that
// nothing else was measured.
const ReasonHealthSamples = "rests_on_health_samples"

// Validate says what is wrong with a claim, in words for whoever typed it.
func (c TypedClaim) Validate() error {
	switch {
	case c.Service == "":
		return errors.New("a claim needs its service")
	case !slices.Contains([]Class{ClassUser, ClassProbe, ClassHealth}, c.About):
		return fmt.Errorf("about %q is none of user, probe, health", c.About)
	case c.Basis != "" && c.Basis != ClassHealth:
		return fmt.Errorf("basis %q is neither empty nor health", c.Basis)
	case c.Deploy == "" && (c.From.IsZero() || c.To.IsZero()):
		return errors.New("a claim that names no deploy needs from and to")
	case !c.To.IsZero() && !c.To.After(c.From):
		return errors.New("to must be after from")
	case utf8.RuneCountInString(c.Text) > MaxClaimText:
		return fmt.Errorf("the text is longer than %d characters", MaxClaimText)
	case utf8.RuneCountInString(c.By) > maxClaimBy:
		return fmt.Errorf("who says so is longer than %d characters", maxClaimBy)
	case !printable(c.Text) || !printable(c.By):
		return errors.New("the text holds control characters")
	}
	return nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' })
}

// Key is an id made from what is claimed, so that the same claim told twice is one.
func (c TypedClaim) Key() string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return strconv.FormatInt(t.UnixMicro(), 10)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{c.Service, c.Deploy, string(c.About), strconv.FormatBool(c.Caused), string(c.Basis), c.Text, at(c.From), at(c.To)}, "\x00")))
	return "typed-" + hex.EncodeToString(sum[:6])
}

// Typed is what a report says of a claim that a person typed.
type Typed struct {
	Caused bool    `json:"caused"`
	Basis  *Class  `json:"basis"`
	By     *string `json:"by"`
	Deploy *string `json:"deploy"` // null where it was said of a span of time
}

// typedClaims judges the claims that people typed and whose scope meets the window,
// in the order in which they were registered.
func (b *bench) typedClaims() []Claim {
	typed := slices.Clone(b.obs.Claims)
	slices.SortFunc(typed, func(x, y TypedClaim) int {
		return cmp.Or(x.RegisteredAt.Compare(y.RegisteredAt), strings.Compare(x.ID, y.ID))
	})
	claims := []Claim{}
	for i := range typed {
		t := &typed[i]
		from, to := b.started, b.to
		if !t.From.IsZero() {
			from = latest(t.From, b.from)
		}
		if !t.To.IsZero() {
			to = earliest(t.To, b.to)
		}
		if !from.Before(to) && (!t.From.IsZero() || !t.To.IsZero()) {
			continue
		}
		c := Claim{ID: t.ID, Text: t.Text, Scope: Scope{t.About, Time{from}, Time{to}}, Required: []Required{}, Evidence: []Evidence{},
			RegisteredAt: Time{t.RegisteredAt}, Typed: &Typed{Caused: t.Caused, By: known(t.By), Deploy: known(t.Deploy)}}
		if t.Basis != "" {
			c.Typed.Basis = &t.Basis
		}
		b.judgeFailures(&c, t.Caused)
		if b.restsOnHealth(&c) && c.Reason == ReasonNotMeasured {
			c.State, c.Reason = Untested, ReasonHealthSamples
		}
		claims = append(claims, c)
	}
	return claims
}

// restsOnHealth reports whether a claim about users rests on health samples: because
// whoever typed it says so, or because nothing else was measured.
func (b *bench) restsOnHealth(c *Claim) bool {
	if c.Typed == nil || c.Scope.Traffic != ClassUser {
		return false
	}
	told := c.Typed.Basis != nil && *c.Typed.Basis == ClassHealth
	return told || !b.measured(ClassUser) && !b.measured(ClassProbe) && b.measured(ClassHealth)
}

// requestsIn counts the requests of a class that were sent in some spans: those that were
// logged to the second, as far as any of their second's cell was.
func (b *bench) requestsIn(class Class, spans []span) int {
	n := 0
	if b.byProber(class) {
		for i := range b.obs.Probes {
			if p := &b.obs.Probes[i]; p.Class == class && covers(spans, p.Sent) {
				n++
			}
		}
		return n
	}
	for i := range b.obs.Cells {
		if c := &b.obs.Cells[i]; c.Class == class && b.counting[c.Source] && c.meets(spans) {
			n += c.Count
		}
	}
	return n
}

// nobodyIn reports whether no request of a claim's class was sent in the risky part of its
// scope, or, where it has none, in the scope at all.
func (b *bench) nobodyIn(s Scope) bool {
	scope := []span{{s.From.Time, s.To.Time}}
	risky := without(scope, without(scope, b.riskySpans()))
	if len(risky) > 0 {
		scope = risky
	}
	return b.requestsIn(s.Traffic, scope) == 0
}
