// Command albfile writes a gzip file of generated ALB access-log lines, for
// measuring how fast logs are read.
//
//	go run ./collectors/accesslog/albgen/albfile -lines 2000000 -o big.log.gz
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"gapless/collectors/accesslog/albgen"
)

func main() {
	lines := flag.Int("lines", 2_000_000, "how many lines")
	span := flag.Duration("span", 5*time.Minute, "the time that they span")
	start := flag.String("start", "2026-10-14T02:30:00Z", "when the first request ends")
	seed := flag.Uint64("seed", 1, "the same lines for the same seed")
	name := flag.String("o", "", "the file to write")
	flag.Parse()
	at, err := time.Parse(time.RFC3339, *start)
	if err == nil {
		err = albgen.WriteFile(*name, *lines, *span, albgen.Settings{Seed: *seed, Start: at})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "albfile:", err)
		os.Exit(1)
	}
}
