package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gapless/analysis"
)

// BenchmarkObservations reads the evidence of 30 minutes: 40,000 cells, 9,000 probe
// requests, four targets polled every five seconds. 250 requests a cell are ten
// million in all.
func BenchmarkObservations(b *testing.B) {
	for _, perCell := range []int{10, 250} {
		b.Run(fmt.Sprintf("cells=40000/requests=%d", 40_000*perCell), func(b *testing.B) {
			db, ctx := open(b)
			span := 30 * time.Minute
			for _, batch := range busyBatches(span, 40_000, perCell) {
				_, err := db.AddObject(ctx, "orders-api", batch)
				must(b, err)
			}
			b.Run("part=cells", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					o, err := db.ObservationsBetween(ctx, "orders-api", start, start.Add(span), "")
					must(b, err)
					b.ReportMetric(float64(len(o.Cells)), "cells")
				}
			})
			var probes []analysis.ProbeRequest
			for i := range 9000 {
				probes = append(probes, probe(i, at(float64(i)/5)))
			}
			must(b, db.AddProbes(ctx, "orders-api", run("store", start, start.Add(span)), probes))
			for i := range 360 {
				when := at(float64(i * 5))
				var samples []analysis.StateSample
				for target := range 4 {
					samples = append(samples, sample(fmt.Sprintf("api-%d", target), when, analysis.StateHealthy))
				}
				must(b, db.AddStates(ctx, "orders-api", run("elbv2", when.Add(-5*time.Second), when), samples))
			}
			b.Run("part=all", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					o, err := db.ObservationsBetween(ctx, "orders-api", start, start.Add(span), "")
					must(b, err)
					b.ReportMetric(float64(len(o.Probes)), "probes")
				}
			})
		})
	}
}

// BenchmarkAddObject stores objects of five minutes of one busy node.
func BenchmarkAddObject(b *testing.B) {
	db, ctx := open(b)
	batches := busyBatches(5*time.Minute, 12_000, 20)
	object := batches[0]
	n, rows := 0, 0
	for b.Loop() {
		object.Key = fmt.Sprint(n)
		n++
		_, err := db.AddObject(ctx, "orders-api", object)
		must(b, err)
		rows += len(object.Cells)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "cells/s")
}

// BenchmarkAddRequests stores failures one by one, ten thousand an object.
func BenchmarkAddRequests(b *testing.B) {
	db, ctx := open(b)
	object := batch("", start)
	for i := range 10_000 {
		c := cell(at(float64(i)/40), 502)
		object.Requests = append(object.Requests, analysis.Request{CellKey: c.CellKey, Start: c.First, End: c.Last, Method: "GET", URL: "https://api.example.com:443/v1/orders/17",
			Client: "192.0.2.1", UserAgent: "Mozilla/5.0 (X11; Linux x86_64)", Line: i + 1})
	}
	n := 0
	for b.Loop() {
		object.Key = fmt.Sprint(n)
		n++
		_, err := db.AddObject(ctx, "orders-api", object)
		must(b, err)
	}
	b.ReportMetric(float64(n*len(object.Requests))/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkAddProbes stores probe requests as a live prober brings them, and in bulk.
func BenchmarkAddProbes(b *testing.B) {
	for _, size := range []int{5, 5000} {
		b.Run(fmt.Sprintf("at_once=%d", size), func(b *testing.B) {
			db, _ := open(b)
			n := 0
			for b.Loop() {
				probes := make([]analysis.ProbeRequest, size)
				for i := range probes {
					probes[i] = probe(n, at(float64(n)/5))
					n++
				}
				must(b, db.AddProbes(context.Background(), "orders-api", run("store", probes[0].Sent, probes[size-1].Done), probes))
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
