package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
	"gapless/store"
	"gapless/views"
)

// claimsOver is over how many deploys the register looks back.
const claimsOver = 200

// claims is the register of claims.
func (s *Server) claims(c echo.Context) error {
	service, state := c.QueryParam("service"), analysis.VerdictState(c.QueryParam("state"))
	if !slices.Contains([]analysis.VerdictState{"", analysis.Disproved, analysis.Inconclusive, analysis.Untested, analysis.Supported}, state) {
		return badRequest("state is none of disproved, inconclusive, untested, supported.")
	}
	register, err := s.cfg.Store.Claims(c.Request().Context(), service, claimsOver)
	if err != nil {
		return err
	}
	page := views.NewClaimsPage(register.Services, register.Typed, outcomeViews(register.Deploys), service, state, claimsOver, s.cfg.Zone)
	page.Shell = s.shell("Claims", "claims")
	return s.render(c, http.StatusOK, views.Claims(page))
}

func outcomeViews(deploys []store.ClaimOutcome) []views.ClaimOutcome {
	outcomes := make([]views.ClaimOutcome, len(deploys))
	for i, d := range deploys {
		outcomes[i] = views.ClaimOutcome{Deploy: d.Deploy, Service: d.Service, StartedAt: d.StartedAt}
		for _, claim := range d.Claims {
			outcomes[i].Claims = append(outcomes[i].Claims, views.ClaimState{ID: claim.ID, State: claim.State, Reason: claim.Reason})
		}
	}
	return outcomes
}

// newClaim is the form alone.
func (s *Server) newClaim(c echo.Context) error {
	return s.claimForm(c, http.StatusOK, views.ClaimForm{Service: c.QueryParam("service")})
}

func (s *Server) claimForm(c echo.Context, status int, form views.ClaimForm) error {
	services, err := s.cfg.Store.Services(c.Request().Context())
	if err != nil {
		return err
	}
	form.Services = names(services)
	page := views.ClaimFormPage{Shell: s.shell("New claim", "claims"), Form: form.Complete(s.cfg.Zone)}
	return s.render(c, status, views.NewClaim(page))
}

// addClaim takes the form and leads to what the claim is about.
func (s *Server) addClaim(c echo.Context) error {
	form := views.ClaimForm{Service: c.FormValue("service"), Deploy: c.FormValue("deploy"), Text: c.FormValue("text"), By: c.FormValue("by"), About: c.FormValue("about"),
		Says: c.FormValue("says"), Basis: c.FormValue("basis"), Of: c.FormValue("of"), From: c.FormValue("from"), To: c.FormValue("to")}
	again := func(problem string) error {
		form.Problem = problem
		return s.claimForm(c, http.StatusUnprocessableEntity, form)
	}
	claim := analysis.TypedClaim{Service: form.Service, Deploy: form.Deploy, About: analysis.Class(form.About), Caused: form.Says != "literal",
		Basis: analysis.Class(form.Basis), Text: form.Text, By: form.By}
	if form.Of == "span" {
		claim.Deploy = ""
	}
	for _, field := range []struct {
		text string
		into *time.Time
	}{{form.From, &claim.From}, {form.To, &claim.To}} {
		at, ok := s.formTime(field.text)
		if !ok && field.text != "" {
			return again("From and to must be dates with a time.")
		}
		*field.into = at
	}
	if err := claim.Validate(); err != nil {
		return again(upper(err.Error()) + ".")
	}
	_, _, err := s.cfg.Store.AddClaim(c.Request().Context(), claim)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return again("The service has no such deploy, or is not known.")
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, claimPage(claim))
}

// claimPage is the page of what a claim is about.
func claimPage(c analysis.TypedClaim) string {
	if c.Deploy != "" {
		return views.DeployURL(c.Deploy) + "#h-claims"
	}
	if c.To.Sub(c.From) > maxSpan {
		return "/claims"
	}
	return views.SpanURL(c.Service, c.From, c.To) + "#h-claims"
}

// claimJSON is a typed claim as the API takes and tells it.
type claimJSON struct {
	ID           string         `json:"id"`
	Service      string         `json:"service"`
	Deploy       *string        `json:"deploy"`
	About        analysis.Class `json:"about"`
	Caused       bool           `json:"caused"`
	Basis        *string        `json:"basis"`
	Text         string         `json:"text"`
	From         analysis.Time  `json:"from"`
	To           analysis.Time  `json:"to"`
	By           *string        `json:"by"`
	RegisteredAt analysis.Time  `json:"registered_at"`
}

// newClaimJSON is a claim as the API takes it: what is made here (id, registered_at)
// may stand in it, since it stands in what the API tells, and changes nothing.
type newClaimJSON struct {
	claimJSON
	Caused *bool `json:"caused"` // null is true, as the form has it
}

// apiAddClaim stores a claim. The service may be left out where a deploy is named.
func (s *Server) apiAddClaim(c echo.Context) error {
	var told newClaimJSON
	if err := decodeStrictly(c, &told, "a claim"); err != nil {
		return err
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	claim := analysis.TypedClaim{Service: told.Service, Deploy: text(told.Deploy), About: cmp.Or(told.About, analysis.ClassUser), Caused: told.Caused == nil || *told.Caused,
		Basis: analysis.Class(text(told.Basis)), Text: told.Text, From: told.From.Time, To: told.To.Time, By: text(told.By)}
	ctx := c.Request().Context()
	if claim.Service == "" && claim.Deploy != "" {
		deploy, err := s.cfg.Store.Deploy(ctx, claim.Deploy)
		if err != nil {
			return ofDeploy(err, claim.Deploy)
		}
		claim.Service = deploy.Service
	}
	if err := claim.Validate(); err != nil {
		return badRequest(upper(err.Error()) + ".")
	}
	if err := s.knownService(c, claim.Service); err != nil {
		return err
	}
	id, stored, err := s.cfg.Store.AddClaim(ctx, claim)
	if err != nil {
		return conflict(ofDeploy(err, claim.Deploy), claim.Deploy)
	}
	status := http.StatusOK
	if stored {
		status = http.StatusCreated
	}
	return writeJSON(c, status, storedJSON{ID: id, Stored: stored, Page: claimPage(claim)})
}

// apiClaims tells the register: what people typed, and what became of every claim in
// the latest revision of the newest deploys.
func (s *Server) apiClaims(c echo.Context) error {
	register, err := s.cfg.Store.Claims(c.Request().Context(), c.QueryParam("service"), claimsOver)
	if err != nil {
		return err
	}
	type outcome struct {
		Deploy    string             `json:"deploy"`
		Service   string             `json:"service"`
		StartedAt analysis.Time      `json:"started_at"`
		Claims    []store.ClaimState `json:"claims"` // null until a report was saved
	}
	answer := struct {
		Typed   []claimJSON `json:"typed"`
		Deploys []outcome   `json:"deploys"`
	}{make([]claimJSON, len(register.Typed)), make([]outcome, len(register.Deploys))}
	known := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	for i, t := range register.Typed {
		answer.Typed[i] = claimJSON{ID: t.ID, Service: t.Service, Deploy: known(t.Deploy), About: t.About, Caused: t.Caused, Basis: known(string(t.Basis)), Text: t.Text,
			From: analysis.Time{Time: t.From}, To: analysis.Time{Time: t.To}, By: known(t.By), RegisteredAt: analysis.Time{Time: t.RegisteredAt}}
	}
	for i, d := range register.Deploys {
		answer.Deploys[i] = outcome{d.Deploy, d.Service, analysis.Time{Time: d.StartedAt}, d.Claims}
	}
	return writeJSON(c, http.StatusOK, answer)
}
