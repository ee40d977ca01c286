package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gapless/analysis"
	"gapless/store/evidence"
)

// verifyCommand checks a bundle to the byte, judges its records again, and compares
// the outcome with the report in it.
type verifyCommand struct {
	File   string `arg:"" placeholder:"FILE.zip" help:"The bundle."`
	SHA256 string `name:"sha256" placeholder:"HEX" help:"The manifest's SHA-256 as it was printed when the bundle was made."`
}

// statedFields are those of a report that no records can tell: who made it, and what
// it was before.
var statedFields = []string{
	"provenance.binary", "provenance.config_sha256", "provenance.previous", "provenance.changes",
}

// shownDifferences bounds what is printed of one bundle.
const shownDifferences = 100

func (c *verifyCommand) run(ctx context.Context, p *program) (int, error) {
	file, err := os.Open(c.File)
	if err != nil {
		return exitFailed, fmt.Errorf("open the bundle: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return exitFailed, fmt.Errorf("open the bundle: %w", err)
	}
	if !info.Mode().IsRegular() {
		return exitFailed, fmt.Errorf("open the bundle: %s is not a file", c.File)
	}
	bundle, problems := evidence.Read(cancelled{ctx, file}, info.Size())
	if err := ctx.Err(); err != nil {
		return exitFailed, err
	}
	if len(problems) > 0 {
		for _, problem := range problems {
			fmt.Fprintf(p.stdout, "%s: %s\n", c.File, printable(problem.String()))
		}
		fmt.Fprintln(p.stdout, "altered, or no evidence bundle: nothing was recomputed")
		return exitDisproved, nil
	}
	if c.SHA256 != "" && !strings.EqualFold(c.SHA256, bundle.ManifestSHA256) {
		fmt.Fprintf(p.stdout, "%s: it is another bundle: its manifest has sha256 %s, not %s\n", c.File, bundle.ManifestSHA256, printable(c.SHA256))
		return exitDisproved, nil
	}
	report, differences, err := recompute(bundle)
	if err != nil {
		fmt.Fprintf(p.stdout, "%s: %s\n", c.File, printable(err.Error()))
		return exitDisproved, nil
	}
	if len(differences) > 0 {
		for _, d := range differences[:min(len(differences), shownDifferences)] {
			fmt.Fprintf(p.stdout, "%s: the report says %s, the records give %s\n", printable(d.Field), told(d.Was), told(d.Is))
		}
		fmt.Fprintf(p.stdout, "the report differs from its records in %d fields\n", len(differences))
		if v := version(); bundle.Versions.Binary != v {
			fmt.Fprintf(p.stdout, "It was made by gapless %s, this is %s: another version may judge otherwise.\n", printable(bundle.Versions.Binary), v)
		}
		return exitDisproved, nil
	}
	records := 0
	for _, m := range bundle.Manifest.Members {
		if m.Records != nil {
			records += *m.Records
		}
	}
	fmt.Fprintf(p.stdout, "%s %s: %s\n", printable(report.Deploy.Service), printable((&sheet{}).deployName(report)), report.Verdict.State)
	fmt.Fprintf(p.stdout, "The report follows from the %d records in the bundle, and no byte of it was altered.\n", records)
	fmt.Fprintf(p.stdout, "Made by gapless %s, verified by %s. Stated, not recomputed: %s.\n", printable(bundle.Versions.Binary), version(), strings.Join(statedFields, ", "))
	fmt.Fprintf(p.stdout, "manifest sha256 %s\n", bundle.ManifestSHA256)
	return exitOK, nil
}

// cancelled reads until ctx ends.
type cancelled struct {
	ctx  context.Context
	file io.ReaderAt
}

// ReadAt implements io.ReaderAt.
func (c cancelled) ReadAt(p []byte, at int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.file.ReadAt(p, at)
}

// recompute judges a bundle's observations and compares. Observations that no
// collector would make, and on which the judge stumbles, are an error.
func recompute(b *evidence.Bundle) (_ *analysis.Report, _ []evidence.Difference, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("its records cannot be judged: %v", r)
		}
	}()
	report := judge{}.judge(b.Observations)
	report.Provenance.InputsSHA256 = b.Manifest.Inputs
	again, err := encodeReport(&report)
	if err != nil {
		return nil, nil, err
	}
	differences, err := evidence.Differences(b.Report, again, func(field string) bool { return slices.Contains(statedFields, field) })
	return &report, differences, err
}

func told(value string) string {
	switch {
	case value == "":
		return "nothing"
	case len(value) > 200:
		return printable(value[:200]) + "…"
	}
	return printable(value)
}
