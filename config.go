package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/collectors/applog"
	"gapless/collectors/applog/logrules"
	"gapless/collectors/cloudwatch"
	"gapless/collectors/gauges"
	"gapless/collectors/journey"
	"gapless/collectors/loki"
	"gapless/collectors/loki/publish"
	"gapless/collectors/probe"
	"gapless/collectors/steps"
	"gapless/collectors/targethealth"
)

// config is a checked configuration: every path is absolute, every duration set,
// every secret read.
type config struct {
	sha256    string // of the file's bytes, in hex; empty where there is no file
	listen    string
	hosts     []string // names that the server is reached by, besides this machine's own
	db        string
	zone      *time.Location // display only
	retention time.Duration
	token     string          // for write calls; empty: none needed
	password  string          // for the pages; empty: none needed
	publish   *publish.Config // who is told of deploys and verdicts; nil: nobody
	services  []serviceConfig
	// noSources: no file named any source, now or later, so that there is nothing to
	// make a retrospective from.
	noSources bool
}

// Defaults of the configuration, as CONTRACT's example shows them.
const (
	defaultListen    = "127.0.0.1:8080"
	defaultDB        = "gapless.db"
	defaultRetention = 90 * 24 * time.Hour
	defaultBaseline  = 5 * time.Minute
	defaultTail      = 10 * time.Minute
	defaultSettle    = 15 * time.Minute
	defaultMax       = 2 * time.Hour
	defaultPoll      = 5 * time.Second
	defaultLogEvery  = 30 * time.Second

	defaultFollowEvery = 5 * time.Second
	defaultProbe       = time.Second
	defaultTimeout     = 5 * time.Second
)

// environment looks up a variable; empty where it is not set.
type environment func(name string) string

// noConfig is the configuration of a server that was given no file: a console
// without services, into which deploys may still be told.
func noConfig(env environment) *config {
	return &config{
		listen: defaultListen, db: defaultDB, zone: time.UTC, retention: defaultRetention,
		token: env("GAPLESS_TOKEN"), password: env("GAPLESS_PASSWORD"),
	}
}

// loadConfig reads and checks a configuration file. Its error lists every problem
// found, one a line, each with the file's name and line.
func loadConfig(path string, env environment) (*config, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return parseConfig(path, body, env)
}

// parseConfig is [loadConfig] with the file's content at hand; path decides what
// relative paths in it are relative to.
func parseConfig(path string, body []byte, env environment) (*config, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("find the folder of %s: %w", path, err)
	}
	tree, err := parser.ParseBytes(body, 0)
	if err != nil {
		if tab := tabProblem(path, body); tab != nil {
			return nil, tab
		}
		return nil, yamlProblem(path, tree, err)
	}
	if isEmpty(tree) {
		return nil, fmt.Errorf("%s: the file configures nothing; allowed: services and the keys around them (the README has an example)", path)
	}
	var file configFile
	if err := yaml.NewDecoder(strings.NewReader(string(body)), yaml.Strict()).Decode(&file); err != nil {
		return nil, yamlProblem(path, tree, err)
	}
	sum := sha256.Sum256(body)
	c := &checker{file: path, dir: dir, tree: tree, env: env}
	checked := c.config(&file)
	checked.sha256 = hex.EncodeToString(sum[:])
	for i := range checked.services {
		checked.services[i].configSHA256 = checked.sha256
	}
	if len(c.problems) > 0 {
		return nil, errors.Join(c.problems...)
	}
	return checked, nil
}

// service finds a service by its name; the error lists those that there are.
func (c *config) service(name string) (*serviceConfig, error) {
	names := make([]string, len(c.services))
	for i := range c.services {
		if c.services[i].Name == name {
			return &c.services[i], nil
		}
		names[i] = c.services[i].Name
	}
	return nil, fmt.Errorf("no service %q in the configuration; it has %s", name, strings.Join(names, ", "))
}

// serviceConfig is one service with the collectors that watch it.
type serviceConfig struct {
	analysis.Service
	configSHA256    string // of the file it came from
	requestIDHeader string // that probes send and applications log; empty: X-Request-Id
	accessLogs      []accesslog.Config
	cloudWatches    []cloudwatch.Config
	gauges          []gauges.Config
	gaugeFiles      []gauges.FileConfig
	journeyRecords  []journey.Config
	states          []targethealth.Config
	appLogs         []applog.Config
	lines           logrules.Config // what is looked for in the lines of any application log
	lokiLogs        []loki.Config
	probes          []probe.Config
	records         []probe.FileConfig
	steps           []steps.Config
}

// yamlProblem words an error of the YAML library as one of ours: with the line, the
// path where the tree has one, the value, and what is allowed.
func yamlProblem(path string, tree *ast.File, err error) error {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	at := known.GetToken()
	where := fmt.Sprintf("%s:%d", path, at.Position.Line)
	if key := pathAt(tree, at.Position); key != "" {
		where += ": " + key
	}
	var unknown *yaml.UnknownFieldError
	var mistyped *yaml.TypeError
	switch {
	case errors.As(err, &unknown):
		parent := strings.TrimSuffix(strings.TrimSuffix(pathAt(tree, at.Position), at.Value), ".")
		allowed := ""
		if keys := allowedKeys(parent); len(keys) > 0 {
			allowed = "; allowed: " + strings.Join(keys, ", ")
		}
		return fmt.Errorf("%s: unknown key %q%s", where, at.Value, allowed)
	case errors.As(err, &mistyped) && mistyped.DstType != nil:
		return fmt.Errorf("%s: %q cannot stand here; allowed: %s", where, at.Value, kindName(mistyped.DstType.Kind()))
	}
	return fmt.Errorf("%s: %q: %s", where, at.Value, known.GetMessage())
}

// kindName says what a value of a Go kind is in a file.
func kindName(kind reflect.Kind) string {
	switch kind {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping of keys and values"
	}
	return "text"
}

// pathAt is the path of the key or value at a position, as [checker.wrong] writes it;
// empty where there is none.
func pathAt(tree *ast.File, at *token.Position) string {
	if tree == nil {
		return ""
	}
	found := &finder{at: at}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			ast.Walk(found, doc.Body)
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(found.path, "$"), ".")
}

type finder struct {
	at   *token.Position
	path string
}

// Visit implements ast.Visitor.
func (f *finder) Visit(node ast.Node) ast.Visitor {
	if t := node.GetToken(); t != nil && t.Position.Line == f.at.Line && t.Position.Column == f.at.Column && node.GetPath() != "" {
		f.path = node.GetPath()
	}
	return f
}

func isEmpty(tree *ast.File) bool {
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			return false
		}
	}
	return true
}
