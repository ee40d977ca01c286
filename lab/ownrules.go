package lab

import (
	"time"

	"gapless/analysis"
)

// OwnRule suggests a log rule for the lab's own lines, as a configuration holds it.
type OwnRule struct {
	Name  string
	Match string // for a line's message; its groups fill the signal
	Event analysis.Event
}

// JourneySettings suggest a journey to follow.
type JourneySettings struct {
	Name    string
	Steps   []string
	Within  time.Duration
	Records []JourneyRecords
}

// JourneyRecords is a file in which a client wrote down its attempts.
type JourneyRecords struct{ Name, Path string }

// MetricsSettings suggest an endpoint at which a node tells of itself, and what to
// read there: the series by the gauge's role.
type MetricsSettings struct {
	Name, URL, Target string
	Every, Timeout    time.Duration
	Read              map[string]string
}

// scraped suggests the metrics of every node.
func (l *Lab) scraped(read map[string]string) []MetricsSettings {
	var all []MetricsSettings
	for _, node := range l.nodes {
		all = append(all, MetricsSettings{
			Name: "metrics-" + node.name, URL: "http://" + node.address + metricsPath, Target: node.name,
			Every: 250 * time.Millisecond, Timeout: time.Second, Read: read,
		})
	}
	return all
}
