package main

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"gapless/collectors/applog/logrules"
	"gapless/collectors/loki"
	"gapless/collectors/loki/publish"
)

// lokiLog converts a log that is read from a Loki.
func (c *checker) lokiLog(path string, file *serviceFile, log *appLogFile, lines logrules.Config, s *serviceConfig) {
	c.only(path, log.Kind, "file", "target_match", log.TargetMatch, "zone", log.Zone)
	cfg := loki.Config{
		Service: s.Name, Source: log.Name, URL: c.lokiURL(path+".url", log.URL), Query: log.Query, Tenant: c.headerValue(path+".tenant", log.Tenant),
		TargetLabel: log.TargetLabel, User: log.User,
		Every: c.duration(path+".every", log.Every, loki.DefaultEvery, 100*time.Millisecond),
		Delay: c.duration(path+".delay", log.Delay, loki.DefaultDelay, 0),
		Late:  c.duration(path+".late", log.Late, loki.DefaultLate, time.Second),
		Limit: log.Limit, Rules: lines,
	}
	if cfg.Delay == 0 {
		cfg.Delay = -1 // none, where the package takes 0 for its default
	}
	cfg.Rules.Target, cfg.Rules.Unit = log.Target, log.Unit
	switch query := strings.TrimSpace(log.Query); {
	case query == "":
		c.wrong(path+".query", `missing; allowed: a LogQL query for lines, such as {app="orders"}`)
	case !strings.HasPrefix(query, "{"):
		c.wrong(path+".query", `%q gives no lines; allowed: a LogQL query that begins with its labels, such as {app="orders"}`, query)
	}
	names := targetNames(file)
	switch {
	case log.TargetLabel != "" && log.Target != "":
		c.wrong(path+".target_label", "%q stands beside target %q; allowed: one of the two", log.TargetLabel, log.Target)
	case log.Target != "" && !slices.Contains(names, log.Target):
		c.wrong(path+".target", "%q is no target of this service; allowed: %s, or target_label where a label tells", log.Target, strings.Join(names, ", "))
	}
	if log.Limit < 0 {
		c.wrong(path+".limit", "%d is no number of lines; allowed: 1 or more, by default %d", log.Limit, loki.DefaultLimit)
	}
	cfg.User, cfg.Password, cfg.Token = c.credentials(path, log.User, log.PasswordFile, log.TokenFile)
	s.lokiLogs = append(s.lokiLogs, cfg)
}

// lokiURL checks where a Loki is: up to what comes before /loki/api.
func (c *checker) lokiURL(path, value string) string {
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil:
		c.wrong(path, "there is a user or a password in it; allowed: user, and password_file with a file that holds the password alone")
	case err == nil && (u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "/loki/api")):
		c.wrong(path, "%q is more than is needed; allowed: what comes before /loki/api, such as http://loki:3100", value)
	default:
		return c.webURL(path, value)
	}
	return ""
}

// headerValue checks a text that is sent as a header.
func (c *checker) headerValue(path, value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		c.wrong(path, "%q has control characters; allowed: printable text", value)
	}
	return value
}

// credentials are what a server is told: a user with a password, or a token.
func (c *checker) credentials(path, user, passwordFile, tokenFile string) (name, password, token string) {
	switch {
	case user != "" && passwordFile == "":
		c.wrong(path+".password_file", "missing beside user %q; allowed: a file that holds the password alone", user)
	case user == "" && passwordFile != "":
		c.wrong(path+".password_file", "%q stands without a user; allowed: both or none", passwordFile)
	case user != "" && tokenFile != "":
		c.wrong(path+".token_file", "%q stands beside user %q; allowed: one of the two", tokenFile, user)
	case user != "":
		return user, c.secret(path+".password_file", passwordFile, ""), ""
	case tokenFile != "":
		return "", "", c.secret(path+".token_file", tokenFile, "")
	}
	return "", "", ""
}

// publishLoki converts where deploys and verdicts are told to.
func (c *checker) publishLoki(path string, file *publishLokiFile) *publish.Config {
	if file == nil {
		return nil
	}
	cfg := &publish.Config{URL: c.lokiURL(path+".url", file.URL), Tenant: c.headerValue(path+".tenant", file.Tenant), Labels: file.Labels}
	cfg.User, cfg.Password, cfg.Token = c.credentials(path, file.User, file.PasswordFile, file.TokenFile)
	for _, name := range slices.Sorted(maps.Keys(file.Labels)) {
		switch at := path + ".labels." + name; {
		case slices.Contains(publish.OwnLabels, name):
			c.wrong(at, "%q is a label that every marker has; allowed: other names than %s", name, strings.Join(publish.OwnLabels, ", "))
		case !labelName.MatchString(name):
			c.wrong(path+".labels", "%q is no name for a label; allowed: letters, digits and _, and no digit at its start", name)
		case file.Labels[name] == "":
			c.wrong(at, "it is empty; allowed: a text")
		default:
			c.headerValue(at, file.Labels[name])
		}
	}
	return cfg
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
