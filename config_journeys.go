package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
	"gapless/collectors/journey"
)

const defaultWithin = 30 * time.Second

// journeys converts the business transactions that take several requests.
func (c *checker) journeys(path string, files []journeyFile, s *serviceConfig, sources namesSeen) {
	names := namesSeen{}
	for i := range files {
		at := fmt.Sprintf("%s[%d]", path, i)
		file := &files[i]
		c.name(at+".name", file.Name, "journey", names)
		if len(file.Steps) < 2 {
			c.wrong(at+".steps", "%d steps are no journey; allowed: the names of two or more steps, in their order", len(file.Steps))
		}
		steps := namesSeen{}
		for j, step := range file.Steps {
			c.name(fmt.Sprintf("%s.steps[%d]", at, j), step, "step", steps)
		}
		one := analysis.Journey{Name: file.Name, Steps: file.Steps, Within: c.duration(at+".within", file.Within, defaultWithin, 10*time.Millisecond)}
		for j := range file.Records {
			records, place := &file.Records[j], fmt.Sprintf("%s.records[%d]", at, j)
			c.name(place+".name", records.Name, "source", sources)
			c.oneOf(place+".kind", records.Kind, "", fileKinds, nil)
			c.required(place+".path", records.Path, "a file of lines with journey, key, step, at and outcome")
			one.Sources = append(one.Sources, records.Name)
			s.journeyRecords = append(s.journeyRecords, journey.Config{
				Service: s.Name, Source: records.Name, Path: c.path(records.Path), Journey: file.Name, Steps: file.Steps,
				Every: c.duration(place+".every", records.Every, time.Second, 10*time.Millisecond),
			})
		}
		for j, name := range file.AppLogs {
			if !slices.ContainsFunc(s.AppLogs, func(l analysis.AppLog) bool { return l.Name == name }) {
				c.wrong(fmt.Sprintf("%s.app_logs[%d]", at, j), "%q is no application log of this service; allowed: %s", name, strings.Join(appLogNames(s), ", "))
			}
			one.Sources = append(one.Sources, name)
		}
		if len(one.Sources) == 0 {
			c.wrong(at, "nothing tells its steps; allowed: records, or app_logs whose log_rules give the event journey.step, or both")
		}
		s.Journeys = append(s.Journeys, one)
	}
}

func appLogNames(s *serviceConfig) []string {
	names := make([]string, len(s.AppLogs))
	for i := range s.AppLogs {
		names[i] = s.AppLogs[i].Name
	}
	return names
}
