package analysis

import (
	"fmt"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Classifier tells the class, route and target name of logged requests. It is
// built once per service and safe for concurrent use.
type Classifier struct {
	rules   []classRule
	routes  []compiledRoute
	targets map[string]string
}

type classRule struct {
	class  Class
	rule   TrafficRule
	prefix netip.Prefix // valid where rule.Client is set
}

type compiledRoute struct {
	name   string
	match  *regexp.Regexp
	prefix string // what the path must begin with, where the pattern says no more than that; else empty
}

// matches asks the pattern, or its prefix where that is the same.
func (r *compiledRoute) matches(path string) bool {
	if r.prefix != "" {
		return strings.HasPrefix(path, r.prefix)
	}
	return r.match.MatchString(path)
}

// prefixOf is the text of a pattern of the form ^text, else empty.
func prefixOf(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	parsed = parsed.Simplify()
	if parsed.Op != syntax.OpConcat || len(parsed.Sub) != 2 || parsed.Sub[0].Op != syntax.OpBeginText {
		return ""
	}
	if text := parsed.Sub[1]; text.Op == syntax.OpLiteral && text.Flags&syntax.FoldCase == 0 {
		return string(text.Rune)
	}
	return ""
}

// OtherRoute is the route of a path that no configured route matches.
const OtherRoute = "other"

// NewClassifier compiles a service's rules. Errors name the rule and its value.
func NewClassifier(s Service) (*Classifier, error) {
	c := &Classifier{targets: map[string]string{}}
	for _, group := range []struct {
		class Class
		rules []TrafficRule
	}{{ClassProbe, s.Traffic.Probe}, {ClassHealth, s.Traffic.Health}, {ClassTool, s.Traffic.Tool}} {
		for _, rule := range group.rules {
			compiled := classRule{class: group.class, rule: rule}
			if rule == (TrafficRule{}) {
				return nil, fmt.Errorf("traffic %s: a rule without keys would claim every request", group.class)
			}
			if rule.Client != "" {
				prefix, err := parsePrefix(rule.Client)
				if err != nil {
					return nil, fmt.Errorf("traffic %s: client %q is neither an address nor a CIDR: %w", group.class, rule.Client, err)
				}
				compiled.prefix = prefix
			}
			c.rules = append(c.rules, compiled)
		}
	}
	for _, route := range s.Routes {
		match, err := regexp.Compile(route.Match)
		if err != nil {
			return nil, fmt.Errorf("route %s: match %q: %w", route.Name, route.Match, err)
		}
		c.routes = append(c.routes, compiledRoute{route.Name, match, prefixOf(route.Match)})
	}
	bare := map[string]int{}
	for _, target := range s.Targets {
		c.targets[target.Address] = target.Name
		_, port, _ := cutPort(target.Address)
		for _, alias := range target.Aliases {
			c.targets[alias] = target.Name
			if _, _, has := cutPort(alias); !has {
				bare[alias]++
				if port != "" {
					c.targets[alias+":"+port] = target.Name
				}
			}
		}
	}
	for alias, n := range bare {
		if n > 1 { // a bare alias counts only where a single target has it
			delete(c.targets, alias)
		}
	}
	return c, nil
}

// Class says whose request it was, by its user agent, its path (any query is
// ignored) and its client's address; each as the log shows it.
func (c *Classifier) Class(userAgent, path, client string) Class {
	path, _, _ = strings.Cut(path, "?")
	for i := range c.rules {
		rule := &c.rules[i]
		if !strings.HasPrefix(userAgent, rule.rule.UserAgentPrefix) {
			continue
		}
		if rule.rule.Path != "" && rule.rule.Path != path {
			continue
		}
		if rule.prefix.IsValid() {
			address, _ := netip.ParseAddr(client) // what is no address is the zero one, which lies in no network
			if !rule.prefix.Contains(address.Unmap()) {
				continue
			}
		}
		return rule.class
	}
	return ClassUser
}

// Route names the first route whose pattern matches the path, else [OtherRoute].
func (c *Classifier) Route(path string) string {
	path, _, _ = strings.Cut(path, "?")
	for i := range c.routes {
		if c.routes[i].matches(path) {
			return c.routes[i].name
		}
	}
	return OtherRoute
}

// PrefixRoutes reports whether every route is a plain prefix, so that asking for a
// route costs less than remembering it.
func (c *Classifier) PrefixRoutes() bool {
	for i := range c.routes {
		if c.routes[i].prefix == "" {
			return false
		}
	}
	return true
}

// Target names the target at an address (ip:port or alias:port): by address or
// alias with port, then by a bare alias that only one target has, else the address
// itself. Empty stays empty.
func (c *Classifier) Target(address string) string {
	if name, ok := c.targets[address]; ok {
		return name
	}
	if host, _, ok := cutPort(address); ok {
		if name, ok := c.targets[host]; ok {
			return name
		}
	}
	return address
}

// ProbeID splits the id of one of our own probe requests, "<run>-<seq>".
func ProbeID(id string) (run string, seq int, ok bool) {
	cut := strings.LastIndexByte(id, '-')
	if cut <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseUint(id[cut+1:], 10, 32)
	if err != nil {
		return "", 0, false
	}
	return id[:cut], int(n), true
}

// ProbeUserAgent finds the id in a user agent of our own probes, which is
// "gapless-<class>/<version> <id>".
func ProbeUserAgent(userAgent string) (run string, seq int, ok bool) {
	if !strings.HasPrefix(userAgent, "gapless-") {
		return "", 0, false
	}
	return ProbeID(userAgent[strings.LastIndexByte(userAgent, ' ')+1:])
}

func cutPort(address string) (host, port string, ok bool) {
	cut := strings.LastIndexByte(address, ':')
	if cut < 0 {
		return address, "", false
	}
	return address[:cut], address[cut+1:], true
}

func parsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		prefix, err := netip.ParsePrefix(s)
		return prefix.Masked(), err
	}
	address, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return address.Prefix(address.BitLen())
}
