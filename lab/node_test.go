package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A node that this environment variable names the folder of is started by a parent
// that then waits to be killed; see TestNodeDiesWithItsParent.
const parentVariable = "LAB_TEST_PARENT"

func init() {
	dir := os.Getenv(parentVariable)
	if dir == "" || len(os.Args) > 1 && os.Args[1] == NodeCommand {
		return
	}
	node, err := newTestNode(dir)
	if err == nil {
		err = node.start("1.0.0")
	}
	fmt.Println(node.address, err)
	select {}
}

func TestNodeDiesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, failed, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || failed != "<nil>" {
		t.Fatalf("the parent says %q, %v", line, err)
	}
	eventually(t, "up", func() bool { return up(t.Context(), address) })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "gone", func() bool { return refused(address) })
}

func TestNodeAnswers(t *testing.T) {
	node := startTestNode(t)
	url := "http://" + node.address

	var store struct {
		Success bool           `json:"success"`
		Data    map[string]any `json:"data"`
	}
	if status := send(t, http.MethodGet, url+"/v1/stores/17", "", &store); status != 200 || !store.Success || store.Data["id"] != 17.0 || len(store.Data) < 100 {
		t.Errorf("store: %d, success %v, id %v, %d keys", status, store.Success, store.Data["id"], len(store.Data))
	}
	for _, test := range []struct {
		method, path, body string
		status             int
		success            bool
	}{
		{"POST", "/v1/orders", `{"store":17,"menus":[1]}`, 200, true},
		{"POST", "/v1/orders", `{"store":17,"menus":[]}`, 200, false}, // a refusal that only the body tells
		{"POST", "/v1/orders", `{`, 400, false},
		{"GET", "/v1/stores/17/menus", "", 200, true},
		{"GET", "/v1/orders/5f0c", "", 200, true},
		{"GET", "/v1/stores/none", "", 404, false},
		{"GET", "/v1/nothing", "", 404, false},
	} {
		var said struct{ Success bool }
		if status := send(t, test.method, url+test.path, test.body, &said); status != test.status || said.Success != test.success {
			t.Errorf("%s %s %s: %d, success %v; want %d, %v", test.method, test.path, test.body, status, said.Success, test.status, test.success)
		}
	}

	var health struct{ Status string }
	if status := send(t, http.MethodGet, url+healthPath, "", &health); status != 200 || health.Status != "UP" {
		t.Errorf("health %d %s, want 200 UP", status, health.Status)
	}
	if err := os.WriteFile(node.marker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status := send(t, http.MethodGet, url+healthPath, "", &health); status != 503 || health.Status != "OUT_OF_SERVICE" {
		t.Errorf("health %d %s while marked, want 503 OUT_OF_SERVICE", status, health.Status)
	}
	if status := send(t, http.MethodGet, url+"/v1/stores/17", "", &store); status != 200 {
		t.Errorf("a marked node answers %d, want 200: it serves on until it is out", status)
	}
	old := time.Now().Add(-markerLife - time.Minute)
	if err := os.Chtimes(node.marker, old, old); err != nil {
		t.Fatal(err)
	}
	if status := send(t, http.MethodGet, url+healthPath, "", &health); status != 200 {
		t.Errorf("health %d with a marker that has lapsed, want 200", status)
	}
}

func TestNodeLogsRequestIDs(t *testing.T) {
	node := startTestNode(t)
	request, _ := http.NewRequest(http.MethodGet, "http://"+node.address+"/v1/stores/17", nil)
	request.Header.Set("X-Request-Id", "r1-000042 forged status=500")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	request.URL.Path = healthPath
	if response, err = http.DefaultClient.Do(request); err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	wantLines(t, node.logPath, []string{
		`INFO \d+ --- \[orders-api\] \[.{15}\] com\.example\.orders\.web\.RequestLog {7} : rid=r1-000042_forged_status=500 received GET /v1/stores/17\n`,
		` : rid=r1-000042_forged_status=500 status=200 GET /v1/stores/17 \d+ms\n`,
		` : rid=r1-000042_forged_status=500 status=200 GET /actuator/health \d+ms\n`,
	})
	text, _ := os.ReadFile(node.logPath)
	if n := strings.Count(string(text), "/actuator/health"); n != 2 {
		t.Errorf("%d lines about health, want two: checks without an id are not logged", n)
	}
}

func TestGracefulStopFinishesRequestsInFlight(t *testing.T) {
	node := startTestNode(t)
	conn, err := net.Dial("tcp", node.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"store":17,"menus":[1]}`
	fmt.Fprintf(conn, "POST /v1/orders HTTP/1.1\r\nHost: x\r\nX-Request-Id: r9-000001\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:5])
	eventually(t, "received", func() bool {
		text, _ := os.ReadFile(node.logPath)
		return strings.Contains(string(text), "rid=r9-000001 received")
	})
	wait, err := node.stop()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "refusing new connections", func() bool { return refused(node.address) })
	if node.pid() == 0 {
		t.Fatal("the node ended before its request in flight")
	}
	fmt.Fprint(conn, body[5:])
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("the request in flight got %v, %v; want 200", response, err)
	}
	_ = response.Body.Close()
	if err := wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, node.logPath, []string{`Commencing graceful shutdown`, `rid=r9-000001 status=200`, `Graceful shutdown complete`, `Stopped app\.service`})
}

func TestKilledNodeComesBackOnItsPort(t *testing.T) {
	node := startTestNode(t)
	before := node.pid()
	if err := node.kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "refusing", func() bool { return refused(node.address) })
	eventually(t, "back", func() bool { return node.pid() != before && up(t.Context(), node.address) })
	wantLines(t, node.logPath, []string{
		`t-1 systemd\[1\]: app\.service: Main process exited, code=killed, status=9/KILL\n`,
		`Failed with result 'signal'\.\n`, `restart counter is at 1\.\n`, `Started App in`,
	})
	text, _ := os.ReadFile(node.logPath)
	if strings.Contains(string(text), "graceful") {
		t.Error("a killed node wrote a line about shutting down")
	}
}

func TestReservedPortIsRefusedAndHeld(t *testing.T) {
	port, release, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if !refused(address) {
		t.Error("somebody answers on a reserved port")
	}
	for range 2 { // held over restarts
		var config net.ListenConfig
		sharePort(&config)
		listener, err := config.Listen(t.Context(), "tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		if refused(address) {
			t.Error("its owner listens, yet connections are refused")
		}
		listener.Close()
		if !refused(address) {
			t.Error("nobody listens any more, yet a connection was made")
		}
	}
}

func TestNodeRefusesToStartByHand(t *testing.T) {
	if status := ChildMain(nil); status != 3 {
		t.Errorf("exit status %d, want 3", status)
	}
}

func newTestNode(dir string) (*supervisor, error) {
	port, _, err := reservePort() // held until the test ends
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "node.log")
	log, err := openNodeLog(path)
	if err != nil {
		return nil, err
	}
	return &supervisor{
		executable: os.Args[0], name: "t-1", address: fmt.Sprintf("127.0.0.1:%d", port), logPath: path,
		marker: filepath.Join(dir, "marker"), boot: 10 * time.Millisecond, delay: 50 * time.Millisecond, log: log,
	}, nil
}

func startTestNode(t *testing.T) *supervisor {
	t.Helper()
	node, err := newTestNode(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := node.start("1.0.0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.close)
	eventually(t, "up", func() bool { return up(context.Background(), node.address) })
	return node
}

func refused(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return true
	}
	conn.Close()
	return false
}

func send(t *testing.T, method, url, body string, into any) int {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s %s: %q: %v", method, url, text, err)
	}
	return response.StatusCode
}
