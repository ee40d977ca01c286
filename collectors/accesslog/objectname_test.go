package accesslog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestObjectNames(t *testing.T) {
	const folder = "AWSLogs/123456789012/elasticloadbalancing/us-east-2/2022/05/01/"
	const rest = "123456789012_elasticloadbalancing_us-east-2_app.my-loadbalancer.1234567890abcdef_20220215T2340Z_172.160.001.192_20sg8hgm.log.gz"
	whole := objectName{log: logAccess, known: true, balancer: "app/my-loadbalancer/1234567890abcdef", node: "172.160.001.192", end: time.Date(2022, 2, 15, 23, 40, 0, 0, time.UTC)}
	health, connection, nlb := whole, whole, whole
	health.log, connection.log, nlb.log = logHealth, logConnection, ""
	nlb.balancer = "net/my-loadbalancer/1234567890abcdef"
	for key, want := range map[string]objectName{
		folder + rest:                       whole,
		"prefix/of/mine/" + folder + rest:   whole,
		rest:                                whole,
		strings.TrimSuffix(rest, ".gz"):     whole,
		folder + "health_check_log_" + rest: health,
		folder + "conn_log_" + rest:         connection,
		folder + "123456789012_elasticloadbalancing_us-east-2_net.my-loadbalancer.1234567890abcdef_20220215T2340Z_172.160.001.192_20sg8hgm.log.gz": nlb,
		folder + "123456789012_elasticloadbalancing_us-east-2_my-classic_20220215T2340Z_172.160.1.192_20sg8hgm.log":                                {},
		folder + "123456789012_elasticloadbalancing_us-east-2_app.my-loadbalancer.1234567890abcdef_20229915T2340Z_172.160.001.192_20sg8hgm.log.gz": {log: logAccess, any: true},
		"AWSLogs/123456789012/ELBAccessLogTestFile": {},
		"access.log": {log: logAccess, any: true},
		".hidden":    {},
		"AWSLogs/123456789012/ELBHealthCheckLogTestFile": {},
		"health_check_log_mine.log":                      {log: logHealth},
	} {
		if got := parseObjectName(key); got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
}

func TestDaysAroundMidnight(t *testing.T) {
	from, to := time.Date(2026, 12, 31, 23, 50, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 10, 0, 0, time.UTC)
	if got := days(from.In(time.FixedZone("KST", 9*3600)), to); !slices.Equal(got, []string{"2026/12/31", "2027/01/01"}) {
		t.Errorf("days %v", got)
	}
	for folder, outside := range map[string]bool{
		"x/elasticloadbalancing/us-east-2":            false,
		"x/elasticloadbalancing/us-east-2/2025":       true,
		"x/elasticloadbalancing/us-east-2/2026":       false,
		"x/elasticloadbalancing/us-east-2/2026/11":    true,
		"x/elasticloadbalancing/us-east-2/2026/12":    false,
		"x/elasticloadbalancing/us-east-2/2026/12/30": true,
		"x/elasticloadbalancing/us-east-2/2026/12/31": false,
		"x/elasticloadbalancing/us-east-2/2027/01/01": false,
		"x/elasticloadbalancing/us-east-2/2027/01/02": true,
		"logs/2025": false,
	} {
		if got := dayOutside(folder, from, to); got != outside {
			t.Errorf("%s outside: %v", folder, got)
		}
	}
}
