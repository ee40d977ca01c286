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

// logFiles writes one of the balancer's logs: gzip objects under dir, each complete
// from the moment on at which its name is listed.
type logFiles struct {
	id   *identity
	kind string // what object names begin with: nothing for the access log, or healthLogPrefix
	dir  string // holds AWSLogs/…
	temp string // on the same file system, never listed
	log  *slog.Logger

	mu      sync.Mutex
	waiting []logLine
}

// logLine is a finished line, without its line break.
type logLine struct {
	end  time.Time
	text []byte
}

// add takes a finished request to be written with the next object.
func (f *logFiles) add(x exchange) {
	f.put(logLine{x.end, appendALBLine(nil, f.id, &x)})
}

// put takes a line to be written with the next object.
func (f *logFiles) put(line logLine) {
	f.mu.Lock()
	f.waiting = append(f.waiting, line)
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
		f.log.Error("lab: log not written", "log", f.kind, "error", err)
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

func (f *logFiles) write(batch []logLine) error {
	random := randomHex(4)
	temporary, err := os.Create(filepath.Join(f.temp, random))
	if err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	defer os.Remove(temporary.Name()) // fails once it has been renamed, as it should
	defer temporary.Close()
	zip, err := gzip.NewWriterLevel(temporary, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	var latest time.Time
	for i := range batch {
		if _, err := zip.Write(append(batch[i].text, '\n')); err != nil {
			return fmt.Errorf("write log object: %w", err)
		}
		if batch[i].end.After(latest) {
			latest = batch[i].end
		}
	}
	if err := zip.Close(); err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	if err := temporary.Close(); err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	object := filepath.Join(f.dir, filepath.FromSlash(albKey(f.id, f.kind, latest, random)))
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	if err := os.Rename(temporary.Name(), object); err != nil {
		return fmt.Errorf("write log object: %w", err)
	}
	return nil
}
