//go:build unix

package logrules

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSets reads a million lines with every built-in set, patterns for request
// ids, and a rule of one's own. One line in a hundred is one that a rule matches.
func BenchmarkSets(b *testing.B) {
	const lines = 1_000_000
	for _, form := range []struct {
		name string
		line func(clock, message string) string
	}{
		{"spring-boot", func(clock, message string) string {
			return "2026-10-14T" + clock + "Z  INFO 1 --- [orders] [nio-8080-exec-7] com.example.orders.api.OrderController  : " + message
		}},
		{"logback", func(clock, message string) string {
			return "2026-10-14 " + clock + " [http-nio-8080-exec-7] INFO  com.example.orders.api.OrderController - " + message
		}},
		{"json", func(clock, message string) string {
			return fmt.Sprintf(`{"@timestamp":"2026-10-14T%sZ","@version":"1","message":%q,"logger_name":"com.example.orders.api.OrderController","thread_name":"http-nio-8080-exec-7","level":"INFO"}`, clock, message)
		}},
	} {
		b.Run(form.name, func(b *testing.B) {
			telling := []string{
				"Started OrdersApplication in 2.345 seconds (process running for 2.9)",
				"HikariPool-1 - Connection is not available, request timed out after 30000ms.",
				"2026-10-14T06:25:00Z: CircuitBreaker 'stock' changed state from CLOSED to OPEN",
				"order=17 work begun",
			}
			text := make([][]byte, 100_000)
			for i := range text {
				clock := time.Date(2026, 10, 14, 6, 0, 0, 0, time.UTC).Add(time.Duration(i) * 3 * time.Millisecond).Format("15:04:05.000")
				message := fmt.Sprintf("rid=1b4e28ba-2fa1-11d2-883f-%012x status=200 GET /v1/stores/%d 12ms", i, i%1000)
				switch {
				case i%100 == 0:
					message = telling[i/100%len(telling)]
				case i%20 == 1:
					message = fmt.Sprintf("rid=r1-%06d status=200 GET /v1/stores/17 12ms", i)
				}
				text[i] = []byte(form.line(clock, message))
			}
			in := interpreter(b, Config{Target: "api-1", Sets: Sets, LogMatch: answered, ReceivedMatch: received,
				Own: []Own{{Name: "work-began", Match: `^order=(?P<key>\S+) work begun$`, Event: "work.began"}}})
			b.ReportAllocs()
			before := spent(b)
			for b.Loop() {
				told := 0
				for range lines / len(text) {
					batch, state := NewBatch(), State{}
					for _, line := range text {
						in.Line(batch, &state, Line{Text: line})
					}
					told += len(batch.Steps) + len(batch.Signals)
				}
				if told != lines/100 {
					b.Fatalf("%d lines told something", told)
				}
			}
			b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(lines*b.N)/(spent(b)-before).Seconds(), "lines/cpu-s")
		})
	}
}

// spent is the processor time of this process, which says more than the clock on a
// machine that has other things to do.
func spent(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
