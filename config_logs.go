package main

import (
	"errors"
	"fmt"
	pathpkg "path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"gapless/analysis"
	"gapless/collectors/applog"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/loki"
)

// logRuleFile is one element of log_rules: the name of a set, or a rule.
type logRuleFile struct {
	set string // empty: the rule
	own ownRuleFile
}

type ownRuleFile struct {
	Name    string            `yaml:"name,omitempty"`
	Match   string            `yaml:"match,omitempty"`
	Event   string            `yaml:"event,omitempty"`
	Step    string            `yaml:"step,omitempty"`
	Target  string            `yaml:"target,omitempty"`
	Journey string            `yaml:"journey,omitempty"`
	Values  map[string]string `yaml:"values,omitempty"`
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (f *logRuleFile) UnmarshalYAML(node ast.Node) error {
	switch node.Type() {
	case ast.MappingType, ast.MappingValueType:
		return yaml.NodeToValue(node, &f.own, yaml.Strict())
	}
	return yaml.NodeToValue(node, &f.set, yaml.Strict())
}

// MarshalYAML implements yaml.InterfaceMarshaler.
func (f logRuleFile) MarshalYAML() (any, error) {
	if f.set != "" {
		return f.set, nil
	}
	return f.own, nil
}

// ruleSets are elements of log_rules that name sets.
func ruleSets(names []string) []logRuleFile {
	rules := make([]logRuleFile, len(names))
	for i, name := range names {
		rules[i].set = name
	}
	return rules
}

// lineRules converts what is to be looked for in the lines of every application log
// of a service.
func (c *checker) lineRules(path string, file *serviceFile) logrules.Config {
	lines := logrules.Config{LogMatch: file.RequestID.LogMatch, ReceivedMatch: file.RequestID.ReceivedMatch}
	if file.RequestID.LogMatch != "" {
		c.group(path+".request_id.log_match", file.RequestID.LogMatch)
	}
	if file.RequestID.ReceivedMatch != "" {
		c.group(path+".request_id.received_match", file.RequestID.ReceivedMatch)
	}
	seen := map[string]bool{}
	for i, rule := range file.LogRules {
		at := fmt.Sprintf("%s.log_rules[%d]", path, i)
		name := rule.own.Name
		if rule.set != "" {
			name = c.oneOf(at, rule.set, "", logrules.Sets, nil)
			lines.Sets = append(lines.Sets, name)
		} else {
			own := logrules.Own(rule.own)
			for _, problem := range own.Check() {
				field, key := &logrules.FieldError{}, ""
				if errors.As(problem, &field) {
					key = "." + field.Key
				}
				c.wrong(at+key, "%s", strings.TrimPrefix(problem.Error(), field.Key+": "))
			}
			if own.Target != "" && !slices.Contains(targetNames(file), own.Target) {
				c.wrong(at+".target", "%q is no target of this service; allowed: %s", own.Target, strings.Join(targetNames(file), ", "))
			}
			lines.Own = append(lines.Own, own)
		}
		if name != "" && seen[name] {
			c.wrong(at, "%q is there twice; allowed: each set once, and names that no other rule has", name)
		}
		seen[name] = true
	}
	return lines
}

func targetNames(file *serviceFile) []string {
	names := make([]string, len(file.Targets))
	for i, target := range file.Targets {
		names[i] = target.Name
	}
	return names
}

// appLogs converts the application logs with what is to be looked for in them.
func (c *checker) appLogs(path string, file *serviceFile, s *serviceConfig, sources namesSeen) {
	lines := c.lineRules(path, file)
	s.lines = lines
	if len(file.AppLogs) > 0 {
		s.LogRules = lines.Gives()
	}
	s.requestIDHeader = file.RequestID.Header
	for i := range file.AppLogs {
		at := fmt.Sprintf("%s.app_logs[%d]", path, i)
		log := &file.AppLogs[i]
		c.name(at+".name", log.Name, "source", sources)
		lines := lines
		lines.Zone = c.zone(at+".zone", log.Zone)
		lines.TimeFormat = c.timeFormat(at, log)
		if lines.Objects = log.Objects; log.Objects && !slices.Contains(lines.Sets, logrules.SetJSON) {
			c.wrong(at+".objects", "stands without the set %s, which reads JSON objects; allowed: true with %s among log_rules, or nothing", logrules.SetJSON, logrules.SetJSON)
		}
		kind := c.oneOf(at+".kind", log.Kind, "", appLogKinds, nil)
		switch kind {
		case applog.KindFile, applog.KindJournal, applog.KindContainer:
			c.fileLog(at, kind, file, log, lines, s)
		case loki.Kind:
			c.lokiLog(at, file, log, lines, s)
		default:
			continue
		}
		s.AppLogs = append(s.AppLogs, analysis.AppLog{Name: log.Name, Kind: kind, Target: log.Target})
	}
}

// fileLog converts a log that is read from files, or a journal from a pipe.
func (c *checker) fileLog(path, kind string, file *serviceFile, log *appLogFile, lines logrules.Config, s *serviceConfig) {
	c.only(path, kind, "loki", "query", log.Query, "tenant", log.Tenant, "user", log.User,
		"password_file", log.PasswordFile, "token_file", log.TokenFile, "delay", log.Delay, "late", log.Late)
	if log.Limit != 0 {
		c.wrong(path+".limit", "%d stands in an entry of kind %s; it belongs to kind loki", log.Limit, kind)
	}
	switch kind {
	case applog.KindFile:
		c.only(path, kind, "loki, journal, container", "target_label", log.TargetLabel)
	case applog.KindContainer:
		c.only(path, kind, "file, journal", "unit", log.Unit)
	case applog.KindJournal:
		if log.Unit == "" && log.TargetLabel != applog.LabelUnit {
			c.wrong(path+".unit", "missing; allowed: the systemd unit whose entries are read, such as orders.service or 'orders@*.service', or target_label: unit")
		}
	}
	if _, err := pathpkg.Match(log.Unit, ""); err != nil {
		c.wrong(path+".unit", "%q is no pattern; allowed: a systemd unit, in which * stands for any text and ? for a character", log.Unit)
	}
	cfg := applog.Config{
		Service: s.Name, Source: log.Name, Kind: kind, URL: log.URL, TargetLabel: log.TargetLabel, Targets: targetNames(file),
		Every: c.duration(path+".every", log.Every, time.Second, 10*time.Millisecond), Lines: lines,
	}
	if kind != applog.KindJournal || log.URL != applog.Standard {
		cfg.URL = c.location(path+".url", log.URL, false)
	}
	cfg.Lines.Target, cfg.Lines.Unit = log.Target, log.Unit
	cfg.TargetMatch = c.targetMatch(path, file, log)
	s.appLogs = append(s.appLogs, cfg)
}

// targetMatch says who writes a log: one target, a part of each file's name, or a
// label. It returns the pattern for the files' names.
func (c *checker) targetMatch(path string, file *serviceFile, log *appLogFile) *regexp.Regexp {
	names := strings.Join(targetNames(file), ", ")
	said := 0
	for _, value := range []string{log.Target, log.TargetMatch, log.TargetLabel} {
		if value != "" {
			said++
		}
	}
	switch {
	case said > 1:
		c.wrong(path, "target, target_match and target_label each say who writes the log; allowed: one of them")
	case said == 0:
		c.wrong(path+".target", "missing; allowed: %s, or target_match where the files' names tell, or target_label (of a journal or container)", names)
	case log.Target != "" && !slices.Contains(targetNames(file), log.Target):
		c.wrong(path+".target", "%q is no target of this service; allowed: %s", log.Target, names)
	}
	if log.TargetMatch == "" {
		return nil
	}
	match := c.regexp(path+".target_match", log.TargetMatch)
	if match != nil && match.SubexpIndex("target") < 0 {
		c.wrong(path+".target_match", "%q has no group for the target; allowed: a regular expression for a file's path with (?P<target>…)", log.TargetMatch)
		return nil
	}
	return match
}

// timeFormat reads how the lines of a log write their times; nil is the usual ways.
func (c *checker) timeFormat(path string, log *appLogFile) *logrules.TimeFormat {
	if log.TimeFormat == "" {
		if log.TimeMatch != "" {
			c.wrong(path+".time_match", "%q needs a time_format beside it; allowed: both or none", log.TimeMatch)
		}
		return nil
	}
	format, err := logrules.NewTimeFormat(log.TimeFormat, log.TimeMatch)
	if field, ok := errors.AsType[*logrules.FieldError](err); ok {
		c.wrong(path+"."+field.Key, "%s", field.Text)
	}
	return format
}

// group checks a pattern that has to find a request's id.
func (c *checker) group(path, pattern string) {
	compiled := c.regexp(path, pattern)
	if compiled != nil && !slices.Contains(compiled.SubexpNames(), "id") {
		c.wrong(path, "%q has no group for the id; allowed: a regular expression with (?P<id>…)", pattern)
	}
}
