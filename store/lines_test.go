package store_test

import (
	"errors"
	"fmt"
	"testing"

	"gapless/analysis"
	"gapless/store"
)

func TestLinesSetAsideInPages(t *testing.T) {
	db, ctx := open(t)
	hostile := []byte("\xff\x00<script>\u202e\\")
	for i := range 3 {
		b := analysis.ObjectBatch{Object: analysis.Object{Source: "alb", Key: fmt.Sprintf("o%d", i), From: at(0), To: at(300), Lines: 10, Understood: 7, SetAside: 3, Unmatched: 2, Arrived: at(330)}}
		for line := range 2 { // the third was not kept
			b.Lines = append(b.Lines, analysis.SetAsideLine{Line: line + 4, Offset: int64(100 * line), Reason: "bad_time", Detail: "d", Kind: "alb", Raw: hostile})
		}
		_, err := db.AddObject(ctx, "orders-api", b)
		must(t, err)
	}
	want := store.LineCounts{Objects: 3, Lines: 30, Understood: 21, SetAside: 9, Unmatched: 6, Kept: 6}
	var seen []string
	for skip := 0; ; skip += 4 {
		page, err := db.SetAsideLines(ctx, "orders-api", "alb", skip, 4)
		must(t, err)
		if page.LineCounts != want {
			t.Errorf("counts %+v, want %+v", page.LineCounts, want)
		}
		for _, l := range page.Rows {
			seen = append(seen, fmt.Sprintf("%s:%d@%d", l.Object, l.Line, l.Offset))
			if string(l.Raw) != string(hostile) {
				t.Errorf("%s: %q", l.Object, l.Raw)
			}
		}
		if len(page.Rows) < 4 {
			break
		}
	}
	var each []string
	must(t, db.EachSetAside(ctx, "orders-api", "alb", func(l store.SetAsideRow) error {
		each = append(each, fmt.Sprintf("%s:%d@%d", l.Object, l.Line, l.Offset))
		return nil
	}))
	all := []string{"o0:4@0", "o0:5@100", "o1:4@0", "o1:5@100", "o2:4@0", "o2:5@100"}
	equal(t, "lines in pages", seen, all)
	equal(t, "lines one by one", each, all)
	objects, err := db.Objects(ctx, "orders-api", "alb", 1, 1)
	must(t, err)
	if o := objects.Rows; objects.LineCounts != want || len(o) != 1 || o[0].Key != "o1" || o[0].Lines != 10 || o[0].Unmatched != 2 || o[0].Kept != 2 || !o[0].Arrived.Equal(at(330)) {
		t.Errorf("objects %+v", objects)
	}
	if _, err := db.SetAsideLines(ctx, "orders-api", "nobody", 0, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a source that never was: %v", err)
	}
	stop := errors.New("enough")
	if err := db.EachSetAside(ctx, "orders-api", "alb", func(store.SetAsideRow) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an export that breaks off: %v", err)
	}
}
