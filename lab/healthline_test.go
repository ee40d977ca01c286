package lab

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHealthLines(t *testing.T) {
	id := &identity{loadBalancer: "app/gapless-lab/50dc6c495c0c9188", targetGroup: "api", node: "127.0.0.1"}
	start := time.Date(2025, 10, 31, 12, 44, 59, 875678000, time.UTC)
	line := func(status int, reason string) string {
		c := healthCheck{start: start, end: start.Add(19584011), address: "127.0.0.1:8081", status: status, reason: reason}
		return string(appendHealthLine(nil, id, &c))
	}
	const head, tail = "http 2025-10-31T12:44:59.875678Z 0.019584011 127.0.0.1:8081 api ", " app/gapless-lab/50dc6c495c0c9188 127.0.0.1"
	for _, c := range []struct {
		status       int
		reason, want string
	}{
		{200, "", "PASS 200 -"},
		{503, reasonMismatch, "FAIL 503 TargetError"},
		{404, reasonMismatch, "FAIL 404 ResponseCodeMismatch"},
		{0, reasonTimeout, "FAIL - TimedOut"},
		{0, reasonFailed, "FAIL - ConnectionReset"},
	} {
		if got := line(c.status, c.reason); got != head+c.want+tail {
			t.Errorf("got  %s\nwant %s", got, head+c.want+tail)
		}
	}
}

// wantChecksLogged checks that every target's checks stand in the health-check log,
// passing first, and that those of a target that was stopped failed.
func wantChecksLogged(t *testing.T, l *Lab) {
	t.Helper()
	verdicts := map[string]string{}
	lines := logLines(t, l.files.dir, healthLogPrefix)
	// Objects of one minute have random names; the second field is the time.
	slices.SortFunc(lines, func(x, y string) int { return strings.Compare(strings.Fields(x)[1], strings.Fields(y)[1]) })
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 10 {
			t.Fatalf("%d fields in %q", len(f), line)
		}
		verdicts[f[3]] += f[5][:1]
	}
	for _, target := range l.Settings().Targets {
		// On a slow machine the first checks come before the node is up.
		if seen := strings.TrimLeft(verdicts[target.Address], "F"); !strings.HasPrefix(seen, "P") || !strings.Contains(seen, "F") || !strings.HasSuffix(seen, "P") {
			t.Errorf("checks of %s: %q, want passes, failures and passes again", target.Name, seen)
		}
	}
}
