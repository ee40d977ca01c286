package accesslog

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"gapless/analysis"
)

// Fields of a line of an ALB connection log, by position.
const (
	connTime = iota
	connClient
	connClientPort
	connListenerPort
	connProtocol
	connCipher
	connLatency
	connSubject
	connValidity
	connSerial
	connVerify
	connTrace
	connKeyExchange
	connELB
	connNode
	connFields

	// connLeast is the number of fields that a line must have: the first version of
	// the log ended after the trace id.
	connLeast = connTrace + 1
)

// connNames are the documented names ("Connection log entries", Elastic Load
// Balancing user guide for Application Load Balancers).
var connNames = [connFields]string{
	"timestamp", "client_ip", "client_port", "listener_port", "tls_protocol", "tls_cipher", "tls_handshake_latency",
	"leaf_client_cert_subject", "leaf_client_cert_validity", "leaf_client_cert_serial_number", "tls_verify_status",
	"conn_trace_id", "tls_keyexchange", "elb", "ip_address",
}

// connFormat parses lines of ALB connection logs. It keeps the fields of the last
// line, so one value serves one goroutine.
type connFormat struct {
	fields  albTokens
	latency time.Duration // of the TLS handshake; -1 where there is none
	failed  bool          // the client's certificate was refused
}

func (f *connFormat) parse(line []byte, e *entry) (reject, bool) {
	t := &f.fields
	t.split(line)
	whole := t.n
	if t.open {
		whole--
	}
	moment, timed := parseTime(t.field(connTime))
	latency, lasted := parseLatency(t.field(connLatency))
	if whole < connLeast || !timed || !lasted || !isAddress(t.field(connClient)) || !isPort(t.field(connClientPort)) || !isPort(t.field(connListenerPort)) {
		return diagnoseConn(line, t), false
	}
	*e = entry{
		end: moment, balancer: t.value(connELB), node: t.value(connNode),
		client: t.value(connClient), clientPort: t.value(connClientPort), protocol: t.value(connProtocol),
	}
	f.latency, f.failed = latency, bytes.HasPrefix(t.field(connVerify), []byte("Failed"))
	return reject{}, true
}

// diagnoseConn says why a line is not one of a connection log.
func diagnoseConn(line []byte, t *albTokens) reject {
	why, kind := otherThan(line, t, KindALBConnections)
	if kind == "" {
		return why
	}
	_, timed := parseTime(t.field(connTime))
	_, lasted := parseLatency(t.field(connLatency))
	switch {
	case t.n < connLeast || t.open && t.n == connLeast:
		return few(t, connLeast, connNames[:], kind)
	case !timed:
		return reject{reasonTime, fmt.Sprintf("timestamp %s is not a time", quote(t.field(connTime))), kind}
	case !isAddress(t.field(connClient)):
		return reject{reasonAddress, fmt.Sprintf("client_ip %s is not an address", quote(t.field(connClient))), kind}
	case !lasted:
		return reject{reasonLatency, fmt.Sprintf("tls_handshake_latency %s is neither seconds nor -", quote(t.field(connLatency))), kind}
	}
	return reject{reasonAddress, fmt.Sprintf("client_port %s and listener_port %s are not both ports",
		quote(t.field(connClientPort)), quote(t.field(connListenerPort))), kind}
}

// appendMore writes what a connection has beyond a request.
func (f *connFormat) appendMore(b []byte, _ *entry) []byte {
	b = append(b, `,"duration_ms":null,"tls_handshake_ms":`...)
	if f.latency >= 0 {
		b = strconv.AppendFloat(b, float64(f.latency)/1e6, 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	outcome := analysis.OutcomeOK
	if f.failed {
		outcome = analysis.OutcomeConnectionError
	}
	b = append(b, `,"outcome":"`...)
	b = append(b, outcome...)
	b = append(b, `","attempts":1`...)
	return b
}

func (f *connFormat) appendFields(b []byte) []byte { return appendTokens(b, &f.fields, connNames[:]) }

// rest has nothing to add: a short line is read whole.
func (f *connFormat) rest(*entry) {}
