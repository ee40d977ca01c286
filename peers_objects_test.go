//go:build peers

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/store"
)

// TestPeerManyObjects lists and reads ten thousand small log objects from moto's S3,
// stops half-way, and goes on in a new process's place: every line is counted once.
func TestPeerManyObjects(t *testing.T) {
	const objects, lines = 10000, 3
	endpoint := startMoto(t)
	sdk, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion(peerRegion))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(sdk, func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle = &endpoint, true
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("many")}); err != nil {
		t.Fatal(err)
	}
	// Around midnight, so that two days are listed; 100 nodes.
	first := time.Date(2026, 10, 14, 20, 0, 0, 0, time.UTC)
	last := first.Add(objects / 100 * 5 * time.Minute)
	began := time.Now()
	puts, ctx := errgroup.WithContext(t.Context())
	puts.SetLimit(4)
	for i := range objects {
		puts.Go(func() error {
			end := first.Add(time.Duration(1+i/100) * 5 * time.Minute)
			key := fmt.Sprintf("AWSLogs/123456789012/elasticloadbalancing/us-east-1/%s/123456789012_elasticloadbalancing_us-east-1_app.public.0123456789abcdef_%s_10.0.7.%d_x.log.gz",
				end.Format("2006/01/02"), end.Format("20060102T1504Z"), i%100)
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("many"), Key: &key, Body: bytes.NewReader(smallObject(end, lines))})
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects put in %s", objects, time.Since(began).Round(time.Millisecond))

	path := filepath.Join(t.TempDir(), "gapless.db")
	service := analysis.Service{Name: "orders-api", Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}}}
	rules, err := analysis.NewClassifier(service)
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingS3{S3: client}
	collect := func(stopAt int) error {
		db, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.PutService(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		reader, err := accesslog.New(ctx, accesslog.Config{Service: service.Name, Source: "alb", Kind: "alb", URL: "s3://many",
			Parallel: 4, S3: counting, Log: slog.New(slog.DiscardHandler)}, rules, db)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = reader.Collect(ctx, first, last, func(done, total int, _ int64) {
			if done == stopAt {
				cancel()
			}
			if done == total {
				t.Logf("%d objects read in %s", total, time.Since(began).Round(time.Millisecond))
			}
		})
		return err
	}
	if err := collect(objects / 2); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped half-way: %v", err)
	}
	half := counting.gets.Load()
	if half < objects/2 || half > objects/2+100 {
		t.Errorf("%d objects were asked for before the stop, want about %d", half, objects/2)
	}
	if err := collect(-1); err != nil {
		t.Fatal(err)
	}
	if again := counting.gets.Load() - objects; again > 8 { // those under way at the stop
		t.Errorf("%d objects were asked for twice", again)
	}
	if err := collect(-1); err != nil { // and a third time, for nothing
		t.Fatal(err)
	}
	if extra := counting.gets.Load() - objects; extra > 8 {
		t.Errorf("%d objects were asked for twice", extra)
	}

	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sources, err := db.Collectors(t.Context())
	if err != nil || len(sources) != 1 || sources[0].Objects != objects || sources[0].Lines != objects*lines || sources[0].SetAside != 0 {
		t.Errorf("collectors %+v, %v", sources, err)
	}
	o, err := db.ObservationsBetween(t.Context(), service.Name, first.Add(-time.Hour), last.Add(time.Hour), "")
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for i := range o.Cells {
		requests += o.Cells[i].Count
	}
	if requests != objects*lines || len(o.Objects) != objects {
		t.Errorf("%d requests in %d objects, want %d in %d", requests, len(o.Objects), objects*lines, objects)
	}
}

// TestPeerPrefixIsAFolder asks moto's S3 for a prefix under which nothing was delivered
// yet, beside one of which the name begins alike: nothing of that is read.
func TestPeerPrefixIsAFolder(t *testing.T) {
	endpoint := startMoto(t)
	sdk, err := awsconfig.LoadDefaultConfig(t.Context(), awsconfig.WithRegion(peerRegion))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(sdk, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &endpoint, true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("two")}); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)
	const name = "AWSLogs/123456789012/elasticloadbalancing/us-east-1/2026/10/14/123456789012_elasticloadbalancing_us-east-1_app.public.0123456789abcdef_20261014T0230Z_10.0.7.1_x.log.gz"
	put := func(key string, body []byte) {
		t.Helper()
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("two"), Key: &key, Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	put("prod/AWSLogs/123456789012/ELBAccessLogTestFile", []byte("Enable AccessLog for ELB: app/public"))
	put("prod-other/"+name, smallObject(end, 3))
	service := analysis.Service{Name: "orders-api"}
	rules, err := analysis.NewClassifier(service)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PutService(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	reader, err := accesslog.New(t.Context(), accesslog.Config{Service: service.Name, Source: "alb", Kind: "alb", URL: "s3://two/prod", S3: client, Log: slog.New(slog.DiscardHandler)}, rules, db)
	if err != nil {
		t.Fatal(err)
	}
	for objects := range 2 {
		if err := reader.Collect(t.Context(), end.Add(-time.Hour), end, nil); err != nil {
			t.Fatal(err)
		}
		sources, err := db.Collectors(t.Context())
		if err != nil || len(sources) != 1 || sources[0].Objects != int64(objects) {
			t.Errorf("collectors %+v, %v; want %d objects", sources, err, objects)
		}
		put("prod/"+name, smallObject(end, 3))
	}
}

// smallObject is a log object of a few lines before its end.
func smallObject(end time.Time, lines int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i := range lines {
		at := end.Add(-time.Duration(1+i) * time.Second)
		_, _ = io.WriteString(z, albLine(stamp(at), stamp(at.Add(5*time.Millisecond)), "10.0.1.11:8080", 200, "Mozilla/5.0")+"\n") // a buffer takes everything
	}
	_ = z.Close()
	return b.Bytes()
}

// countingS3 counts the objects that are asked for.
type countingS3 struct {
	accesslog.S3
	gets atomic.Int64
}

func (c *countingS3) GetObject(ctx context.Context, in *s3.GetObjectInput, more ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	c.gets.Add(1)
	return c.S3.GetObject(ctx, in, more...)
}
