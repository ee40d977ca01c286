package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readEquivalent reads the mutants that change nothing a test could see, each with its
// reason: "file function: original -> mutant # reason" a line. A file that is not
// there lists none.
func readEquivalent(path string) (map[string]string, error) {
	known := map[string]string{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, " # ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: no reason", path, n)
		}
		known[strings.TrimSpace(key)] = reason
	}
	return known, lines.Err()
}
