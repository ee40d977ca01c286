package targethealth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"gapless/analysis"
)

const arn = "arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/api/73e2d6bc24d8a067"

// Replies in the form that the API's reference shows.
const (
	health = `<DescribeTargetHealthResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/">
  <DescribeTargetHealthResult><TargetHealthDescriptions>
    <member><HealthCheckPort>8080</HealthCheckPort><TargetHealth><State>healthy</State></TargetHealth>
      <Target><Port>8080</Port><Id>10.0.1.11</Id></Target></member>
    <member><HealthCheckPort>8080</HealthCheckPort>
      <TargetHealth><Description>Health checks failed with these codes: [503]</Description>
        <Reason>Target.ResponseCodeMismatch</Reason><State>unhealthy</State></TargetHealth>
      <Target><Port>8080</Port><Id>i-0abc</Id></Target></member>
    <member><TargetHealth><State>hibernating</State></TargetHealth><Target><Port>9</Port><Id>10.9.9.9</Id></Target></member>
  </TargetHealthDescriptions></DescribeTargetHealthResult>
  <ResponseMetadata><RequestId>c534f810-f389-11e5-9192-3fff33344cfa</RequestId></ResponseMetadata>
</DescribeTargetHealthResponse>`
	noTargets = `<DescribeTargetHealthResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/">
  <DescribeTargetHealthResult><TargetHealthDescriptions/></DescribeTargetHealthResult></DescribeTargetHealthResponse>`
	groups = `<DescribeTargetGroupsResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/">
  <DescribeTargetGroupsResult><TargetGroups><member>
    <TargetGroupArn>` + arn + `</TargetGroupArn><HealthCheckTimeoutSeconds>5</HealthCheckTimeoutSeconds>
    <HealthCheckPort>traffic-port</HealthCheckPort><Matcher><HttpCode>200</HttpCode></Matcher><TargetGroupName>api</TargetGroupName>
    <HealthCheckProtocol>HTTP</HealthCheckProtocol><HealthCheckPath>/actuator/health</HealthCheckPath><Protocol>HTTP</Protocol><Port>8080</Port>
    <HealthCheckIntervalSeconds>30</HealthCheckIntervalSeconds><HealthyThresholdCount>5</HealthyThresholdCount>
    <UnhealthyThresholdCount>2</UnhealthyThresholdCount>
  </member></TargetGroups></DescribeTargetGroupsResult></DescribeTargetGroupsResponse>`
	attributes = `<DescribeTargetGroupAttributesResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/">
  <DescribeTargetGroupAttributesResult><Attributes>
    <member><Value>300</Value><Key>deregistration_delay.timeout_seconds</Key></member>
    <member><Value>false</Value><Key>stickiness.enabled</Key></member>
  </Attributes></DescribeTargetGroupAttributesResult></DescribeTargetGroupAttributesResponse>`
	failure = `<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><Error><Type>Sender</Type>
  <Code>%s</Code><Message>%s</Message></Error><RequestId>f74c9e2c</RequestId></ErrorResponse>`
)

func TestPoll(t *testing.T) {
	server := api(t, map[string]string{"DescribeTargetHealth": health})
	sink := &sink{}
	p := poller(t, Config{Endpoint: server.URL}, sink)
	p.poll(t.Context())
	want := []analysis.StateSample{
		{Source: "elbv2", TargetGroup: "api", Target: "api-1", State: analysis.StateHealthy},
		{Source: "elbv2", TargetGroup: "api", Target: "api-2", State: analysis.StateUnhealthy, Reason: "Target.ResponseCodeMismatch"},
		{Source: "elbv2", TargetGroup: "api", Target: "10.9.9.9:9", State: "hibernating"},
	}
	run := sink.runs[0]
	for i := range want {
		want[i].At = run.At
	}
	if fmt.Sprint(sink.samples) != fmt.Sprint(want) {
		t.Errorf("\n got %v\nwant %v", sink.samples, want)
	}
	if run.Code != "" || run.Rows != 3 || run.Kind != "elbv2" || run.Source != "elbv2" || run.To != run.At {
		t.Errorf("run %+v", run)
	}
}

func TestFailuresHaveCodes(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, test := range []struct {
		name   string
		status int
		body   string
		code   string
		rows   int
		text   string
	}{
		{"no targets", 200, noTargets, "", 0, ""},
		{"throttled", 400, fmt.Sprintf(failure, "Throttling", "Rate exceeded"), "throttled", 0, "DescribeTargetHealth: Throttling: Rate exceeded"},
		{"throttled without a body", 429, "", "throttled", 0, "429"},
		{"forbidden", 403, fmt.Sprintf(failure, "AccessDenied", "not authorized to perform DescribeTargetHealth"), "forbidden", 0, "not authorized"},
		{"forbidden by a proxy", 403, "<html>Forbidden", "forbidden", 0, "403"},
		{"long and hostile text", 400, fmt.Sprintf(failure, "Odd", strings.Repeat("&lt;script&gt;", 500)), "error", 0, "DescribeTargetHealth: Odd: <script>"},
		{"signature", 403, fmt.Sprintf(failure, "SignatureDoesNotMatch", "x"), "forbidden", 0, ""},
		{"no such group", 400, fmt.Sprintf(failure, "TargetGroupNotFound", "One or more target groups not found"), "not_found", 0, "not found"},
		{"unavailable", 500, fmt.Sprintf(failure, "HealthUnavailable", "try later"), "error", 0, "try later"},
		{"empty success", 200, "", "bad_reply", 0, "no DescribeTargetHealthResult element"},
		{"a page as success", 200, "<html><body>Sign in</body></html>", "bad_reply", 0, "no DescribeTargetHealthResult element"},
		{"cut short", 200, health[:700], "bad_reply", 0, ""},
		{"JSON as success", 200, `{"TargetHealthDescriptions":[]}`, "bad_reply", 0, ""},
		{"target without id", 200, strings.Replace(health, "<Id>10.0.1.11</Id>", "", 1), "bad_reply", 0, "target 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			sink := &sink{}
			p := poller(t, Config{Endpoint: server.URL}, sink)
			p.poll(t.Context())
			run := sink.runs[0]
			if run.Code != test.code || !strings.Contains(run.Error, test.text) || (run.Error == "") != (test.code == "") {
				t.Errorf("code %q, error %q; want %q with %q", run.Code, run.Error, test.code, test.text)
			}
			if len(run.Error) > 600 || strings.Contains(run.Error, "f74c9e2c") {
				t.Errorf("error %q is too long or has the request's id", run.Error)
			}
			if calls != 1 || len(sink.samples) != 0 {
				t.Errorf("%d calls, %d samples", calls, len(sink.samples))
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		sink := &sink{}
		poller(t, Config{Endpoint: closed.URL}, sink).poll(t.Context())
		if run := sink.runs[0]; run.Code != "unreachable" || run.Error == "" {
			t.Errorf("run %+v", run)
		}
	})
	t.Run("silent", func(t *testing.T) {
		stop := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
		defer server.Close()
		defer close(stop)
		sink := &sink{}
		poller(t, Config{Endpoint: server.URL, Timeout: 100 * time.Millisecond}, sink).poll(t.Context())
		if run := sink.runs[0]; run.Code != "unreachable" {
			t.Errorf("run %+v", run)
		}
	})
}

func TestSettings(t *testing.T) {
	server := api(t, map[string]string{"DescribeTargetGroups": groups, "DescribeTargetGroupAttributes": attributes})
	s := &sink{}
	p := poller(t, Config{Endpoint: server.URL, LoadBalancer: "public"}, s)
	if err := p.Collect(t.Context(), time.Time{}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	got := s.settings[0]
	got.At = time.Time{}
	want := analysis.GroupSettings{LoadBalancer: "public", TargetGroup: "api", ARN: arn, DeregistrationDelay: 5 * time.Minute,
		Health: analysis.HealthCheck{Interval: 30 * time.Second, Timeout: 5 * time.Second, Unhealthy: 2, Healthy: 5, Path: "/actuator/health"}}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}

	empty := api(t, map[string]string{"DescribeTargetGroups": "", "DescribeTargetGroupAttributes": attributes})
	s = &sink{}
	if err := poller(t, Config{Endpoint: empty.URL}, s).Collect(t.Context(), time.Time{}, time.Time{}); err == nil {
		t.Error("an empty reply is no error")
	}
	if run := s.runs[0]; run.Code != "bad_reply" || !strings.HasPrefix(run.Error, "target group settings: ") || run.From != run.To || len(s.settings) != 0 {
		t.Errorf("run %+v", run)
	}
}

// Polls follow one another with a little jitter, slow down under throttling up to a
// minute, and each run goes on where the one before ended.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttled := &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}
		var at []time.Duration
		start := time.Now()
		fake := &fakeAPI{health: func(n int) (*elb.DescribeTargetHealthOutput, error) {
			at = append(at, time.Since(start))
			if n >= 3 && n < 10 {
				return nil, throttled
			}
			return &elb.DescribeTargetHealthOutput{TargetHealthDescriptions: []types.TargetHealthDescription{{
				Target: &types.TargetDescription{Id: new("10.0.1.11"), Port: new(int32(8080))}, TargetHealth: &types.TargetHealth{State: "healthy"},
			}}}, nil
		}}
		sink := &sink{}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := poller(t, Config{API: fake, Every: 5 * time.Second}, sink).Run(ctx); err != nil {
			t.Fatal(err)
		}
		for i, want := range []float64{5, 5, 10, 20, 40, 60, 60, 60, 60, 5, 5} {
			if i+1 >= len(at) {
				t.Fatalf("%d polls", len(at))
			}
			if got := (at[i+1] - at[i]).Seconds(); got < want*0.9-0.001 || got > want*1.1+0.001 {
				t.Errorf("poll %d came %.2f s after the one before, want %.0f s and a tenth", i+1, got, want)
			}
		}
		for i, run := range sink.runs[1:] {
			if !run.From.Equal(sink.runs[i].To) {
				t.Errorf("run %d begins %v after the one before ended", i+1, run.From.Sub(sink.runs[i].To))
			}
		}
		if n := len(sink.settings); n != 2 {
			t.Errorf("settings were asked for %d times in 10 minutes", n)
		}
	})
}

// One failed poll between two good ones is less than three intervals: the states
// on both sides are known, as they are between any two polls.
func TestGoodPollReachesBackOverAShortFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := map[int]bool{2: true, 5: true, 6: true, 7: true, 8: true}
		fake := &fakeAPI{health: func(n int) (*elb.DescribeTargetHealthOutput, error) {
			if failed[n] {
				return nil, errors.New("broken")
			}
			return &elb.DescribeTargetHealthOutput{}, nil
		}}
		sink := &sink{}
		p := poller(t, Config{API: fake, Every: time.Second}, sink)
		start := time.Now()
		p.polled = start
		for range 10 {
			time.Sleep(time.Second)
			p.poll(t.Context())
		}
		var from []int
		for _, run := range sink.runs {
			from = append(from, int(run.From.Sub(start).Seconds()))
		}
		if want := "[0 1 1 3 4 5 6 7 8 9]"; fmt.Sprint(from) != want {
			t.Errorf("runs begin at %v, want %s", from, want)
		}
	})
}

func TestStoppingIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fake := &fakeAPI{health: func(int) (*elb.DescribeTargetHealthOutput, error) { cancel(); return nil, ctx.Err() }}
	sink := &sink{}
	if err := poller(t, Config{API: fake}, sink).Run(ctx); err != nil || len(sink.runs) != 0 {
		t.Errorf("%v, runs %+v", err, sink.runs)
	}
}

func TestConfigurationErrors(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	for _, test := range []struct {
		cfg  Config
		want string
	}{
		{Config{Kind: "ncp"}, `kind "ncp"`},
		{Config{Kind: KindELBv2}, "target_group is missing"},
		{Config{Kind: KindELBv2, ARN: arn}, "region is missing"},
		{Config{Kind: KindELBv2, ARN: arn, Region: "x", Endpoint: "nowhere"}, "endpoint"},
		{Config{Kind: KindELBv2, ARN: arn, Every: -1}, "every"},
		{Config{Kind: KindFile}, "path is missing"},
	} {
		test.cfg.Source = "elbv2"
		if _, err := New(t.Context(), test.cfg, &sink{}); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "states elbv2") {
			t.Errorf("%+v: got %v, want %q", test.cfg, err, test.want)
		}
	}
}

type fakeAPI struct {
	n      int
	health func(n int) (*elb.DescribeTargetHealthOutput, error)
}

func (f *fakeAPI) DescribeTargetHealth(context.Context, *elb.DescribeTargetHealthInput, ...func(*elb.Options)) (*elb.DescribeTargetHealthOutput, error) {
	f.n++
	return f.health(f.n)
}

func (f *fakeAPI) DescribeTargetGroups(context.Context, *elb.DescribeTargetGroupsInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupsOutput, error) {
	return &elb.DescribeTargetGroupsOutput{TargetGroups: []types.TargetGroup{{HealthCheckIntervalSeconds: new(int32(30))}}}, nil
}

func (f *fakeAPI) DescribeTargetGroupAttributes(context.Context, *elb.DescribeTargetGroupAttributesInput, ...func(*elb.Options)) (*elb.DescribeTargetGroupAttributesOutput, error) {
	return &elb.DescribeTargetGroupAttributesOutput{}, nil
}

// sink is a store in memory.
type sink struct {
	mu       sync.Mutex
	samples  []analysis.StateSample
	runs     []analysis.Run
	settings []analysis.GroupSettings
}

func (s *sink) AddStates(_ context.Context, _ string, run analysis.Run, samples []analysis.StateSample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, samples...)
	s.runs = append(s.runs, run)
	return nil
}

func (s *sink) AddRun(ctx context.Context, service string, run analysis.Run) error {
	return s.AddStates(ctx, service, run, nil)
}

func (s *sink) AddGroupSettings(_ context.Context, _ string, g analysis.GroupSettings) error {
	s.settings = append(s.settings, g)
	return nil
}

// api answers calls by their action, and fails the test on any other or on one that
// is not signed or asks for another group.
func api(t *testing.T, replies map[string]string) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(b))
		body, ok := replies[form.Get("Action")]
		if !ok || !strings.Contains(string(b), url.QueryEscape(arn)) || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256") {
			t.Errorf("unexpected call %s, %v", b, r.Header)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server
}

func poller(t *testing.T, cfg Config, sink Sink) *Poller {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	names, err := analysis.NewClassifier(analysis.Service{Targets: []analysis.TargetName{
		{Name: "api-1", Address: "10.0.1.11:8080"}, {Name: "api-2", Address: "10.0.1.12:8080", Aliases: []string{"i-0abc:8080"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Service, cfg.Source, cfg.Kind, cfg.TargetGroup, cfg.ARN, cfg.Region, cfg.Names = "orders-api", "elbv2", KindELBv2, "api", arn, "ap-northeast-2", names
	c, err := New(t.Context(), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Poller)
}
