package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"gapless/views"
)

// verdictsShown is how many deploys the strip of a service shows.
const verdictsShown = 16

// services is the page of every service.
func (s *Server) services(c echo.Context) error {
	page, err := s.servicesPage(c.Request().Context())
	if err != nil {
		return err
	}
	page.Shell = s.shell("Services", "services")
	return s.render(c, http.StatusOK, views.Services(page))
}

func (s *Server) servicesStream(c echo.Context) error {
	return s.stream(c, source{"services", "", s.pace.list, s.cfg.Store.Subscribe, func(ctx context.Context) (message, error) {
		page, err := s.servicesPage(ctx)
		if err != nil {
			return message{}, err
		}
		body, err := markup(ctx, views.ServicesLive(page))
		return message{event: "services", data: body}, err
	}})
}

func (s *Server) servicesPage(ctx context.Context) (views.ServicesPage, error) {
	all, err := s.cfg.Store.Overview(ctx, verdictsShown)
	if err != nil {
		return views.ServicesPage{}, err
	}
	services := make([]views.ServiceOverview, len(all))
	for i := range all {
		services[i] = views.ServiceOverview{Service: all[i].Service, Deploys: summaryViews(all[i].Deploys), Collectors: collectorViews(all[i].Collectors)}
	}
	return views.NewServicesPage(services, s.cfg.Now(), s.cfg.Zone), nil
}
