//go:build unix

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed duckdb.mjs
var duckdbScript []byte

// comparison is one run of the contestants against each other.
type comparison struct {
	dir    string
	lines  int
	rounds int
	self   string // this program
}

// usage is what one process took.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // bytes of resident memory
	output    string
}

// contestant is one program to be measured.
type contestant struct {
	name  string
	lines int
	args  []string
	dir   string // to run in
	// counts says that it prints how many lines it understood, which must be all.
	counts bool
	once   bool // too slow for every round
	runs   []usage
}

func (c *comparison) prepare() error {
	var err error
	if c.self, err = os.Executable(); err != nil {
		return err
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	return os.MkdirAll(c.dir, 0o755)
}

// log makes a folder with a log of the given lines in so many objects, named as AWS
// does, unless it is there.
func (c *comparison) log(ctx context.Context, lines, objects int) (folder string, files []string, err error) {
	folder = filepath.Join(c.dir, fmt.Sprintf("log-%d-%d", lines, objects))
	for i := range objects {
		file := filepath.Join(folder, fmt.Sprintf("123456789012_elasticloadbalancing_ap-northeast-2_app.shop-public.50dc6c495c0c9188_%s_203.0.113.200_%02d.log.gz",
			start.Add(span).Format("20060102T1504Z"), i))
		if _, err := os.Stat(file); err != nil {
			if _, err := measure(ctx, "", c.self, "generate", file, strconv.Itoa(lines/objects), strconv.Itoa(1+i)); err != nil {
				return "", nil, err
			}
		}
		files = append(files, file)
	}
	return folder, files, nil
}

// compare runs the contestants and prints their table.
func (c *comparison) compare(ctx context.Context, w io.Writer) error {
	if err := c.prepare(); err != nil {
		return err
	}
	folder, files, err := c.log(ctx, c.lines, 1)
	if err != nil {
		return err
	}
	const objects = 8
	several, _, err := c.log(ctx, c.lines, objects)
	if err != nil {
		return err
	}
	plain := filepath.Join(c.dir, "plain.log")
	if _, err := measure(ctx, "", c.self, "gunzip", files[0], plain); err != nil {
		return err
	}
	script := filepath.Join(c.dir, "duckdb.mjs")
	if err := os.WriteFile(script, duckdbScript, 0o600); err != nil {
		return err
	}
	all := []*contestant{
		{name: "plain gunzip (klauspost/compress), thrown away", args: []string{c.self, "gunzip", files[0]}},
		{name: "**gapless**, rows written to SQLite", args: []string{c.self, "ingest", folder, filepath.Join(c.dir, "one.db")}, counts: true},
		{name: fmt.Sprintf("**gapless**, the same in %d objects", objects), args: []string{c.self, "ingest", several, filepath.Join(c.dir, "several.db")}, counts: true},
		{name: "DuckDB's CSV reader, per second, target and status with a p99", args: []string{"node", script, files[0]}, dir: filepath.Join(c.dir, "node"), counts: true},
		{name: "GoAccess, from plain text", args: []string{"goaccess", plain, "--log-format=AWSALB", "--no-global-config", "--no-progress", "-o", filepath.Join(c.dir, "goaccess.json")}, once: true},
	}
	before := load()
	for round := range c.rounds {
		for _, one := range all {
			if one.once && round > 0 {
				continue
			}
			one.lines = c.lines
			used, err := measure(ctx, one.dir, one.args...)
			if err != nil {
				return err
			}
			if one.counts && strings.TrimSpace(used.output) != strconv.Itoa(c.lines) {
				return fmt.Errorf("%s understood %q lines of %d", one.name, used.output, c.lines)
			}
			one.runs = append(one.runs, used)
		}
	}
	size := func(name string) int64 {
		if info, err := os.Stat(name); err == nil {
			return info.Size()
		}
		return 0
	}
	fmt.Fprintf(w, "%d lines, %.0f bytes a line, gzip to %.0f MB; %s; load %s before, %s after; medians of %d rounds in turn.\n\n",
		c.lines, float64(size(plain))/float64(c.lines), float64(size(files[0]))/1e6, machine(), before, load(), c.rounds)
	table(w, all)
	return os.Remove(plain)
}

// scale shows that a line takes the same however many there are.
func (c *comparison) scale(ctx context.Context, w io.Writer) error {
	if err := c.prepare(); err != nil {
		return err
	}
	var all []*contestant
	for _, lines := range []int{100_000, 1_000_000, 10_000_000} {
		folder, _, err := c.log(ctx, lines, 1)
		if err != nil {
			return err
		}
		all = append(all, &contestant{name: fmt.Sprintf("gapless, %d lines in one object", lines), lines: lines,
			args: []string{c.self, "ingest", folder, filepath.Join(c.dir, "scale.db")}, counts: true})
	}
	before := load()
	for range min(c.rounds, 3) {
		for _, one := range all {
			used, err := measure(ctx, "", one.args...)
			if err != nil {
				return err
			}
			if strings.TrimSpace(used.output) != strconv.Itoa(one.lines) {
				return fmt.Errorf("%s: understood %q", one.name, used.output)
			}
			one.runs = append(one.runs, used)
		}
	}
	fmt.Fprintf(w, "%s; load %s before, %s after; medians of %d rounds in turn.\n\n", machine(), before, load(), min(c.rounds, 3))
	table(w, all)
	return nil
}

// table prints medians. The ratio is to the first contestant, round by round.
func table(w io.Writer, all []*contestant) {
	fmt.Fprintln(w, "| | wall s | to the first | lines/s | processor ns a line | processors busy | peak MiB |")
	fmt.Fprintln(w, "| --- | --: | --: | --: | --: | --: | --: |")
	for _, one := range all {
		wall := median(one.runs, func(u usage) float64 { return u.wall.Seconds() })
		cpu := median(one.runs, func(u usage) float64 { return u.cpu.Seconds() })
		var ratios []float64
		for i, run := range one.runs {
			ratios = append(ratios, run.wall.Seconds()/all[0].runs[i].wall.Seconds())
		}
		slices.Sort(ratios)
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.0f | %.0f | %.1f | %.0f |\n", one.name, wall, ratios[len(ratios)/2], float64(one.lines)/wall,
			cpu/float64(one.lines)*1e9, median(one.runs, func(u usage) float64 { return u.cpu.Seconds() / u.wall.Seconds() }),
			median(one.runs, func(u usage) float64 { return float64(u.peak) / (1 << 20) }))
	}
}

func median(runs []usage, of func(usage) float64) float64 {
	var values []float64
	for _, run := range runs {
		values = append(values, of(run))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// measure runs a command to its end.
func measure(ctx context.Context, dir string, args ...string) (usage, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	u := usage{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), output: out.String()}
	system, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return u, errors.New("the system does not say how much memory a process took")
	}
	u.peak = int64(system.Maxrss) //nolint:unconvert // it is narrower on some systems
	if runtime.GOOS != "darwin" {
		u.peak <<= 10 // kilobytes everywhere else
	}
	return u, nil
}

// machine names the processors.
func machine() string {
	model := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d × %s, %s", runtime.NumCPU(), model, runtime.Version())
}

// load is the system's average load of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
