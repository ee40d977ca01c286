//go:build unix

// Command benchpeers measures how fast an access log is read into the store, against
// plain unpacking, DuckDB and GoAccess on the same lines in the same run, and prints
// the table that stands in the README.
//
// Every measurement is a whole process: wall and processor time and peak memory as
// the operating system accounts them. The contestants run in turn, round by round,
// so that a machine whose speed drifts treats them alike; the table gives medians,
// and ratios are medians of the rounds' own.
//
//	go run ./benchpeers -dir .tools/bench
//	go run ./benchpeers -dir .tools/bench -scale
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"gapless/collectors/accesslog/albgen"
)

var start = time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)

// span is the time that one log object of a load balancer's node covers.
const span = 5 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

// run does one part in a process of its own, or the whole comparison.
func run(ctx context.Context, args []string) error {
	if len(args) > 1 {
		switch args[0] {
		case "generate": // FILE LINES SEED
			lines, err := strconv.Atoi(args[2])
			if err != nil {
				return err
			}
			seed, err := strconv.ParseUint(args[3], 10, 64)
			if err != nil {
				return err
			}
			return albgen.WriteFile(args[1], lines, span, albgen.Settings{Seed: seed, Start: start})
		case "gunzip": // FILE [PLAIN]
			return gunzip(args[1:])
		case "ingest": // FOLDER DATABASE
			return ingest(ctx, args[1], args[2])
		}
	}
	flags := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	c := comparison{}
	flags.StringVar(&c.dir, "dir", ".tools/bench", "where log files, databases and DuckDB's binding lie")
	flags.IntVar(&c.lines, "lines", 2_000_000, "lines of the log file")
	flags.IntVar(&c.rounds, "rounds", 7, "rounds of gunzip, gapless and DuckDB; GoAccess runs once")
	scale := flags.Bool("scale", false, "measure gapless alone with 100,000, 1,000,000 and 10,000,000 lines")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || c.rounds < 1 {
		return errors.New("unknown arguments")
	}
	if *scale {
		return c.scale(ctx, os.Stdout)
	}
	return c.compare(ctx, os.Stdout)
}
