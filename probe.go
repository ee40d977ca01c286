package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"gapless/analysis"
	"gapless/collectors/probe"
)

// probeCommand runs a service's probes from another place than the console's, so that
// a slow or broken way to the load balancer can be told from a slow server.
type probeCommand struct {
	serverFlags
	Config  string `short:"c" required:"" placeholder:"FILE" help:"The configuration that names the probes: the server's, or the part of it that has them."`
	Service string `required:"" placeholder:"NAME" help:"The service whose probes to run."`
	Vantage string `placeholder:"NAME" help:"What to call this place; this machine's name if left out."`
}

func (c *probeCommand) run(ctx context.Context, p *program) (int, error) {
	cfg, err := loadConfig(c.Config, p.env)
	if err != nil {
		return exitFailed, err
	}
	service, err := cfg.service(c.Service)
	if err != nil {
		return exitFailed, err
	}
	if len(service.probes) == 0 {
		return exitFailed, fmt.Errorf("service %s has no probes in %s", c.Service, c.Config)
	}
	vantage := c.Vantage
	if vantage == "" {
		if vantage, err = os.Hostname(); err != nil {
			return exitFailed, fmt.Errorf("find this machine's name: %w; give one with --vantage", err)
		}
	}
	if strings.ContainsAny(vantage, "@") {
		return exitFailed, fmt.Errorf("vantage %q has an @; allowed: a name without", vantage)
	}
	server, err := c.client(p)
	if err != nil {
		return exitFailed, err
	}
	names, err := analysis.NewClassifier(service.Service)
	if err != nil {
		return exitFailed, fmt.Errorf("service %s: %w", c.Service, err)
	}
	log := slog.New(slog.NewTextHandler(p.stderr, nil))
	sink := remoteProbes{client: server, vantage: vantage}
	// The server is asked before anything is sent: a wrong name or token ends here.
	for _, one := range service.Probes {
		now := analysis.Time{Time: time.Now().UTC().Truncate(time.Microsecond)}
		if err := sink.send(ctx, c.Service, analysis.ProbeReport{Probe: one.Name, Vantage: vantage, From: now, To: now}, nil); err != nil {
			return exitFailed, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, each := range service.probes {
		each.Probe = each.Source
		each.Source = analysis.VantageSource(each.Probe, vantage)
		each.Names, each.Log = names, log
		prober, err := probe.New(each, sink)
		if err != nil {
			return exitFailed, err
		}
		group.Go(func() error { return prober.Run(ctx) })
	}
	fmt.Fprintf(p.stdout, "probing %s from %s for %s\n", c.Service, vantage, server.server)
	if err := group.Wait(); err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// remoteProbes sends what probes saw to a server. What it does not take, the prober
// keeps and sends again.
type remoteProbes struct {
	client  *client
	vantage string
}

// probesACall is how many requests one call carries, as the API bounds it.
const probesACall = 1000

// AddProbes implements [probe.Sink]. The stretch of time that the requests cover is
// told with the last of them: until all are there, nothing is covered. Requests that
// were kept while the server was away are told before, with stretches of no length.
func (r remoteProbes) AddProbes(ctx context.Context, service string, run analysis.Run, requests []analysis.ProbeRequest) error {
	report := analysis.ProbeReport{
		Probe: analysis.ProbeOf(run.Source), Vantage: r.vantage, From: analysis.Time{Time: run.From}, To: analysis.Time{Time: run.To}, Code: run.Code, Error: run.Error,
	}
	for fitting(&report, requests) < len(requests) {
		sent := analysis.Time{Time: requests[0].Sent}
		early := analysis.ProbeReport{Probe: report.Probe, Vantage: r.vantage, From: sent, To: sent}
		n := fitting(&early, requests)
		if err := r.send(ctx, service, early, requests[:n]); err != nil {
			return err
		}
		requests = requests[n:]
	}
	return r.send(ctx, service, report, requests)
}

// fitting is how many of the first requests one call can carry with a report.
func fitting(report *analysis.ProbeReport, requests []analysis.ProbeRequest) int {
	n := 0
	for n < min(probesACall, len(requests)) && report.Holds(requests[n].Sent) {
		n++
	}
	return n
}

func (r remoteProbes) send(ctx context.Context, service string, report analysis.ProbeReport, requests []analysis.ProbeRequest) error {
	report.Requests = make([]analysis.ProbeRecord, len(requests))
	for i := range requests {
		report.Requests[i] = analysis.ProbeRecordOf(requests[i])
	}
	body, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode probe requests: %w", err)
	}
	address := r.client.server + "/api/v1/services/" + url.PathEscape(service) + "/probes"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("prepare the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := r.client.send(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
