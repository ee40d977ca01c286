package store_test

import (
	"testing"
	"time"

	"gapless/analysis"
)

// Rows of any year do not hide an object from the windows that it has rows in.
func TestAbsurdTimesHideNothing(t *testing.T) {
	for _, year := range []int{1, 1700, 2400, 9999} {
		db, ctx := open(t)
		absurd := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		b := batch("o", at(0), cell(absurd, 502), cell(at(7), 502))
		b.From, b.To = absurd, at(8)
		if year > 2100 {
			b.From, b.To = at(7), absurd
		}
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
		o, err := db.ObservationsBetween(ctx, "orders-api", at(0), at(300), "")
		must(t, err)
		if len(o.Objects) != 1 || len(o.Cells) != 1 || len(o.Requests) != 1 {
			t.Errorf("with a row in the year %d: %d objects, %d cells, %d requests; want one each", year, len(o.Objects), len(o.Cells), len(o.Requests))
		}
		if read, err := db.ReadObjects(ctx, "orders-api", "alb", at(0), at(300)); err != nil || len(read) != 1 {
			t.Errorf("with a row in the year %d: wholly read %v, %v", year, read, err)
		}
	}
}

// What was read of a file is replaced by what it holds now, even where that is less;
// only a reading that brought nothing replaces nothing.
func TestAnotherVersionReplacesAnObject(t *testing.T) {
	db, ctx := open(t)
	add := func(version string, lines int, change func(*analysis.ObjectBatch)) bool {
		t.Helper()
		b := batch("access.log", at(0))
		for i := range lines {
			b.Cells = append(b.Cells, cell(at(float64(i)), 200, 1))
		}
		b.Version, b.Object.Lines = version, lines
		if change != nil {
			change(&b)
		}
		stored, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
		return stored
	}
	for i, step := range []struct {
		version string
		lines   int
		change  func(*analysis.ObjectBatch)
		stored  bool
		cells   int
	}{
		{"v1", 2, nil, true, 2}, {"v1", 2, nil, false, 2}, {"v2", 5, nil, true, 5},
		{"v3", 0, func(b *analysis.ObjectBatch) { b.Error = "403" }, false, 5},
		{"v4", 3, func(b *analysis.ObjectBatch) { b.Partial = true }, true, 3},
		{"v5", 4, nil, true, 4},
	} {
		stored := add(step.version, step.lines, step.change)
		o, err := db.ObservationsBetween(ctx, "orders-api", at(0), at(300), "")
		must(t, err)
		status, err := db.Collectors(ctx)
		must(t, err)
		s := status[0]
		if stored != step.stored || len(o.Cells) != step.cells || s.Lines != int64(step.cells) || s.Objects != 1 {
			t.Errorf("reading %d: stored %v, %d cells, %d lines, %d objects; want %v, %d, %d, 1", i, stored, len(o.Cells), s.Lines, s.Objects, step.stored, step.cells, step.cells)
		}
	}
}

// An object that was not read to an end that its name tells may be about any time
// after its first line, or about any at all.
func TestObjectsWithoutAnEnd(t *testing.T) {
	db, ctx := open(t)
	cut := batch("cut", at(600), cell(at(600), 200, 1))
	cut.Partial, cut.To = true, time.Time{}
	unread := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: "unread", Error: "it is a named pipe"}}
	for _, b := range []analysis.ObjectBatch{cut, unread} {
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
	}
	for _, c := range []struct {
		from, to float64
		objects  int
	}{{0, 300, 1}, {500, 700, 2}, {1e6, 1e6 + 60, 2}} {
		o, err := db.ObservationsBetween(ctx, "orders-api", at(c.from), at(c.to), "")
		must(t, err)
		if len(o.Objects) != c.objects {
			t.Errorf("[%g, %g): %+v, want %d objects", c.from, c.to, o.Objects, c.objects)
		}
	}
	_, err := db.StartDeploy(ctx, deploy("late", at(1e6)))
	must(t, err)
	unread.Error, unread.Lines, unread.To, unread.Version = "", nil, at(5), "v2"
	_, err = db.AddObject(ctx, "orders-api", unread)
	must(t, err)
	if o, err := db.ObservationsBetween(ctx, "orders-api", at(1e6), at(1e6+60), ""); err != nil || len(o.Objects) != 1 {
		t.Errorf("after it was read: %+v, %v", o.Objects, err)
	}
}

// Copies of one object are one object, wherever they lie: the whole one counts, and the
// ledger knows both by their name.
func TestCopiesOfAnObjectCountOnce(t *testing.T) {
	db, ctx := open(t)
	add := func(key, version string, lines int, partial bool) bool {
		t.Helper()
		b := batch(key, at(0))
		for i := range lines {
			b.Cells = append(b.Cells, cell(at(float64(i)), 200, 1))
		}
		b.Name, b.Version, b.Object.Lines, b.Partial = "x.log.gz", version, lines, partial
		stored, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
		return stored
	}
	for i, step := range []struct {
		key, version string
		lines        int
		partial      bool
		stored       bool
		cells        int
		where        string
	}{
		{"a/x.log.gz", "cut", 2, true, true, 2, "a/x.log.gz"},
		{"b/x.log.gz", "whole", 5, false, true, 5, "b/x.log.gz"},
		{"a/x.log.gz", "cut", 2, true, false, 5, "b/x.log.gz"},
		{"a/x.log.gz", "copied later", 5, false, true, 5, "a/x.log.gz"},
	} {
		if stored := add(step.key, step.version, step.lines, step.partial); stored != step.stored {
			t.Errorf("step %d: stored %v", i, stored)
		}
		o, err := db.ObservationsBetween(ctx, "orders-api", at(0), at(300), "")
		must(t, err)
		if len(o.Cells) != step.cells || len(o.Objects) != 1 || o.Objects[0].Key != step.where {
			t.Errorf("step %d: %d cells of objects %+v", i, len(o.Cells), o.Objects)
		}
	}
	read, err := db.ReadObjects(ctx, "orders-api", "alb", at(0), at(300))
	if err != nil || len(read) != 1 || read["x.log.gz"] != "copied later" {
		t.Errorf("ledger %v, %v", read, err)
	}
}
