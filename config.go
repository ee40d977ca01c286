package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"gapless/analysis"
	"gapless/collectors/accesslog"
	"gapless/collectors/applog"
	"gapless/collectors/probe"
	"gapless/collectors/steps"
	"gapless/collectors/targethealth"
)

// config is a checked configuration: every path is absolute, every duration set,
// every secret read.
type config struct {
	sha256    string // of the file's bytes, in hex; empty where there is no file
	listen    string
	db        string
	zone      *time.Location // display only
	retention time.Duration
	token     string // for write calls; empty: none needed
	password  string // for the pages; empty: none needed
	services  []serviceConfig
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
	defaultProbe     = time.Second
	defaultTimeout   = 5 * time.Second
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
		return nil, yamlProblem(path, err)
	}
	var file configFile
	if err := yaml.NewDecoder(strings.NewReader(string(body)), yaml.Strict()).Decode(&file); err != nil && !isEmpty(tree) {
		return nil, yamlProblem(path, err)
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
	states          []targethealth.Config
	appLogs         []applog.Config
	probes          []probe.Config
	records         []probe.FileConfig
	steps           []steps.Config
}

// yamlProblem words an error of the YAML library with file and line.
func yamlProblem(path string, err error) error {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) && unknown.Token != nil {
		return fmt.Errorf("%s:%d: unknown key %q", path, unknown.Token.Position.Line, unknown.Token.Value)
	}
	var known yaml.Error
	if errors.As(err, &known) && known.GetToken() != nil {
		token := known.GetToken()
		return fmt.Errorf("%s:%d: %q: %s", path, token.Position.Line, token.Value, known.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}

func isEmpty(tree *ast.File) bool {
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			return false
		}
	}
	return true
}
