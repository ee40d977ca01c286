package main

import (
	"context"
	"os"
	"time"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/collectors/applog"
	"gapless/collectors/cloudwatch"
	"gapless/collectors/gauges"
	"gapless/collectors/journey"
	"gapless/collectors/loki"
	"gapless/collectors/probe"
	"gapless/collectors/steps"
	"gapless/collectors/targethealth"
	"gapless/store"
)

// One method a kind of source: from its checked configuration to a collector.

func (w *watch) addSteps(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.steps {
		cfg.Names, cfg.Now, cfg.Log = names, db.Now, w.log
		reader, err := steps.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: "file", tellsDeploys: true, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addAppLogs(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.appLogs {
		cfg.Names, cfg.Now, cfg.Log, cfg.Stdin = names, db.Now, w.log, os.Stdin
		reader, err := applog.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: cfg.Kind, once: reader.Once(), run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addLokiLogs(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.lokiLogs {
		cfg.Names, cfg.Now, cfg.Log = names, db.Now, w.log
		reader, err := loki.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: loki.Kind, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addStates(ctx context.Context, s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.states {
		cfg.Names, cfg.Now, cfg.Log = names, db.Now, w.log
		reader, err := targethealth.New(ctx, cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: cfg.Kind, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addProbes(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.probes {
		cfg.Names, cfg.Log = names, w.log
		prober, err := probe.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: analysis.KindProbe, run: prober.Run})
	}
	return nil
}

func (w *watch) addRecords(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.records {
		cfg.Names, cfg.Now, cfg.Log = names, db.Now, w.log
		reader, err := probe.NewFile(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: probe.KindFile, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addAccessLogs(ctx context.Context, s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.accessLogs {
		cfg.Now, cfg.Log = db.Now, w.log
		now := db.Now()
		began, since, err := db.Collected(ctx, s.Name, cfg.Source, now)
		if err != nil {
			return err
		}
		if longest := now.Add(-longestAbsence); !since.IsZero() && since.Before(longest) {
			since = longest
		}
		cfg.Began, cfg.Since = began, since
		reader, err := accesslog.New(ctx, cfg, names, db)
		if err != nil {
			return err
		}
		collect := func(ctx context.Context, from, to time.Time, progress func(done, total int)) error {
			return reader.Collect(ctx, from, to, func(done, total int, _ int64) { progress(done, total) })
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: cfg.Kind, run: reader.Run, collect: collect})
	}
	return nil
}

func (w *watch) addCloudWatch(ctx context.Context, s *serviceConfig, db *store.DB) error {
	for _, cfg := range s.cloudWatches {
		cfg.Now, cfg.Log = db.Now, w.log
		reader, err := cloudwatch.New(ctx, cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addJourneys(s *serviceConfig, names *analysis.Classifier, db *store.DB) error {
	for _, cfg := range s.journeyRecords {
		cfg.Names, cfg.Now, cfg.Log = names, db.Now, w.log
		reader, err := journey.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: journey.Kind, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

func (w *watch) addGauges(s *serviceConfig, db *store.DB) error {
	for _, cfg := range s.gauges {
		cfg.Now, cfg.Log = db.Now, w.log
		scraper, err := gauges.New(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: cfg.Kind, run: scraper.Run})
	}
	for _, cfg := range s.gaugeFiles {
		cfg.Now, cfg.Log = db.Now, w.log
		reader, err := gauges.NewFile(cfg, db)
		if err != nil {
			return err
		}
		w.collectors = append(w.collectors, collector{source: cfg.Source, kind: gauges.KindFile, run: reader.Run, collect: quietly(reader.Collect)})
	}
	return nil
}

// longestAbsence is how long a console may have been away for its access logs to be
// read from where it left; what is older is read when somebody asks for it.
const longestAbsence = 30 * 24 * time.Hour

// quietly is a way to collect that has no progress to tell.
func quietly(collect func(ctx context.Context, from, to time.Time) error) func(context.Context, time.Time, time.Time, func(int, int)) error {
	return func(ctx context.Context, from, to time.Time, _ func(done, total int)) error {
		return collect(ctx, from, to)
	}
}
