package accesslog

import (
	"bytes"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"gapless/analysis"
	"gapless/collectors/accesslog/albgen"
)

func benchRules(tb testing.TB) *analysis.Classifier {
	tb.Helper()
	rules, err := analysis.NewClassifier(analysis.Service{
		Targets: []analysis.TargetName{{Name: "api-1", Address: "10.0.1.11:8080"}, {Name: "api-2", Address: "10.0.1.12:8080"}},
		Traffic: analysis.TrafficRules{
			Probe:  []analysis.TrafficRule{{UserAgentPrefix: "gapless-probe/"}},
			Health: []analysis.TrafficRule{{UserAgentPrefix: "gapless-health/"}, {UserAgentPrefix: "ELB-HealthChecker/"}, {Path: "/actuator/health"}},
			Tool:   []analysis.TrafficRule{{Client: "10.0.0.0/8"}},
		},
		Routes: []analysis.Route{{Name: "order", Match: "^/v1/orders", Critical: true}, {Name: "search", Match: "^/v2/search"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// generate makes n lines over five minutes.
func generate(n int) []byte {
	g := albgen.New(albgen.Settings{Seed: 1, Start: time.Date(2026, 10, 14, 2, 30, 0, 0, time.UTC), Step: 5 * time.Minute / time.Duration(n)})
	var text []byte
	for range n {
		text = g.Append(text)
	}
	return text
}

func compress(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
