//go:build peers

package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"gapless/analysis"
	"gapless/store"
)

// TestPeerCloudWatch reads sums from a stand-in for CloudWatch that is not ours, and
// judges a log that lacks some of the rows.
func TestPeerCloudWatch(t *testing.T) {
	endpoint := startMoto(t)
	ctx := t.Context()
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(peerRegion))
	if err != nil {
		t.Fatal(err)
	}
	client := cw.NewFromConfig(sdk, func(o *cw.Options) {
		o.BaseEndpoint, o.Protocol = &endpoint, awsquery.New(schemas.GraniteServiceVersion20100801)
	})
	// Minutes 0, 1 and 3 of a window of five; minute 2 has no point.
	start := time.Now().UTC().Truncate(time.Minute).Add(-30 * time.Minute)
	put := func(metric, balancer string, minute int, values ...float64) {
		t.Helper()
		at := start.Add(time.Duration(minute)*time.Minute + 10*time.Second)
		for _, value := range values {
			_, err := client.PutMetricData(ctx, &cw.PutMetricDataInput{Namespace: aws.String("AWS/ApplicationELB"), MetricData: []types.MetricDatum{{
				MetricName: &metric, Timestamp: &at, Value: &value, Dimensions: []types.Dimension{{Name: aws.String("LoadBalancer"), Value: &balancer}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const ours, other = "app/public/0123456789abcdef", "app/other/0123456789abcdef"
	put(analysis.MetricRequests, ours, 0, 60, 40) // two nodes
	put(analysis.MetricRequests, ours, 1, 100)
	put(analysis.MetricRequests, ours, 3, 100)
	put(analysis.MetricRequests, other, 1, 5000)
	put(analysis.MetricBalancer5xx, ours, 1, 3)
	put(analysis.MetricUnhealthySent, ours, 3, 7)

	dir := t.TempDir()
	var lines string // ten rows fewer in minute 1 than were counted, and a full minute 2
	for minute, rows := range []int{100, 90, 100, 100} {
		for i := range rows {
			at := start.Add(time.Duration(minute)*time.Minute + time.Duration(i)*500*time.Millisecond)
			status := 200
			if minute == 1 && i < 3 {
				status = 502
			}
			lines += albLine(stamp(at), stamp(at.Add(5*time.Millisecond)), "10.0.1.11:8080", status, "Mozilla/5.0") + "\n"
		}
	}
	write(t, filepath.Join(dir, "access.log"), lines)
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, fmt.Sprintf(`
services:
  - name: orders-api
    targets: [{name: api-1, address: "10.0.1.11:8080"}]
    load_balancers:
      - name: public
        access_logs:
          - name: alb
            kind: alb
            url: "file://access.log"
            cloudwatch: {load_balancer: %s, region: %s, endpoint: %q}
`, ours, peerRegion, endpoint))
	cfg, err := loadConfig(config, noEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(ctx, filepath.Join(dir, "gapless.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PutService(ctx, cfg.services[0].Service); err != nil {
		t.Fatal(err)
	}
	w, err := newWatch(ctx, &cfg.services[0], db, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	from, to := start, start.Add(5*time.Minute)
	if err := w.collect(ctx, from, to, func(string, int, int) {}); err != nil {
		t.Fatal(err)
	}
	o, err := db.ObservationsBetween(ctx, "orders-api", from, to, "")
	if err != nil {
		t.Fatal(err)
	}
	sum := func(metric string, minute int, value float64) analysis.MetricSum {
		return analysis.MetricSum{Source: "alb-cloudwatch", Metric: metric, At: start.Add(time.Duration(minute) * time.Minute), Period: time.Minute, Sum: value}
	}
	want := []analysis.MetricSum{sum(analysis.MetricRequests, 0, 100), sum(analysis.MetricBalancer5xx, 1, 3), sum(analysis.MetricRequests, 1, 100),
		sum(analysis.MetricRequests, 3, 100), sum(analysis.MetricUnhealthySent, 3, 7)}
	if !slices.Equal(o.Metrics, want) {
		t.Errorf("sums %+v\nwant %+v", o.Metrics, want)
	}
	report := analysis.Judge(o)
	row := report.Completeness[0]
	if row.Known != 300 || row.Found != 290 || row.Matched != "count" {
		t.Errorf("completeness %+v", row)
	}
	codes := findingCodes(&report)
	if !slices.Contains(codes, "log-incomplete") || !slices.Contains(codes, "fail-open") {
		t.Errorf("findings %v", codes)
	}
}
