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

// meantFor reports whether a failure may have been meant for a target group: the log
// names it; or, where it names none, its target is of that group, or it names no target
// either and is of a load balancer that may have the group.
func (b *bench) meantFor(f *failure, group string) bool {
	if f.group != "" {
		return f.group == group
	}
	if l := b.byName[f.target]; l != nil {
		return l.groups[group]
	}
	return b.logs(f.source, group)
}

// meantForPool reports whether a failure may have been meant for a target group, or for the
// one that its traffic was switched to.
func (b *bench) meantForPool(f *failure, group string) bool {
	return b.meantFor(f, group) || b.switched[f.group] == group
}

// refusedBy reports whether a load balancer answered requests that may have been meant for
// a group with an error of its own, and no target was asked.
func (b *bench) refusedBy(k *CellKey, group string) bool {
	return b.counting[k.Source] && k.Outcome == OutcomeLB5xx && k.Target == "" &&
		(b.pool(k.TargetGroup) == group || k.TargetGroup == "" && b.logs(k.Source, group))
}

// wantsTarget reports whether a load balancer answered requests by itself because it
// had no target: nginx with 502 ("no live upstreams"; its 503 is a limit's), others with
// 503 (spec: domain facts §1.3, §6).
func (b *bench) wantsTarget(k *CellKey, group string) bool {
	refuses := 503
	if b.byNginx[k.Source] {
		refuses = 502
	}
	return k.Status == refuses && b.refusedBy(k, group)
}
