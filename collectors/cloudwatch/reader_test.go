package cloudwatch

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"gapless/analysis"
)

var at = time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC)

// kept is a Sink that remembers.
type kept struct {
	runs []analysis.Run
	sums []analysis.MetricSum
}

func (k *kept) AddMetrics(_ context.Context, _ string, run analysis.Run, sums []analysis.MetricSum) error {
	k.runs, k.sums = append(k.runs, run), append(k.sums, sums...)
	return nil
}

func (k *kept) AddRun(_ context.Context, _ string, run analysis.Run) error {
	k.runs = append(k.runs, run)
	return nil
}

// serve answers every call with a status and a body, and keeps what was asked.
func serve(t *testing.T, status int, body string) (endpoint string, asked *[]url.Values) {
	t.Helper()
	asked = new([]url.Values)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		values, err := url.ParseQuery(string(text))
		if err != nil {
			t.Errorf("asked %q: %v", text, err)
		}
		*asked = append(*asked, values)
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func newReader(t *testing.T, sink Sink, change func(*Config)) *Reader {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	cfg := Config{Service: "orders-api", Source: "alb-cloudwatch", LoadBalancer: "app/public/0123456789abcdef", Region: "ap-northeast-2",
		Now: func() time.Time { return at.Add(time.Hour) }}
	change(&cfg)
	r, err := New(t.Context(), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recorded(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile("testdata/get-metric-data.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestSumsOfARecordedReply(t *testing.T) {
	endpoint, asked := serve(t, 200, recorded(t))
	sink := &kept{}
	r := newReader(t, sink, func(c *Config) { c.Endpoint = endpoint })
	if err := r.Collect(t.Context(), at.Add(20*time.Second), at.Add(3*time.Minute+10*time.Second)); err != nil {
		t.Fatal(err)
	}
	sum := func(metric string, minute int, value float64) analysis.MetricSum {
		return analysis.MetricSum{Source: "alb-cloudwatch", Metric: metric, At: at.Add(time.Duration(minute) * time.Minute), Period: time.Minute, Sum: value}
	}
	// Nothing for 02:32, and nothing for the metrics without points: no zeros.
	want := []analysis.MetricSum{sum("RequestCount", 0, 1204), sum("RequestCount", 1, 1190), sum("RequestCount", 3, 1000), sum("HTTPCode_ELB_5XX_Count", 1, 12)}
	if !slices.Equal(sink.sums, want) {
		t.Errorf("got  %+v\nwant %+v", sink.sums, want)
	}
	run := analysis.Run{Source: "alb-cloudwatch", Kind: "cloudwatch", From: at.Add(20 * time.Second), To: at.Add(3*time.Minute + 10*time.Second), At: at.Add(time.Hour), Rows: 4}
	if !slices.Equal(sink.runs, []analysis.Run{run}) {
		t.Errorf("runs %+v", sink.runs)
	}
	q := (*asked)[0]
	for key, want := range map[string]string{
		"Action": "GetMetricData", "Version": "2010-08-01", "StartTime": "2026-10-14T02:30:00Z", "EndTime": "2026-10-14T02:34:00Z", "ScanBy": "TimestampAscending",
		"MetricDataQueries.member.1.MetricStat.Metric.Namespace":                 "AWS/ApplicationELB",
		"MetricDataQueries.member.1.MetricStat.Metric.MetricName":                "RequestCount",
		"MetricDataQueries.member.4.MetricStat.Metric.MetricName":                "UnhealthyRoutingRequestCount",
		"MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Name":  "LoadBalancer",
		"MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Value": "app/public/0123456789abcdef",
		"MetricDataQueries.member.2.MetricStat.Period":                           "60", "MetricDataQueries.member.2.MetricStat.Stat": "Sum",
	} {
		if got := q.Get(key); got != want {
			t.Errorf("asked for %s = %q, want %q", key, got, want)
		}
	}
}

// With a target group every sum is narrowed to it; what the load balancer makes
// itself is not told per group, and so is not asked for.
func TestSumsOfOneTargetGroup(t *testing.T) {
	endpoint, asked := serve(t, 200, `<GetMetricDataResponse><GetMetricDataResult><MetricDataResults/></GetMetricDataResult></GetMetricDataResponse>`)
	r := newReader(t, &kept{}, func(c *Config) { c.Endpoint, c.TargetGroup = endpoint, "targetgroup/api/fedcba9876543210" })
	if err := r.Collect(t.Context(), at, at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	q := (*asked)[0]
	if q.Get("MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.2.Value") != "targetgroup/api/fedcba9876543210" || q.Has("MetricDataQueries.member.4.Id") ||
		strings.Contains(q.Encode(), "ELB_5XX") {
		t.Errorf("asked %v", q)
	}
}

func TestRepliesThatAreNone(t *testing.T) {
	failure := func(code string) string {
		return `<ErrorResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><Error><Type>Sender</Type><Code>` + code + `</Code><Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`
	}
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   string
	}{
		{"an empty body is no answer", 200, "", "bad_reply"},
		{"nor is a proxy's page", 200, "<html>welcome</html>", "bad_reply"},
		{"nor a reply that breaks off", 200, strings.TrimSuffix(recorded(t), "</GetMetricDataResponse>\n"), "bad_reply"},
		{"not allowed", 403, failure("AccessDenied"), "forbidden"},
		{"asked too often", 400, failure("Throttling"), "throttled"},
		{"no XML", 502, "gateway", "error"},
		{"a metric that failed inside", 200, strings.Replace(recorded(t), "<StatusCode>Complete", "<StatusCode>InternalError", 1), "error"},
		{"a metric that is forbidden inside", 200, strings.Replace(recorded(t), "<StatusCode>Complete", "<StatusCode>Forbidden", 1), "forbidden"},
		{"times without values", 200, strings.Replace(recorded(t), "<member>12.0</member>", "", 1), "bad_reply"},
		{"sums that nobody asked for", 200, strings.Replace(recorded(t), "<Id>m1", "<Id>m9", 1), "bad_reply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			endpoint, _ := serve(t, c.status, c.body)
			sink := &kept{}
			r := newReader(t, sink, func(cfg *Config) { cfg.Endpoint = endpoint })
			err := r.Collect(t.Context(), at, at.Add(4*time.Minute))
			if err == nil || len(sink.runs) != 1 || len(sink.sums) != 0 {
				t.Fatalf("error %v, runs %+v, %d sums", err, sink.runs, len(sink.sums))
			}
			if run := sink.runs[0]; run.Code != c.code || run.Error == "" || run.Rows != 0 || !run.To.Equal(at.Add(4*time.Minute)) {
				t.Errorf("run %+v, want code %s", run, c.code)
			}
		})
	}
	sink := &kept{}
	r := newReader(t, sink, func(cfg *Config) { cfg.Endpoint = "http://127.0.0.1:1" })
	if err := r.Collect(t.Context(), at, at.Add(time.Minute)); err == nil || sink.runs[0].Code != "unreachable" {
		t.Errorf("nobody there: %v, %+v", err, sink.runs)
	}
}

// paged answers in pages of one minute.
type paged struct{ calls int }

func (p *paged) GetMetricData(_ context.Context, in *cw.GetMetricDataInput, _ ...func(*cw.Options)) (*cw.GetMetricDataOutput, error) {
	if (p.calls == 0) != (in.NextToken == nil) {
		return nil, context.Canceled
	}
	out := &cw.GetMetricDataOutput{MetricDataResults: []types.MetricDataResult{{Id: aws.String("m0"), StatusCode: types.StatusCodePartialData,
		Timestamps: []time.Time{at.Add(time.Duration(p.calls) * time.Minute)}, Values: []float64{float64(p.calls)}}}}
	if p.calls++; p.calls < 3 {
		out.NextToken = aws.String("more")
	}
	return out, nil
}

func TestPagesAreFollowed(t *testing.T) {
	sink := &kept{}
	r := newReader(t, sink, func(c *Config) { c.API = &paged{} })
	if err := r.Collect(t.Context(), at, at.Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if len(sink.sums) != 2 || sink.sums[1].Sum != 1 { // the third is beyond what was asked for
		t.Errorf("sums %+v", sink.sums)
	}
}

// failing fails a number of times, then answers.
type failing struct {
	left int
	at   []time.Time
}

func (f *failing) GetMetricData(context.Context, *cw.GetMetricDataInput, ...func(*cw.Options)) (*cw.GetMetricDataOutput, error) {
	f.at = append(f.at, time.Now())
	if f.left--; f.left >= 0 {
		return nil, context.DeadlineExceeded
	}
	return &cw.GetMetricDataOutput{}, nil
}

func TestRunReadsAgainAndWaitsLongerAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, sink := &failing{left: 2}, &kept{}
		r, err := New(t.Context(), Config{LoadBalancer: "app/a/b", API: api}, sink)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 12*time.Minute)
		defer stop()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		var gaps []int
		for i := 1; i < len(api.at); i++ {
			gaps = append(gaps, int(api.at[i].Sub(api.at[i-1]).Round(time.Minute).Minutes()))
		}
		if len(gaps) < 4 || !slices.Equal(gaps[:4], []int{2, 4, 1, 1}) {
			t.Errorf("minutes between readings %v", gaps)
		}
		if first, last := sink.runs[0], sink.runs[len(sink.runs)-1]; first.Code != "unreachable" || last.Code != "" || last.To.Sub(last.From) != 15*time.Minute {
			t.Errorf("runs %+v … %+v", first, last)
		}
	})
}

func TestNewNeedsALoadBalancer(t *testing.T) {
	if _, err := New(t.Context(), Config{Source: "here"}, &kept{}); err == nil || !strings.Contains(err.Error(), "here") {
		t.Error(err)
	}
}
