package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"gapless/analysis"
	"gapless/store"
	"gapless/store/evidence"
)

// bundleCommand writes a deploy's evidence bundle, from a database on this machine
// or from a server.
type bundleCommand struct {
	serverFlags
	Deploy string `required:"" placeholder:"ID" help:"The deploy."`
	Output string `short:"o" required:"" placeholder:"FILE.zip" help:"Where to write the bundle."`
	DB     string `name:"db" placeholder:"FILE" help:"The database to read; a server is asked if left out."`
}

// bundleTime is how long a server may take to make a bundle and send it.
const bundleTime = 10 * time.Minute

func (c *bundleCommand) run(ctx context.Context, p *program) (int, error) {
	// Beside its place, so that nobody ever finds half a bundle there.
	file, err := os.CreateTemp(filepath.Dir(c.Output), ".gapless-*.zip")
	if err != nil {
		return exitFailed, fmt.Errorf("write the bundle: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if c.DB != "" {
		err = c.fromDatabase(ctx, file)
	} else {
		err = c.fromServer(ctx, p, file)
	}
	if err != nil {
		return exitFailed, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return exitFailed, fmt.Errorf("write the bundle: %w", err)
	}
	manifest, err := evidence.CheckSeal(file, size)
	if err != nil {
		return exitFailed, fmt.Errorf("what came is no whole bundle: %w", err)
	}
	if err := file.Close(); err != nil {
		return exitFailed, fmt.Errorf("write the bundle: %w", err)
	}
	if err := os.Rename(file.Name(), c.Output); err != nil {
		return exitFailed, fmt.Errorf("write the bundle: %w", err)
	}
	fmt.Fprintf(p.stdout, "%s: %d bytes, manifest sha256 %s\n", c.Output, size, manifest)
	return exitOK, nil
}

func (c *bundleCommand) fromDatabase(ctx context.Context, w io.Writer) error {
	if _, err := os.Stat(c.DB); err != nil { // opening it would make it
		return fmt.Errorf("open the database: %w", err)
	}
	db, err := store.Open(ctx, c.DB)
	if err != nil {
		return err
	}
	defer db.Close()
	config, err := configOf(ctx, db, c.Deploy)
	if err != nil {
		return err
	}
	err = bundler{db: db, judge: judge{configSHA256: config}.judge}.write(ctx, c.Deploy, w)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no deploy %q in %s", c.Deploy, c.DB)
	}
	return err
}

// configOf is the hash of the configuration that the deploy's service was last taken
// from: a database holds what judging needs of it, and not the file.
func configOf(ctx context.Context, db *store.DB, deploy string) (string, error) {
	d, err := db.Deploy(ctx, deploy)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil // whoever writes the bundle says so
	}
	if err != nil {
		return "", err
	}
	return db.Config(ctx, d.Service)
}

func (c *bundleCommand) fromServer(ctx context.Context, p *program, w io.Writer) error {
	server, err := c.client(p)
	if err != nil {
		return err
	}
	server.http.Timeout = bundleTime
	response, err := server.get(ctx, c.Deploy, "bundle")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("read the server's bundle: %w", err)
	}
	return nil
}

// bundler makes evidence bundles from a store.
type bundler struct {
	db    *store.DB
	judge func(analysis.Observations) analysis.Report
}

// write writes the bundle of one deploy. Where the window has settled, the same
// evidence gives the same bytes, whenever that is.
func (b bundler) write(ctx context.Context, deploy string, w io.Writer) error {
	o, err := b.db.Observations(ctx, deploy)
	if err != nil {
		return err
	}
	o.At = judgedAt(&o)
	versions := evidence.Versions{Binary: version(), Go: runtime.Version()}
	_, err = evidence.Write(w, o, versions, func(inputs string) ([]byte, error) {
		report := b.judge(o)
		report.Provenance.InputsSHA256 = inputs
		return encodeReport(&report)
	})
	if err != nil {
		return fmt.Errorf("bundle deploy %s: %w", deploy, err)
	}
	return nil
}

// judgedAt is the moment by which a bundle's evidence is judged. It depends on the
// evidence alone: when the window was sealed; else, once it has settled, when it had;
// else the latest moment that anything in it speaks of, and its verdict is
// provisional.
func judgedAt(o *analysis.Observations) time.Time {
	settled := o.To.Add(o.Service.Window.Settle)
	switch {
	case !o.SealedAt.IsZero():
		return o.SealedAt
	case !o.At.Before(settled):
		return settled
	}
	now, latest := o.At, o.Deploy.StartedAt
	later := func(t time.Time) {
		if t.After(latest) && !t.After(now) {
			latest = t
		}
	}
	for i := range o.Steps {
		later(o.Steps[i].At)
	}
	for i := range o.States {
		later(o.States[i].At)
	}
	for i := range o.Runs {
		later(o.Runs[i].At)
	}
	for i := range o.Cells {
		later(o.Cells[i].Last)
	}
	for i := range o.Requests {
		later(o.Requests[i].End)
	}
	for i := range o.Probes {
		later(o.Probes[i].Done)
	}
	for i := range o.Handled {
		later(o.Handled[i].At)
	}
	return latest
}

func encodeReport(r *analysis.Report) ([]byte, error) {
	body, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return append(body, '\n'), nil
}
