package accesslog

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// candidate is an object to read.
type candidate struct {
	stored
	name objectName
}

// id is by what the object is known wherever it lies. The last part of a key in AWS's
// layout is no other object's, since a part of it is drawn at random; of any other file
// nothing but where it lies tells it apart. An unpacked copy goes by the packed one's
// name.
func (c *candidate) id() string {
	switch {
	case !c.name.known:
		return c.key
	case c.packed():
		return path.Base(c.key)
	}
	return path.Base(c.key) + ".gz"
}

// packed reports whether the object's name says that it is a gzip file.
func (c *candidate) packed() bool { return strings.HasSuffix(c.key, ".gz") }

func unpackedLast(a, b candidate) int {
	switch {
	case a.packed() == b.packed():
		return 0
	case a.packed():
		return -1
	}
	return 1
}

// Requests that started before the span's end may be logged later, when they end:
// with ALB's idle timeout of up to 4000 s, and longer for WebSockets.
const (
	spanBefore = objectSpan
	spanAfter  = time.Hour
)

// find lists what is to be read for [from, to], oldest first; of copies of one object
// one.
func (r *Reader) find(ctx context.Context, from, to time.Time) ([]candidate, error) {
	from, to = from.Add(-spanBefore), to.Add(spanAfter)
	var all []candidate
	plain := false
	// An object lies under the day on which it was delivered.
	delivered := later(to, earlier(to.Add(UsualLate), r.cfg.Now()))
	err := r.place.list(ctx, from, delivered, func(o stored) {
		name := parseObjectName(o.key)
		if !name.holds(logOf(r.cfg.Kind)) || name.known && (name.end.Before(from) || name.end.Add(-objectSpan).After(to) || !r.mayMatch(name)) {
			return
		}
		plain = plain || !name.known
		all = append(all, candidate{o, name})
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	readFrom, readTo := from.Add(-objectSpan), to.Add(objectSpan)
	if plain { // their time is not in their name
		readFrom, readTo = time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	read, err := r.sink.ReadObjects(ctx, r.cfg.Service, r.cfg.Source, readFrom, readTo)
	if err != nil {
		return nil, fmt.Errorf("ask which objects were read: %w", err)
	}
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	done := map[string]bool{} // objects that were read as they are, here or in a copy
	for _, c := range all {
		for _, name := range [...]string{c.id(), c.key} { // an unpacked copy's own name was once its key
			if version, stored := read[name]; stored && (version == c.version() || version == "") {
				done[c.id()] = true
			}
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool {
		again, tried := r.retries[c.key]
		switch {
		case done[c.id()]:
			delete(r.retries, c.key)
			return true
		case r.read[c.key] == c.version():
			return true
		case c.size == 0 && now.Sub(c.modified) < r.cfg.Settle && c.etag == "" && !c.packed():
			return true // a file that is being written, perhaps
		case tried && again.object == c.stored && now.Before(again.after):
			return true
		}
		return false
	})
	// Of copies a packed one first, which tells whether it is whole, then the longest:
	// another may be one that was cut short.
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(a.name.end.Compare(b.name.end), strings.Compare(a.id(), b.id()), unpackedLast(a, b), cmp.Compare(b.size, a.size), strings.Compare(a.key, b.key))
	})
	return slices.CompactFunc(all, func(a, b candidate) bool { return a.id() == b.id() }), nil
}

// mayMatch reports whether an object's name allows rows that the configuration
// matches.
func (r *Reader) mayMatch(name objectName) bool {
	want := r.cfg.Match.LoadBalancer
	parts := strings.Split(name.balancer, "/")
	return want == "" || want == name.balancer || len(parts) == 3 && parts[1] == want
}
