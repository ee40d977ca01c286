package analysis

import "slices"

// configuredGroups are the names of the target groups in the order of the configuration.
func (b *bench) configuredGroups() []string {
	var names []string
	for _, balancer := range b.obs.Service.LoadBalancers {
		for _, g := range balancer.TargetGroups {
			names = append(names, g.Name)
		}
	}
	return names
}

// memberOf settles by which of its groups a target is judged: of those that are
// configured the first one there, of others the first by name, and where no witness names
// any, the first that is configured at all.
func (l *life) memberOf(configured []string) {
	if len(l.groups) == 0 {
		l.groups[append(configured, "")[0]] = true
	}
	l.group = sortedKeys(l.groups)[0]
	if i := slices.IndexFunc(configured, func(group string) bool { return l.groups[group] }); i >= 0 {
		l.group = configured[i]
	}
}

// severalGroups are the configured groups, in their order, of a target that is a member
// of more than one.
func (l *life) severalGroups(configured []string) []string {
	of := slices.DeleteFunc(slices.Clone(configured), func(group string) bool { return !l.groups[group] })
	if len(of) < 2 {
		return nil
	}
	return of
}

// groupsBehind are the target groups of the load balancer that an access log is of; none
// where they are not known, or a source is no access log.
func (b *bench) groupsBehind(source string) []TargetGroup {
	for _, balancer := range b.obs.Service.LoadBalancers {
		if slices.ContainsFunc(balancer.AccessLogs, func(l AccessLog) bool { return l.Name == source }) {
			return balancer.TargetGroups
		}
	}
	return nil
}

// onlyGroup is the target group of the load balancer that an access log is of, where it
// has exactly one; empty otherwise.
func (b *bench) onlyGroup(source string) string {
	if groups := b.groupsBehind(source); len(groups) == 1 {
		return groups[0].Name
	}
	return ""
}

// logs reports whether an access log is of a load balancer that may have a group: one
// that has it, by the configuration or by the log itself, or of which no groups are known.
// Records of another kind may have to do with any group.
func (b *bench) logs(source, group string) bool {
	groups := b.groupsBehind(source)
	return len(groups) == 0 || b.named[source][group] || slices.ContainsFunc(groups, func(g TargetGroup) bool { return g.Name == group })
}
