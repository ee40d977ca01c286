// Package evidence writes and reads evidence bundles: one zip file with everything
// that the verdict on a deploy was reached from, for somebody who does not trust us.
//
// What belongs here: the form of every record, the zip around them, and the checks
// that a bundle is to the byte what was written. It does not judge: whoever reads a
// bundle judges its observations and holds the result against the report in it,
// with [Differences].
//
// A bundle has a fixed list of members in a fixed order, of which the last,
// manifest.json, names every other one with its size and SHA-256. The same
// observations and the same report give the same bytes. FORMAT.md, which is in every
// bundle, describes the form.
package evidence

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"gapless/analysis"
)

// Format is the number of the bundle's form.
const Format = 1

// Bounds of a bundle. They are far above what a deploy leaves, and keep a file that
// somebody made on purpose from taking all memory.
const (
	maxFile    = 1 << 30 // bytes of the zip
	maxContent = 1 << 30 // bytes of all members, uncompressed
	maxSmall   = 64 << 20
	maxLine    = 16 << 20 // bytes of one record
	maxRatio   = 500      // how far a member may be compressed; records reach 10 to 40
	freeRatio  = 1 << 20  // bytes below which a member's ratio does not matter
	maxKnown   = 1 << 26  // sequence numbers of known requests, which are written as spans
)

// Versions say what a bundle was made by.
type Versions struct {
	Bundle int    `json:"bundle"` // [Format]
	Binary string `json:"binary"`
	Go     string `json:"go"`
	Schema int    `json:"report_schema"`
}

// Names of the members that are not records.
const (
	formatName   = "FORMAT.md"
	versionsName = "versions.json"
	reportName   = "report.json"
	manifestName = "manifest.json"
)

//go:embed FORMAT.md
var formatText []byte

// member is a part of the bundle that holds observations. Its file has one JSON
// object a line.
type member struct {
	name  string
	write func(w *lineWriter, o *analysis.Observations) error
	read  func(r *lineReader, o *analysis.Observations) error
}

// members hold, together, all observations.
var members = []member{
	single("deploy.json", deployOf, deployRecord.deploy,
		func(o *analysis.Observations) analysis.Deploy { return o.Deploy },
		func(o *analysis.Observations, d analysis.Deploy) { o.Deploy = d }),
	single("window.json", windowRecordOf, windowRecord.window, windowOf, setWindow),
	single("service.json", serviceOf, serviceRecord.service,
		func(o *analysis.Observations) analysis.Service { return o.Service },
		func(o *analysis.Observations, s analysis.Service) { o.Service = s }),
	lines("neighbors.ndjson", deployOf, deployRecord.deploy, func(o *analysis.Observations) *[]analysis.Deploy { return &o.Neighbors }),
	lines("claims.ndjson", claimOf, claimRecord.claim, func(o *analysis.Observations) *[]analysis.TypedClaim { return &o.Claims }),
	lines("steps.ndjson", stepOf, stepRecord.step, func(o *analysis.Observations) *[]analysis.Step { return &o.Steps }),
	lines("groups.ndjson", groupOf, groupRecord.group, func(o *analysis.Observations) *[]analysis.GroupSettings { return &o.Groups }),
	lines("states.ndjson", stateOf, stateRecord.state, func(o *analysis.Observations) *[]analysis.StateSample { return &o.States }),
	lines("checks.ndjson", checkOf, checkRecord.check, func(o *analysis.Observations) *[]analysis.HealthCheckResult { return &o.Checks }),
	lines("metrics.ndjson", metricOf, metricRecord.metric, func(o *analysis.Observations) *[]analysis.MetricSum { return &o.Metrics }),
	lines("runs.ndjson", runOf, runRecord.run, func(o *analysis.Observations) *[]analysis.Run { return &o.Runs }),
	lines("objects.ndjson", objectOf, objectRecord.object, func(o *analysis.Observations) *[]analysis.Object { return &o.Objects }),
	lines("cells.ndjson", cellOf, cellRecord.cell, func(o *analysis.Observations) *[]analysis.Cell { return &o.Cells }),
	lines("latencies.ndjson", latenciesOf, latenciesRecord.latencies, func(o *analysis.Observations) *[]analysis.Latencies { return &o.Latencies }),
	lines("requests.ndjson", requestOf, requestRecord.request, func(o *analysis.Observations) *[]analysis.Request { return &o.Requests }),
	lines("known.ndjson", knownOf, knownRecord.known, func(o *analysis.Observations) *[]analysis.KnownRequests { return &o.Known }),
	lines("probes.ndjson", probeOf, probeRecord.probe, func(o *analysis.Observations) *[]analysis.ProbeRequest { return &o.Probes }),
	lines("handled.ndjson", handledOf, handledRecord.handled, func(o *analysis.Observations) *[]analysis.HandledRequest { return &o.Handled }),
	lines("signals.ndjson", signalOf, signalRecord.signal, func(o *analysis.Observations) *[]analysis.Signal { return &o.Signals }),
	lines("journeys.ndjson", journeyStepOf, journeyStepRecord.step, func(o *analysis.Observations) *[]analysis.JourneyStep { return &o.Journeys }),
	lines("gauges.ndjson", gaugeOf, gaugeRecord.gauge, func(o *analysis.Observations) *[]analysis.Gauge { return &o.Gauges }),
	lines("background.ndjson", backgroundOf, backgroundRecord.background, func(o *analysis.Observations) *[]analysis.BackgroundCount { return &o.Background }),
	lines("ejections.ndjson", ejectionOf, ejectionRecord.ejection, func(o *analysis.Observations) *[]analysis.PastEjection { return &o.Ejections }),
	lines("counts.ndjson", countOf, countRecord.count, func(o *analysis.Observations) *[]analysis.RuleCount { return &o.Counts }),
}

// others are the members without observations that come after those with them.
var others = []string{versionsName, reportName, formatName}

// single is a member with exactly one record.
func single[T, R any](name string, of func(*T) (R, error), back func(R, *lineReader) (T, error),
	get func(*analysis.Observations) T, set func(*analysis.Observations, T)) member {
	return member{
		name: name,
		write: func(w *lineWriter, o *analysis.Observations) error {
			value := get(o)
			return writeRecord(w, &value, of)
		},
		read: func(r *lineReader, o *analysis.Observations) error {
			value, ok, err := readRecord(r, of, back)
			switch {
			case err != nil:
				return err
			case !ok:
				return errors.New("it is empty")
			}
			set(o, value)
			if _, ok, err = readRecord(r, of, back); err == nil && ok {
				err = errors.New("it has more than one record")
			}
			return err
		},
	}
}

// lines is a member with any number of records.
func lines[T, R any](name string, of func(*T) (R, error), back func(R, *lineReader) (T, error), field func(*analysis.Observations) *[]T) member {
	return member{
		name: name,
		write: func(w *lineWriter, o *analysis.Observations) error {
			all := *field(o)
			for i := range all {
				if err := writeRecord(w, &all[i], of); err != nil {
					return fmt.Errorf("record %d: %w", i+1, err)
				}
			}
			return nil
		},
		read: func(r *lineReader, o *analysis.Observations) error {
			all := field(o)
			*all = slices.Grow(*all, r.records)
			for {
				value, ok, err := readRecord(r, of, back)
				if err != nil || !ok {
					return err
				}
				*all = append(*all, value)
			}
		},
	}
}
