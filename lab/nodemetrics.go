package lab

import (
	"fmt"
	"net/http"
	"strings"
)

// metricsPath is where a node tells of itself, on the port and with the threads of
// the application: whoever cannot be served cannot be scraped either.
const metricsPath = "/actuator/prometheus"

// metrics answers in Prometheus' text format, with the names that Micrometer gives
// Tomcat's threads and HikariCP's connections.
func (n *node) metrics(w http.ResponseWriter, _ *http.Request) {
	var text strings.Builder
	gauge := func(name, help string, values ...string) {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for _, value := range values {
			text.WriteString(name + value + "\n")
		}
	}
	one := func(label string, value any) string { return fmt.Sprintf("{%s} %v.0", label, value) }
	gauge("tomcat_threads_busy_threads", "Threads that are at work on a request.", one(`name="http-nio"`, n.threads.busy.Load()))
	gauge("tomcat_threads_config_max_threads", "Threads that there can be.", one(`name="http-nio"`, n.threads.most()))
	if n.payments != nil {
		var inFlight []string
		for _, name := range n.payments.order {
			inFlight = append(inFlight, one(`gateway="`+name+`"`, n.payments.clients[name].inFlight.Load()))
		}
		gauge("gateway_calls_in_flight", "Calls that wait for a gateway's answer.", inFlight...)
	}
	if n.pool != nil {
		const label = `pool="` + poolName + `"`
		active, pending := n.pool.use()
		gauge("hikaricp_connections_active", "Connections that are lent.", one(label, active))
		gauge("hikaricp_connections_max", "Connections that there can be.", one(label, n.pool.most()))
		gauge("hikaricp_connections_pending", "Threads that wait for a connection.", one(label, pending))
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(text.String()))
}
