package lab

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"gapless/analysis"
)

// BlueGreen is the name of the scenario that retells the fourth report: the new
// version is started beside the old one, takes over its traffic, and the old one is
// stopped when it has finished. No request is lost. But schedulers ask no load
// balancer, and while both run, so does every job of both: its 45 s of overlap hold a
// run of the job that comes every 60 s on both sides, and send invoices twice.
const BlueGreen = "blue-green"

// Guards of blue-green.
const (
	// GuardLock lets both versions take the job's lock in the database before a run.
	GuardLock = "lock"
	// GuardLockNew is the deploy that brings the lock: the old version does not know
	// of it and just runs, so that the lock prevents nothing this once.
	GuardLockNew = "lock-new"
)

var blueGreen = scenario{
	name: BlueGreen, kind: analysis.KindBlueGreen, health: fastChecks, window: window, boot: bootTime, restartDelay: time.Second,
	nodes:  []nodePlan{{name: "blue"}, {name: "green", idle: true}},
	deploy: (*workflow).blueGreen,
	equip: func(l *Lab, rest context.Context, dir string) (err error) {
		if l.mailbox, err = openMailbox(filepath.Join(dir, "shared.db")); err != nil {
			return err
		}
		l.releases = append(l.releases, l.mailbox.close)
		l.rest.Go(func() { l.mailbox.receive(rest) })
		return nil
	},
	nodeArgs: func(l *Lab, _, _ string) []string { return []string{"-shared", l.mailbox.path} },
	watch: func(_ *Lab, s *Settings) {
		s.OwnRules = append(s.OwnRules, jobRules...)
		s.Jobs = append(s.Jobs, analysis.Job{Name: invoiceAgent, Every: agentEvery})
	},
	expect: Expect{
		Verdict: analysis.Supported, // it is about requests
		// The overlap is longer than the job's period, so that it holds a run.
		Findings: []string{"overlap-double-run"},
		MayAlso:  busyMachine,
	},
	guards: []string{GuardLock, GuardLockNew},
	with: func(s scenario, on []string) scenario {
		both := slices.Contains(on, GuardLock)
		if len(on) == 0 {
			return s
		}
		plain := s.nodeArgs
		s.nodeArgs = func(l *Lab, node, version string) []string {
			args := plain(l, node, version)
			if both || version == versionAfter {
				args = append(args, "-lock")
			}
			return args
		}
		if both {
			s.expect.Findings = nil // one of the two runs, the other skips
		}
		return s
	},
}

// jobRules read the scheduler's lines.
var jobRules = []OwnRule{
	{Name: "job-began", Match: `^job=(?P<name>\S+) run=(?P<key>\S+) began`, Event: analysis.EventJobBegan},
	{Name: "job-ended", Match: `^job=(?P<name>\S+) run=(?P<key>\S+) ended`, Event: analysis.EventJobEnded},
	{Name: "job-skipped", Match: `^job=(?P<name>\S+) run=(?P<key>\S+) skipped`, Event: analysis.EventJobSkipped},
}

// drainOfBlue is how long the old version may finish what it has begun: longer than
// the deregistration delay, and, since the overlap lasts as long, than a job's period.
const drainOfBlue = agentEvery + time.Second

// blueGreen starts green, waits until it is ready, moves the traffic, waits until blue
// has finished, and stops it for good.
func (w *workflow) blueGreen(ctx context.Context) error {
	blue, green := w.lab.nodes[0], w.lab.nodes[1]
	if err := w.build(ctx); err != nil {
		return err
	}
	if err := green.start(w.version); err != nil {
		return err
	}
	if err := w.waitUp(ctx, green, 0); err != nil {
		return err
	}
	if err := w.register(ctx, green); err != nil {
		return err
	}
	if err := w.waitHealthy(ctx, green); err != nil {
		return err
	}
	if err := w.step(ctx, analysis.StepTrafficSwitched, time.Now(), ""); err != nil {
		return err
	}
	if err := w.deregister(ctx, blue); err != nil {
		return err
	}
	if err := sleep(ctx, drainOfBlue); err != nil {
		return err
	}
	ended, err := blue.stop()
	if err != nil {
		return err
	}
	return ended(ctx)
}
