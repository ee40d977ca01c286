package store

import (
	"database/sql"
	"encoding/binary"
	"errors"
)

// bucketsOfDay is how many rows of cells a day has, of one object.
const bucketsOfDay = daySeconds / bucketSeconds

// summedBuckets are the rows of cells that are in the record of days, by node of the
// load balancer. A node's objects of one time are pruned together, so that a time of
// which some were summed is done; what is delivered only after that is left out.
type summedBuckets map[summedKey]*summedDay

type summedKey struct {
	collector int64
	node      string
	day       int64
}

type summedDay struct {
	before, now [bucketsOfDay]bool // in the record before this pass, and after it
	changed     bool
}

// add says that a row is summed, and answers whether it was not before this pass.
func (s summedBuckets) add(t *tx, collector int64, node string, bucket int64) (isNew bool, err error) {
	key := summedKey{collector, node, bucket / bucketsOfDay}
	day := s[key]
	if day == nil {
		var packed []byte
		err := t.get(`SELECT buckets FROM summed WHERE collector_id = ? AND node = ? AND day = ?`, []any{collector, node, key.day}, &packed)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		day = &summedDay{}
		if day.before, err = unpackBuckets(packed); err != nil {
			return false, err
		}
		day.now = day.before
		s[key] = day
	}
	at := bucket % bucketsOfDay
	if day.before[at] {
		return false, nil
	}
	day.now[at], day.changed = true, true
	return true, nil
}

func (s summedBuckets) store(t *tx) error {
	for key, day := range s {
		if !day.changed {
			continue
		}
		_, err := t.exec(`INSERT INTO summed (collector_id, node, day, buckets) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET buckets = excluded.buckets`,
			key.collector, key.node, key.day, packBuckets(&day.now))
		if err != nil {
			return err
		}
	}
	return nil
}

// packBuckets packs the buckets of a day: how many are not set, how many are, and so
// on, without the last that are not.
func packBuckets(set *[bucketsOfDay]bool) (b []byte) {
	for at := 0; at < bucketsOfDay; {
		from := at
		for at < bucketsOfDay && !set[at] {
			at++
		}
		if at == bucketsOfDay {
			break
		}
		b = binary.AppendUvarint(b, uint64(at-from))
		for from = at; at < bucketsOfDay && set[at]; {
			at++
		}
		b = binary.AppendUvarint(b, uint64(at-from))
	}
	return b
}

func unpackBuckets(b []byte) (set [bucketsOfDay]bool, err error) {
	r, at := reader{b: b}, uint64(0)
	for value := false; len(r.b) > 0; value = !value {
		n := r.number()
		if r.bad || n > bucketsOfDay-at {
			return set, errors.New("the record of summed cells is damaged")
		}
		for end := at + n; at < end; at++ {
			set[at] = value
		}
	}
	return set, nil
}
