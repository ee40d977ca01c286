//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/store"
)

// gunzip unpacks a file and throws the text away, or writes it to a second file.
func gunzip(names []string) error {
	source, err := os.Open(names[0])
	if err != nil {
		return err
	}
	defer source.Close()
	z, err := gzip.NewReader(source)
	if err != nil {
		return err
	}
	if len(names) == 1 {
		_, err = io.Copy(io.Discard, z)
		return err
	}
	plain, err := os.Create(names[1])
	if err != nil {
		return err
	}
	defer plain.Close()
	if _, err := io.Copy(plain, z); err != nil {
		return err
	}
	return plain.Close()
}

// ingest reads every log object of a folder into a new database, as the collector
// of a running gapless does.
func ingest(ctx context.Context, folder, database string) error {
	debug.SetGCPercent(50) // as the program does
	for _, part := range []string{"", "-wal", "-shm"} {
		if err := os.RemoveAll(database + part); err != nil {
			return err
		}
	}
	service := analysis.Service{
		Name:    "shop",
		Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}, {Name: "api-2", Address: "10.0.1.12:8080"}},
		Traffic: analysis.TrafficRules{
			Probe:  []analysis.TrafficRule{{UserAgentPrefix: "gapless-probe/"}},
			Health: []analysis.TrafficRule{{UserAgentPrefix: "gapless-health/"}, {UserAgentPrefix: "ELB-HealthChecker/"}},
		},
		Routes: []analysis.Route{{Name: "order", Match: "^/v1/orders", Critical: true}, {Name: "search", Match: "^/v2/search"}},
	}
	rules, err := analysis.NewClassifier(service)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.PutService(ctx, service); err != nil {
		return err
	}
	folder, err = filepath.Abs(folder)
	if err != nil {
		return err
	}
	reader, err := accesslog.New(ctx, accesslog.Config{Service: service.Name, Source: "alb", Kind: "alb", URL: "file://" + filepath.ToSlash(folder)}, rules, db)
	if err != nil {
		return err
	}
	if err := reader.Collect(ctx, start, start.Add(span), nil); err != nil {
		return err
	}
	sources, err := db.Collectors(ctx)
	if err != nil {
		return err
	}
	for _, source := range sources {
		fmt.Println(source.Lines - source.SetAside)
	}
	return db.Close()
}
