package main

import (
	"strings"
	"testing"
	"time"
)

const withCloudWatch = `
services:
  - name: orders-api
    window: {settle: 9m}
    load_balancers:
      - name: public
        access_logs:
          - {name: checks, kind: alb-health, url: "s3://bucket/prefix"}
          - name: alb
            kind: alb
            url: "s3://bucket/prefix"
            region: ap-northeast-2
            role: arn:aws:iam::123456789012:role/reader
            cloudwatch: {load_balancer: app/public/0123456789abcdef, endpoint: "http://127.0.0.1:5000"}
          - {name: connections, kind: alb-conn, url: "s3://bucket/prefix"}
`

// loadText loads a configuration from its text.
func loadText(t *testing.T, text string) (*config, error) {
	t.Helper()
	path := t.TempDir() + "/gapless.yml"
	write(t, path, text)
	return loadConfig(path, noEnvironment)
}

func TestCloudWatchBesideAnAccessLog(t *testing.T) {
	cfg, err := loadText(t, withCloudWatch)
	if err != nil {
		t.Fatal(err)
	}
	s := cfg.services[0]
	logs := s.LoadBalancers[0].AccessLogs
	if len(logs) != 3 || logs[0].Counts || !logs[1].Counts || logs[2].Counts || logs[1].Metrics != "alb-cloudwatch" || logs[0].Metrics != "" {
		t.Errorf("logs %+v", logs)
	}
	if len(s.cloudWatches) != 1 {
		t.Fatalf("metrics %+v", s.cloudWatches)
	}
	m := s.cloudWatches[0]
	if m.Source != "alb-cloudwatch" || m.LoadBalancer != "app/public/0123456789abcdef" || m.Region != "ap-northeast-2" ||
		m.Role != "arn:aws:iam::123456789012:role/reader" || m.Endpoint != "http://127.0.0.1:5000" || m.Every != time.Minute || m.Settle != 9*time.Minute {
		t.Errorf("metrics %+v", m)
	}
}

func TestCloudWatchMistakes(t *testing.T) {
	const block = "cloudwatch: {load_balancer: app/public/0123456789abcdef"
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"no load balancer", block, "cloudwatch: {region: us-east-1", []string{"access_logs[1].cloudwatch.load_balancer", "the end of its ARN", "app/"}},
		{"an ARN", "app/public/0123456789abcdef", "arn:aws:elasticloadbalancing:x:1:loadbalancer/app/public/0123456789abcdef", []string{"cloudwatch.load_balancer", "end of its ARN"}},
		{"a group without a match", block, block + ", target_group: targetgroup/api/0123456789abcdef", []string{"cloudwatch.target_group", "match.target_group"}},
		{"a match without a group", "            cloudwatch:", "            match: {target_group: api}\n            cloudwatch:", []string{"cloudwatch.target_group", "missing"}},
		{"a host", "            cloudwatch:", "            match: {host: api.example.com}\n            cloudwatch:", []string{"cloudwatch", "match.host"}},
		{"a taken name", block, block + ", name: checks", []string{"cloudwatch.name", "used twice"}},
		{"for health checks", `kind: alb-health, url: "s3://bucket/prefix"`, `kind: alb-health, url: "s3://bucket/prefix", cloudwatch: {load_balancer: app/a/1}`, []string{"access_logs[0].cloudwatch", "alb-health", "alb"}},
		{"health checks that count users", "{name: checks, kind: alb-health", "{counts: true, name: checks, kind: alb-health", []string{"access_logs[0].counts", "alb-health has no requests"}},
		{"an unknown key", block, block + ", metric: x", []string{"cloudwatch.metric", "unknown key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(withCloudWatch, c.old) {
				t.Fatalf("%q is not in the example", c.old)
			}
			_, err := loadText(t, strings.Replace(withCloudWatch, c.old, c.new, 1))
			if err == nil {
				t.Fatal("no complaint")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks %q", err, want)
				}
			}
		})
	}
}
