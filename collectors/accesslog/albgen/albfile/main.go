// Command albfile writes a file of generated ALB access-log lines, packed with
// gzip, for measuring how fast logs are read.
//
//	go run ./collectors/accesslog/albgen/albfile -lines 2000000 -o big.log.gz
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/collectors/accesslog/albgen"
)

func main() {
	lines := flag.Int("lines", 2_000_000, "how many lines")
	span := flag.Duration("span", 5*time.Minute, "the time that they span")
	start := flag.String("start", "2026-10-14T02:30:00Z", "when the first request ends")
	seed := flag.Uint64("seed", 1, "of the generator: the same lines for the same seed")
	name := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := write(*name, *lines, *span, *start, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "albfile:", err)
		os.Exit(1)
	}
}

// write makes the file under another name first, so that one of this name is whole.
func write(name string, lines int, span time.Duration, start string, seed uint64) error {
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return fmt.Errorf("-start: %w", err)
	}
	if name == "" || lines < 1 {
		return fmt.Errorf("a file to write (-o) and a number of lines are needed")
	}
	file, err := os.Create(name + ".part")
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	z := gzip.NewWriter(out)
	g := albgen.New(albgen.Settings{Seed: seed, Start: at, Step: span / time.Duration(lines)})
	var line []byte
	for range lines {
		line = g.Append(line[:0])
		if _, err := z.Write(line); err != nil {
			return err
		}
	}
	for _, finish := range []func() error{z.Close, out.Flush, file.Close} {
		if err := finish(); err != nil {
			return err
		}
	}
	return os.Rename(name+".part", name)
}
