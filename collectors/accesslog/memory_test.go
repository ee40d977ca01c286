package accesslog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"gapless/analysis"
)

// memory is a Sink that keeps everything, as the store would.
type memory struct {
	mu      sync.Mutex
	objects map[string]analysis.ObjectBatch
	adds    map[string]int // how often each key was added
	runs    []analysis.Run
	places  map[string]string
	fail    error // answered by AddObject
}

func (m *memory) AddObject(_ context.Context, _ string, b analysis.ObjectBatch) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return false, m.fail
	}
	if m.objects == nil {
		m.objects, m.adds = map[string]analysis.ObjectBatch{}, map[string]int{}
	}
	m.adds[b.Key]++
	for key, old := range m.objects {
		if cmp.Or(old.Name, key) != cmp.Or(b.Name, b.Key) {
			continue
		}
		if old.Error == "" && !old.Partial && old.Version == b.Version {
			return false, nil
		}
		delete(m.objects, key)
	}
	m.objects[b.Key] = b
	return true, nil
}

func (m *memory) ReadObjects(_ context.Context, _, _ string, from, to time.Time) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := map[string]string{}
	for key, b := range m.objects {
		if b.Error == "" && !b.Partial && !b.From.After(to) && !b.To.Before(from) {
			keys[cmp.Or(b.Name, key)] = b.Version
		}
	}
	return keys, nil
}

func (m *memory) ObjectKeys(context.Context, string, string) (map[string]time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := map[string]time.Time{}
	for key, b := range m.objects {
		if b.Error == "" && !b.Partial {
			keys[key] = b.To
		}
	}
	return keys, nil
}

func (m *memory) Places(context.Context, string, string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.places), nil
}

func (m *memory) KeepPlaces(_ context.Context, _, _ string, places map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.places == nil {
		m.places = map[string]string{}
	}
	maps.Copy(m.places, places)
	return nil
}

func (m *memory) CutObjects(context.Context, string, string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := map[string]string{}
	for key, b := range m.objects {
		if b.Partial && b.To.IsZero() {
			versions[cmp.Or(b.Name, key)] = b.Version
		}
	}
	return versions, nil
}

func (m *memory) AddRun(_ context.Context, _ string, run analysis.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, run)
	return nil
}

// keys lists the objects that are stored.
func (m *memory) keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// allRuns are the runs in the order in which they were stored.
func (m *memory) allRuns() []analysis.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.runs)
}

// lastRun is the run that ended last.
func (m *memory) lastRun() analysis.Run {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.MaxFunc(m.runs, func(a, b analysis.Run) int { return cmp.Compare(a.At.UnixMicro(), b.At.UnixMicro()) })
}
