package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// checker turns the shapes of the file into a checked configuration and collects
// what is wrong on the way, rather than stopping at the first problem.
type checker struct {
	file     string
	dir      string // that relative paths are relative to
	tree     *ast.File
	env      environment
	problems []error
}

// wrong records that the value at a path is not allowed. The path is that of the
// key, without a leading "$": services[0].window.tail.
func (c *checker) wrong(path, format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf("%s:%d: %s: %s", c.file, c.line(path), path, fmt.Sprintf(format, args...)))
}

// line is the line of the value at a path, or of the nearest thing around it that
// the file does have, for what is missing; 1 where there is nothing.
func (c *checker) line(path string) int {
	for path != "" {
		if parsed, err := yaml.PathString("$." + path); err == nil {
			if node, err := parsed.FilterFile(c.tree); err == nil && node != nil && node.GetToken() != nil {
				return firstLine(node)
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// firstLine is where a node begins. A mapping's own token is the colon of its
// first entry, which stands on the right line in block and in flow style.
func firstLine(node ast.Node) int { return node.GetToken().Position.Line }

// duration reads an optional duration; least is the smallest value allowed.
func (c *checker) duration(path, value string, otherwise, least time.Duration) time.Duration {
	if value == "" {
		return otherwise
	}
	d, err := parseDuration(value)
	if err != nil {
		c.wrong(path, "%v; allowed: %s", err, durationsAllowed)
		return otherwise
	}
	if d < least {
		c.wrong(path, "%q is too short; allowed: %s or more", value, least)
		return otherwise
	}
	return d
}

// oneOf checks a word against a closed list. A word that is reserved for later is
// told apart from one that never was anything.
func (c *checker) oneOf(path, value, otherwise string, allowed, reserved []string) string {
	switch {
	case value == "" && otherwise != "":
		return otherwise
	case slices.Contains(allowed, value):
		return value
	case slices.Contains(reserved, value):
		c.wrong(path, "%q is not supported yet; supported: %s", value, strings.Join(allowed, ", "))
	default:
		c.wrong(path, "%q is not one of the values allowed: %s", value, strings.Join(allowed, ", "))
	}
	return otherwise
}

// required complains about an empty value and says what belongs there.
func (c *checker) required(path, value, what string) {
	if value == "" {
		c.wrong(path, "missing; allowed: %s", what)
	}
}

// path makes a file's path absolute, relative to the configuration file.
func (c *checker) path(value string) string {
	if value == "" || filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(c.dir, filepath.FromSlash(value))
}

// fileURL makes a file:// URL absolute: file:///var/log stays, file://logs and a
// plain path are relative to the configuration file. A "*" in the name is kept.
func (c *checker) fileURL(value string) string {
	return "file://" + filepath.ToSlash(c.path(strings.TrimPrefix(value, "file://")))
}

// location checks the place of a log: a file, or (where s3 is allowed) a bucket.
func (c *checker) location(path, value string, s3 bool) string {
	allowed := "file:///folder, or a path relative to this file as file://folder"
	if s3 {
		allowed = "s3://bucket/prefix, " + allowed
	}
	scheme, rest, ok := strings.Cut(value, "://")
	switch {
	case value == "":
		c.wrong(path, "missing; allowed: %s", allowed)
	case !ok || scheme == "file":
		if rest == "" && ok {
			c.wrong(path, "%q names no file; allowed: %s", value, allowed)
			break
		}
		return c.fileURL(value)
	case s3 && scheme == "s3":
		if bucket, _, _ := strings.Cut(rest, "/"); bucket == "" {
			c.wrong(path, "%q names no bucket; allowed: %s", value, allowed)
		}
		return value
	default:
		c.wrong(path, "%q cannot be read; allowed: %s", value, allowed)
	}
	return ""
}

// webURL checks an absolute http or https URL.
func (c *checker) webURL(path, value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		c.wrong(path, "%q is not a URL; allowed: http://host/path or https://host/path", value)
	}
	return value
}

// secret reads a secret from a file, else from the environment. Its value is never
// part of a message.
func (c *checker) secret(path, file, variable string) string {
	if file == "" {
		return c.env(variable)
	}
	body, err := os.ReadFile(c.path(file))
	if err != nil {
		c.wrong(path, "%q cannot be read: %v; allowed: a file that holds the secret alone", file, err)
		return ""
	}
	value := strings.TrimSpace(string(body))
	if value == "" {
		c.wrong(path, "%q is empty; allowed: a file that holds the secret alone", file)
	}
	return value
}
