package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gapless/store"
)

// metrics are what /metrics tells about the console and its sources.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(store Store, version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gapless_http_request_duration_seconds", Help: "Time to answer a request, by route; streams are left out.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"method", "route", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "gapless_streams", Help: "Open event streams."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "gapless_build_info", Help: "Always 1; the label says which version runs.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.streams, build, sourceMetrics{store},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// measure times requests by the route's pattern, so that ids make no series.
func (m *metrics) measure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		err := next(c)
		if c.Response().Header().Get("Content-Type") == "text/event-stream; charset=utf-8" {
			return err
		}
		status := c.Response().Status
		if err != nil && !c.Response().Committed {
			status = failureOf(err).status
		}
		route := c.Path()
		if route == "" {
			route = "none"
		}
		method := c.Request().Method
		if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, method) {
			method = "other" // whoever asks chooses it, and every one would be kept
		}
		m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(time.Since(began).Seconds())
		return err
	}
}

// sourceMetrics tells how every source of evidence fares, as of the scrape.
type sourceMetrics struct{ store Store }

var (
	lastSuccess  = sourceDesc("gapless_source_last_success_timestamp_seconds", "When a source was last read without an error.")
	lastEvidence = sourceDesc("gapless_source_last_evidence_timestamp_seconds", "Latest moment that a source's evidence is about.")
	sourceRows   = sourceDesc("gapless_source_rows_total", "Rows that a source's runs reported.")
	setAside     = sourceDesc("gapless_source_lines_set_aside_total", "Lines that were not understood.")
	waiting      = sourceDesc("gapless_markers_waiting", "Markers that others are still to be told.")
	dropped      = sourceDesc("gapless_markers_dropped_total", "Markers that nobody will be told any more.")
	failing      = sourceDesc("gapless_source_failing", "1 where the last run failed.")
)

func sourceDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"service", "source", "kind"}, nil)
}

// Describe implements prometheus.Collector.
func (m sourceMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{lastSuccess, lastEvidence, sourceRows, setAside, waiting, dropped, failing} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (m sourceMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	statuses, err := m.store.Collectors(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(failing, err)
		return
	}
	for i := range statuses {
		source := &statuses[i]
		tell := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64) {
			out <- prometheus.MustNewConstMetric(desc, kind, value, source.Service, source.Source, source.Kind)
		}
		if !source.LastSuccess.IsZero() {
			tell(lastSuccess, prometheus.GaugeValue, float64(source.LastSuccess.UnixMilli())/1000)
		}
		if !source.LastEvidence.IsZero() {
			tell(lastEvidence, prometheus.GaugeValue, float64(source.LastEvidence.UnixMilli())/1000)
		}
		tell(sourceRows, prometheus.CounterValue, float64(source.Rows))
		if source.Kind == store.KindPublish {
			tell(waiting, prometheus.GaugeValue, float64(source.Waiting))
			tell(dropped, prometheus.CounterValue, float64(source.Dropped))
		}
		tell(setAside, prometheus.CounterValue, float64(source.SetAside))
		failed := 0.0
		if source.LastErrorAt.After(source.LastSuccess) {
			failed = 1
		}
		tell(failing, prometheus.GaugeValue, failed)
	}
}
