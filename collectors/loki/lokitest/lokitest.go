//go:build peers

// Package lokitest starts a real Loki for tests, and fills it.
package lokitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Tenant is the organisation that a Loki of this package wants to be told.
const Tenant = "gapless-test"

// MostEntries and LongestQuery are limits that it has.
const (
	MostEntries  = 5000
	LongestQuery = 24 * time.Hour
)

// Binary is a program that the environment names. It is missing where that does not.
func Binary(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s does not name a program: make loki, then set it to .tools/%s", variable, strings.ToLower(strings.TrimPrefix(variable, "GAPLESS_")))
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return path
}

// Start runs a Loki until the test ends, and returns its address.
func Start(t *testing.T) (address string) {
	t.Helper()
	binary := Binary(t, "GAPLESS_LOKI")
	dir := t.TempDir()
	httpPort, grpcPort := freePort(t), freePort(t)
	config := fmt.Sprintf(configuration, httpPort, grpcPort, dir, dir, LongestQuery, MostEntries)
	if err := os.WriteFile(filepath.Join(dir, "loki.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "loki.log"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, binary, "-config.file", filepath.Join(dir, "loki.yml"))
	command.Dir, command.Stdout, command.Stderr = dir, log, log
	if err := command.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was killed
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("Loki wrote:\n%s", text[max(len(text)-4000, 0):])
		}
	})
	address = fmt.Sprintf("http://127.0.0.1:%d", httpPort)
	for range 600 {
		if response, err := http.Get(address + "/ready"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return address
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("Loki was not ready within a minute")
	return ""
}

// Line is one line to be pushed.
type Line struct {
	At   time.Time
	Text string
}

// Push stores lines of one stream, in the order in which they are given, which has to
// be that of their times.
func Push(t *testing.T, address string, labels map[string]string, lines []Line) {
	t.Helper()
	for len(lines) > 0 {
		n := min(len(lines), 10_000)
		push(t, address, labels, lines[:n])
		lines = lines[n:]
	}
}

func push(t *testing.T, address string, labels map[string]string, lines []Line) {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`{"streams":[{"stream":{`)
	separator := ""
	for name, value := range labels {
		fmt.Fprintf(&b, "%s%q:%q", separator, name, value)
		separator = ","
	}
	b.WriteString(`},"values":[`)
	for i, line := range lines {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`["`)
		b.WriteString(strconv.FormatInt(line.At.UnixNano(), 10))
		b.WriteString(`",`)
		b.WriteString(strconv.Quote(line.Text)) // the tests' lines are plain text
		b.WriteString(`]`)
	}
	b.WriteString(`]}]}`)
	request, err := http.NewRequest(http.MethodPost, address+"/loki/api/v1/push", &b)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Scope-OrgID", Tenant)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(response.Body)
		t.Fatalf("push: %d %s", response.StatusCode, text)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// configuration is that of one process that keeps everything in a folder.
const configuration = `auth_enabled: true
server:
  http_listen_address: 127.0.0.1
  http_listen_port: %d
  grpc_listen_address: 127.0.0.1
  grpc_listen_port: %d
  log_level: warn
ingester:
  lifecycler:
    address: 127.0.0.1
    ring: {kvstore: {store: inmemory}, replication_factor: 1}
    final_sleep: 0s
    min_ready_duration: 0s
  max_transfer_retries: 0
schema_config:
  configs:
    - {from: 2020-01-01, store: boltdb, object_store: filesystem, schema: v11, index: {prefix: index_, period: 168h}}
storage_config:
  boltdb: {directory: %s/index}
  filesystem: {directory: %s/chunks}
chunk_store_config: {max_look_back_period: 0s}
limits_config:
  enforce_metric_name: false
  reject_old_samples: false
  ingestion_rate_mb: 1000
  ingestion_burst_size_mb: 1000
  max_query_length: %s
  max_entries_limit_per_query: %d
`
