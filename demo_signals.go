package main

import (
	"encoding/json"
	"path/filepath"

	"gapless/analysis"
	"gapless/collectors/gauges"
	"gapless/lab"
)

func ownRules(rules []lab.OwnRule) []logRuleFile {
	files := make([]logRuleFile, len(rules))
	for i, rule := range rules {
		files[i].own = ownRuleFile{Name: rule.Name, Match: rule.Match, Event: string(rule.Event)}
	}
	return files
}

// journeys follows the lab's business transactions, through what its clients wrote
// down and through the nodes' logs. find gives the path of a file as the
// configuration has it.
func journeys(settings lab.Settings, find func(path string) (string, error)) ([]journeyFile, error) {
	var files []journeyFile
	for _, j := range settings.Journeys {
		file := journeyFile{Name: j.Name, Steps: j.Steps, Within: j.Within.String()}
		for _, records := range j.Records {
			path, err := find(records.Path)
			if err != nil {
				return nil, err
			}
			file.Records = append(file.Records, journeyRecordsFile{Name: records.Name, Kind: "file", Path: path, Every: "200ms"})
		}
		for _, target := range settings.Targets { // each node's log has its target's name
			file.AppLogs = append(file.AppLogs, target.Name)
		}
		files = append(files, file)
	}
	return files, nil
}

func dependencies(settings lab.Settings) []dependencyFile {
	var files []dependencyFile
	for _, d := range settings.Dependencies {
		files = append(files, dependencyFile{Name: d.Name, PerSecond: d.PerSecond, InFlight: d.InFlight, Routes: d.Routes})
	}
	return files
}

// liveMetrics scrapes the nodes; keptMetrics reads what was scraped.
func liveMetrics(settings lab.Settings) []metricsFile {
	var files []metricsFile
	for _, m := range settings.Metrics {
		files = append(files, metricsFile{
			Name: m.Name, Kind: gauges.KindPrometheus, URL: m.URL, Target: m.Target, Every: m.Every.String(), Timeout: m.Timeout.String(), Read: m.Read,
		})
	}
	return files
}

func keptMetrics(settings lab.Settings) []metricsFile {
	var files []metricsFile
	for _, m := range settings.Metrics {
		files = append(files, metricsFile{Name: m.Name, Kind: gauges.KindFile, Path: keptScrapes(m.Name), Target: m.Target, Every: m.Every.String()})
	}
	return files
}

func keptScrapes(name string) string { return name + ".ndjson" }

// exportScrapes leaves every scrape of a source, those that failed too.
func exportScrapes(e *json.Encoder, source string, o analysis.Observations) error {
	values := map[int64][]analysis.Gauge{}
	for _, g := range o.Gauges {
		if g.Source == source {
			values[g.At.UnixMicro()] = append(values[g.At.UnixMicro()], g)
		}
	}
	for _, run := range o.Runs {
		if run.Source != source {
			continue
		}
		if err := e.Encode(gauges.RecordOf(run, values[run.To.UnixMicro()])); err != nil {
			return err
		}
	}
	return nil
}

// besides is the path of a file from the folder of a kept scenario.
func besides(dir string) func(path string) (string, error) {
	return func(path string) (string, error) { return filepath.Rel(dir, path) }
}
