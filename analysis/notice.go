package analysis

import (
	"cmp"
	"slices"
	"time"
)

// NoticedSource is the source of a deploy that nobody announced.
const NoticedSource = "noticed"

// Noticed reports whether nobody announced the deploy: gapless saw it happen.
func (d *Deploy) Noticed() bool { return !d.SeenUntil.IsZero() }

// Notices are what [Notice] found.
type Notices struct {
	// Deploys are noticed deploys that are new, or whose start, end or kind changed.
	Deploys []Deploy
	// Merged are noticed deploys that turned out to be one that somebody announced
	// later: its id by theirs.
	Merged map[string]string
}

// NoticeReach is how far back from now signs are looked at: a deploy that is older
// and was never noticed is not noticed any more.
func NoticeReach(w WindowSettings) time.Duration { return w.Max + w.Baseline + w.Settle }

// Notice finds the deploys that nobody announced, by their signs: an application
// stopped, died or became ready again; a target failed its health checks; targets
// left while others came. Targets that only come, or only leave, are scaling and no
// deploy by themselves. What lies between the start of an announced deploy and the end
// of its window is explained by it; what lies before its start is not, however short
// before: whoever announces a fix does not announce what broke. Signs that are no
// further apart than the window's tail are of one deploy, as long as it does not grow
// longer than the window's max. A sign that is later than now is none yet.
//
// steps and states are those of the service since [NoticeReach]; deploys are all
// whose windows meet that time, the ones noticed before among them: a deploy keeps
// its id however much of it is seen later.
func Notice(s Service, steps []Step, states []StateSample, deploys []Deploy, now time.Time) Notices {
	n := noticing{service: s, found: Notices{Merged: map[string]string{}}}
	for _, d := range deploys {
		if d.Noticed() {
			n.before = append(n.before, &noticed{deploy: d, was: d})
		} else {
			n.told = append(n.told, d)
		}
	}
	for _, sign := range signsOf(s, steps, states) {
		if !sign.at.After(now) && !n.explained(sign.at) {
			n.take(sign)
		}
	}
	n.merge()
	n.name()
	return n.found
}

// sign is something that tells of a change. Only some signs open a deploy; all of
// them prolong one.
type sign struct {
	at     time.Time
	target string
	what   signKind
}

type signKind int

const (
	signRestart  signKind = iota // stopped on purpose
	signKilled                   // died unasked
	signReady                    // ready again
	signEjected                  // failed its checks
	signOut                      // taken out of the target set
	signIn                       // new in the target set
	signReturned                 // in rotation again
)

type noticed struct {
	deploy Deploy
	was    Deploy // as it was known before; without an id: new
	signs  []sign
}

type noticing struct {
	service Service
	told    []Deploy
	before  []*noticed // known, and new ones
	found   Notices
}

// explained reports whether a moment lies between the start of an announced deploy and
// the end of its window.
func (n *noticing) explained(at time.Time) bool {
	return slices.ContainsFunc(n.told, func(d Deploy) bool { return n.covers(d, at, at) })
}

// covers reports whether all from one moment to another is explained by a deploy.
func (n *noticing) covers(d Deploy, from, to time.Time) bool {
	_, end := WindowOf(d, n.service.Window)
	return !from.Before(d.StartedAt) && to.Before(end)
}

// take gives a sign to the deploy that it belongs to.
func (n *noticing) take(s sign) {
	tail := n.service.Window.Tail
	for _, each := range n.before {
		d := &each.deploy
		start, end := earliest(d.StartedAt, s.at), latest(d.SeenUntil, s.at)
		longest := max(n.service.Window.Max, d.SeenUntil.Sub(d.StartedAt))
		if d.StartedAt.Sub(s.at) > tail || s.at.Sub(d.SeenUntil) > tail || end.Sub(start) > longest {
			continue
		}
		d.StartedAt, d.SeenUntil = start, end
		each.signs = append(each.signs, s)
		return
	}
	n.before = append(n.before, &noticed{
		deploy: Deploy{Service: n.service.Name, Source: NoticedSource, StartedAt: s.at, SeenUntil: s.at},
		signs:  []sign{s},
	})
}

// merge finds the announced deploys that noticed ones turned out to be: those that
// explain all of them, from the first sign to the last. Which signs can still be seen
// does not matter: a deploy that was noticed long ago does not go for want of them. One
// that is new is none of them: its signs would have been explained.
func (n *noticing) merge() {
	for _, each := range n.before {
		i := slices.IndexFunc(n.told, func(d Deploy) bool { return n.covers(d, each.deploy.StartedAt, each.deploy.SeenUntil) })
		if i >= 0 {
			n.found.Merged[each.was.ID] = n.told[i].ID
		}
	}
}

// name lists what is new or different, with ids for the new.
func (n *noticing) name() {
	for _, each := range n.before {
		d := &each.deploy
		if d.ID == "" {
			if !each.opens() {
				continue
			}
			d.ID = NoticedSource + "-" + n.service.Name + "-" + d.StartedAt.UTC().Format("20060102T150405Z")
		}
		if len(each.signs) > 0 && !each.signs[0].at.After(d.StartedAt) { // all of them are there
			d.Kind = each.kind()
		}
		if *d != each.was {
			n.found.Deploys = append(n.found.Deploys, *d)
		}
	}
}

// opens reports whether the signs are more than scaling.
func (n *noticed) opens() bool {
	return n.has(signRestart, signKilled, signReady, signEjected) || n.has(signOut) && n.has(signIn)
}

// kind guesses what it was: targets in the place of others are blue/green; where
// something died or fell out and nothing was stopped on purpose, it is a fault.
func (n *noticed) kind() DeployKind {
	switch {
	case n.has(signOut) && n.has(signIn):
		return KindBlueGreen
	case n.has(signRestart):
		return KindRolling
	case n.has(signKilled, signEjected):
		return KindFault
	}
	return KindRolling
}

func (n *noticed) has(kinds ...signKind) bool {
	return slices.ContainsFunc(n.signs, func(s sign) bool { return slices.Contains(kinds, s.what) })
}

// signsOf finds the signs in what nobody assigned to a deploy, oldest first.
func signsOf(service Service, steps []Step, states []StateSample) []sign {
	signs := append(stepSigns(steps, states), stateSigns(service, states)...)
	slices.SortFunc(signs, func(a, b sign) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.target, b.target), cmp.Compare(a.what, b.what))
	})
	return signs
}

// stepSigns are those of applications. One that becomes ready is a sign only where
// it had been at work before: the first start of all is none.
func stepSigns(steps []Step, states []StateSample) []sign {
	worked := map[string]time.Time{} // since when a target is known to have been at work
	known := func(target string, at time.Time) { worked[target] = earliest(worked[target], at) }
	for _, s := range steps {
		known(s.Target, s.At)
	}
	for _, s := range states {
		if s.State.InRotation() {
			known(s.Target, s.At)
		}
	}
	var signs []sign
	for _, s := range steps {
		if s.Deploy != "" || s.Target == "" {
			continue
		}
		switch s.Kind {
		case StepRestartBegan:
			signs = append(signs, sign{s.At, s.Target, signRestart})
		case StepProcessKilled:
			signs = append(signs, sign{s.At, s.Target, signKilled})
		case StepAppReady:
			if worked[s.Target].Before(s.At) {
				signs = append(signs, sign{s.At, s.Target, signReady})
			}
		}
	}
	return signs
}

// stateSigns are those of polled states. A state changed at some time between two
// polls: where a target leaves, the sign has the time of the poll before, since
// requests may have failed from then on; where it returns, that of the later one. A
// target is new, or gone, only where it is missing for longer than polls vouch for
// ([pollReach] intervals): each may be polled at moments of its own.
func stateSigns(service Service, states []StateSample) []sign {
	type group struct{ source, group string }
	polls := map[group][]time.Time{}
	series := map[group]map[string][]StateSample{}
	for _, s := range states {
		g := group{s.Source, s.TargetGroup}
		polls[g] = append(polls[g], s.At)
		if series[g] == nil {
			series[g] = map[string][]StateSample{}
		}
		series[g][s.Target] = append(series[g][s.Target], s)
	}
	var signs []sign
	for g, targets := range series {
		reach := pollReach * service.pollEvery(g.source)
		first, last := slices.MinFunc(polls[g], time.Time.Compare), slices.MaxFunc(polls[g], time.Time.Compare)
		for target, samples := range targets {
			slices.SortFunc(samples, func(a, b StateSample) int { return a.At.Compare(b.At) })
			if samples[0].At.After(first.Add(reach)) {
				signs = append(signs, sign{samples[0].At, target, signIn})
			}
			for i := 1; i < len(samples); i++ {
				was, is := samples[i-1], samples[i]
				switch {
				case was.State.InRotation() == is.State.InRotation():
				case is.State.InRotation():
					signs = append(signs, sign{is.At, target, signReturned})
				case is.State == StateDraining || is.State == StateUnused || is.State == StateUnusedNCP:
					signs = append(signs, sign{was.At, target, signOut})
				case is.State != StateInitial:
					signs = append(signs, sign{was.At, target, signEjected})
				}
			}
			// A target that the polls stopped to name has left, if it was in until then.
			if end := samples[len(samples)-1]; end.At.Before(last.Add(-reach)) && end.State.InRotation() {
				signs = append(signs, sign{end.At, target, signOut})
			}
		}
	}
	return signs
}

// pollEvery is how often a source of states is polled; a source that is not configured
// any more may have been polled every minute.
func (s *Service) pollEvery(source string) time.Duration {
	for _, balancer := range s.LoadBalancers {
		for _, group := range balancer.TargetGroups {
			for _, states := range group.States {
				if states.Name == source && states.Every > 0 {
					return states.Every
				}
			}
		}
	}
	return time.Minute
}
