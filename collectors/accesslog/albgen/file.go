package albgen

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/gzip"
)

// WriteFile writes lines that span the given time to a gzip file. It makes the file
// under another name first, so that one of this name is always whole.
func WriteFile(name string, lines int, span time.Duration, s Settings) error {
	if name == "" || lines < 1 {
		return errors.New("a file and a number of lines are needed")
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make a folder for the log file: %w", err)
	}
	file, err := os.Create(name + ".part")
	if err != nil {
		return fmt.Errorf("make log file: %w", err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	z := gzip.NewWriter(out)
	s.Step = span / time.Duration(lines)
	g := New(s)
	var line []byte
	for range lines {
		line = g.Append(line[:0])
		if _, err := z.Write(line); err != nil {
			return fmt.Errorf("write log file: %w", err)
		}
	}
	for _, finish := range []func() error{z.Close, out.Flush, file.Close} {
		if err := finish(); err != nil {
			return fmt.Errorf("write log file: %w", err)
		}
	}
	return os.Rename(name+".part", name)
}
