//go:build peers

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"gapless/analysis"
	"gapless/store"
)

const peerRegion = "us-east-1"

// TestPeerAWS runs the collectors that serve would run against a stand-in for AWS
// that is not ours: moto. GAPLESS_MOTO names its program, moto_server.
func TestPeerAWS(t *testing.T) {
	endpoint := startMoto(t)
	ctx := t.Context()
	sdk, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(peerRegion))
	if err != nil {
		t.Fatal(err)
	}
	sdk.BaseEndpoint = &endpoint

	// A bucket with two log objects of a load balancer, one of them cut short, and
	// the file that AWS leaves there to test its permission.
	now := time.Now().UTC().Truncate(time.Second)
	bucket := s3.NewFromConfig(sdk, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := bucket.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("logs")}); err != nil {
		t.Fatal(err)
	}
	put := func(key string, body []byte) {
		t.Helper()
		if _, err := bucket.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("logs"), Key: &key, Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	put("prod/AWSLogs/123456789012/ELBAccessLogTestFile", []byte("Enable AccessLog for ELB: public"))
	for i, node := range []string{"10.0.0.5", "10.0.0.6"} {
		var lines bytes.Buffer
		packed := gzip.NewWriter(&lines)
		for j := range 50 {
			at := now.Add(-10*time.Second + time.Duration(j)*100*time.Millisecond)
			target, status := []string{"10.0.1.11:8080", "10.0.1.12:8080"}[j%2], 200
			if i == 0 && j < 3 {
				status = 502
			}
			fmt.Fprintln(packed, albLine(stamp(at), stamp(at.Add(5*time.Millisecond)), target, status, "Mozilla/5.0"))
		}
		if err := packed.Close(); err != nil {
			t.Fatal(err)
		}
		put(fmt.Sprintf("prod/AWSLogs/123456789012/elasticloadbalancing/us-east-1/%s/123456789012_elasticloadbalancing_us-east-1_app.public.0123456789abcdef_%s_%s_abcdefgh.log.gz",
			now.Format("2006/01/02"), now.Add(5*time.Minute).Format("20060102T1504Z"), node), lines.Bytes())
	}

	// A target group with two registered targets, one of which will leave.
	groups := elb.NewFromConfig(sdk)
	vpc := motoVPC(t, endpoint)
	made, err := groups.CreateTargetGroup(ctx, &elb.CreateTargetGroupInput{
		Name: aws.String("api"), Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080), VpcId: &vpc, TargetType: elbtypes.TargetTypeEnumIp,
		HealthCheckPath: aws.String("/actuator/health"), HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(4),
		HealthyThresholdCount: aws.Int32(3), UnhealthyThresholdCount: aws.Int32(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := *made.TargetGroups[0].TargetGroupArn
	targets := []elbtypes.TargetDescription{{Id: aws.String("10.0.1.11"), Port: aws.Int32(8080)}, {Id: aws.String("10.0.1.12"), Port: aws.Int32(8080)}}
	if _, err := groups.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: &arn, Targets: targets}); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	config := filepath.Join(dir, "gapless.yml")
	write(t, config, fmt.Sprintf(`
services:
  - name: orders-api
    targets:
      - {name: api-1, address: "10.0.1.11:8080"}
      - {name: api-2, address: "10.0.1.12:8080"}
    load_balancers:
      - name: public
        access_logs:
          - {name: alb, kind: alb, url: "s3://logs/prod", region: %[1]s, endpoint: %[2]q, every: 300ms}
          - {name: elsewhere, kind: alb, url: "s3://no-such-bucket/prod", region: %[1]s, endpoint: %[2]q, every: 300ms}
        target_groups:
          - name: api
            states:
              - {name: elbv2, kind: elbv2, target_group: %[3]q, region: %[1]s, endpoint: %[2]q, every: 300ms}
              - {name: gone, kind: elbv2, target_group: "%[3]s0", region: %[1]s, endpoint: %[2]q, every: 300ms}
`, peerRegion, endpoint, arn))
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
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.run(watching) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	observe := func() analysis.Observations {
		t.Helper()
		o, err := db.ObservationsBetween(ctx, "orders-api", now.Add(-time.Minute), time.Now().Add(time.Minute), "")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	registered := func(o analysis.Observations) map[string]bool {
		latest, names := time.Time{}, map[string]bool{}
		for _, s := range o.States {
			if s.At.After(latest) {
				latest = s.At
			}
		}
		for _, s := range o.States {
			if s.At.Equal(latest) && s.Source == "elbv2" {
				names[s.Target] = true
			}
		}
		return names
	}
	eventually(t, "every source has run, and logs and states have been read", func() bool {
		o := observe()
		ran := map[string]bool{}
		for _, run := range o.Runs {
			ran[run.Source] = true
		}
		return len(o.Objects) >= 2 && len(registered(o)) == 2 && len(ran) == 4
	})
	o := observe()
	counts := map[string]int{}
	for _, cell := range o.Cells {
		counts[string(cell.Outcome)] += cell.Count
		counts[cell.Target] += cell.Count
	}
	if counts["ok"] != 97 || counts["lb_5xx"] != 3 || counts["api-1"] != 50 || counts["api-2"] != 50 {
		t.Errorf("requests read from the bucket: %v", counts)
	}
	if names := registered(o); !names["api-1"] || !names["api-2"] {
		t.Errorf("registered targets: %v", names)
	}
	if len(o.Groups) == 0 {
		t.Error("the target group's settings were not read")
	} else if health := o.Groups[0].Health; health.Interval != 10*time.Second || health.Timeout != 4*time.Second || health.Healthy != 3 || health.Unhealthy != 2 || health.Path != "/actuator/health" {
		t.Errorf("health check: %+v", health)
	}

	// What cannot be read is stored as such, and keeps nothing else from being read.
	codes := map[string]string{}
	for _, run := range o.Runs {
		codes[run.Source] = run.Code
	}
	if codes["elsewhere"] != "not_found" || codes["gone"] != "not_found" || codes["alb"] != "" || codes["elbv2"] != "" {
		t.Errorf("how the sources' last runs ended: %v", codes)
	}

	// A target that is deregistered is seen to leave.
	if _, err := groups.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: &arn, Targets: targets[1:]}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the target has left", func() bool {
		for _, s := range observe().States {
			if s.Target == "api-2" && s.State != analysis.StateHealthy && s.State != analysis.StateUnused && s.State != analysis.StateInitial {
				return true
			}
		}
		names := registered(observe())
		return names["api-1"] && !names["api-2"]
	})

	// An audit reads the same bucket, and does not take the other one's absence for
	// an absence of failures.
	status, stdout, stderr := runProgram(t, nil, "audit", "-c", config, "--service", "orders-api",
		"--from", now.Add(-30*time.Second).Format(time.RFC3339), "--to", now.Format(time.RFC3339), "--format", "json")
	if status == exitOK || !strings.Contains(stdout, `"lb_5xx": 3`) || !strings.Contains(stderr, "no-such-bucket") {
		t.Errorf("the audit ended with %d: %s\n%.2000s", status, stderr, stdout)
	}
}

// startMoto starts moto on a free port and returns its address.
func startMoto(t *testing.T) string {
	t.Helper()
	program := cmp.Or(os.Getenv("GAPLESS_MOTO"), "moto_server")
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("no moto: %v (GAPLESS_MOTO names moto_server)", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	command := exec.Command(path, "-H", "127.0.0.1", "-p", port)
	said := &buffer{}
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// For us only: moto itself fails with an empty profile.
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("moto said:\n%s", said)
		}
	})
	endpoint := "http://127.0.0.1:" + port
	eventually(t, "moto answers", func() bool {
		response, err := http.Get(endpoint + "/moto-api/")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return true
	})
	return endpoint
}

// motoVPC asks for the VPC that an account begins with, in the EC2 query language.
func motoVPC(t *testing.T, endpoint string) string {
	t.Helper()
	form := url.Values{"Action": {"DescribeVpcs"}, "Version": {"2016-11-15"}}
	request, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/"+peerRegion+"/ec2/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`<vpcId>([^<]+)</vpcId>`).FindSubmatch(body)
	if found == nil {
		t.Fatalf("no VPC in %s: %s", response.Status, body)
	}
	return string(found[1])
}
