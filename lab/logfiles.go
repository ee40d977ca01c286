package lab

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// logEvery is how often the access log is written out. The original writes every
// five minutes.
const logEvery = 2 * time.Second

// logFiles writes the access log: gzip objects under dir, each complete from the
// moment on at which its name is listed.
type logFiles struct {
	id   *identity
	dir  string // holds AWSLogs/…
	temp string // on the same file system, never listed
	log  *slog.Logger

	mu      sync.Mutex
	waiting []exchange
}

// add takes a finished request to be written with the next object.
func (f *logFiles) add(x exchange) {
	f.mu.Lock()
	f.waiting = append(f.waiting, x)
	f.mu.Unlock()
}

// run flushes every logEvery until ctx ends, and once more then.
func (f *logFiles) run(ctx context.Context) {
	tick := time.NewTicker(logEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.flushOrLog()
		case <-ctx.Done():
			f.flushOrLog()
			return
		}
	}
}

func (f *logFiles) flushOrLog() {
	if err := f.flush(); err != nil {
		f.log.Error("lab: access log not written", "error", err)
	}
}

// flush writes what is waiting as one object. What could not be written waits on.
func (f *logFiles) flush() error {
	f.mu.Lock()
	batch := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	if err := f.write(batch); err != nil {
		f.mu.Lock()
		f.waiting = append(batch, f.waiting...)
		f.mu.Unlock()
		return err
	}
	return nil
}

func (f *logFiles) write(batch []exchange) error {
	random := randomHex(4)
	temporary, err := os.Create(filepath.Join(f.temp, random))
	if err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	defer os.Remove(temporary.Name()) // fails once it has been renamed, as it should
	defer temporary.Close()
	zip, err := gzip.NewWriterLevel(temporary, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	var latest time.Time
	var line []byte
	for i := range batch {
		line = append(appendALBLine(line[:0], f.id, &batch[i]), '\n')
		if _, err := zip.Write(line); err != nil {
			return fmt.Errorf("write access log: %w", err)
		}
		if batch[i].end.After(latest) {
			latest = batch[i].end
		}
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	if err := temporary.Close(); err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	object := filepath.Join(f.dir, filepath.FromSlash(albKey(f.id, latest, random)))
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	if err := os.Rename(temporary.Name(), object); err != nil {
		return fmt.Errorf("write access log: %w", err)
	}
	return nil
}
