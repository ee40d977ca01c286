package main

import (
	"context"
	"fmt"
	"time"

	"gapless/analysis"
)

// deployCommand tells a server about a deploy.
type deployCommand struct {
	Start  deployStart  `cmd:"" help:"A deploy begins. Prints its id."`
	Step   deployStep   `cmd:"" help:"Something happened in a deploy."`
	Finish deployFinish `cmd:"" help:"A deploy reports its end."`
}

// deployServer says whom to tell, and how the three commands share it.
type deployServer struct {
	serverFlags
	Service string `required:"" placeholder:"NAME" help:"The service, as the server's configuration names it."`
	At      string `placeholder:"TIME" help:"When it happened, RFC 3339; now if left out."`
	Source  string `default:"cli" help:"Who says so."`
}

type deployStart struct {
	deployServer
	Deploy        string `placeholder:"ID" help:"The deploy's id; made from service and time if left out."`
	Kind          string `default:"rolling" enum:"rolling,blue_green,in_place,fault" help:"How it is rolled out: rolling, blue_green, in_place or fault."`
	VersionBefore string `placeholder:"V" help:"The version that is replaced."`
	VersionAfter  string `placeholder:"V" help:"The version that is rolled out."`
	RollbackOf    string `placeholder:"ID" help:"The deploy that this one takes back."`
	Actor         string `help:"Who deploys."`
	Environment   string `placeholder:"NAME" help:"Where to, for example production."`
	URL           string `placeholder:"URL" help:"The pipeline's page."`
}

type deployStep struct {
	deployServer
	Deploy string `required:"" placeholder:"ID" help:"The deploy's id."`
	Kind   string `required:"" placeholder:"KIND" help:"What happened, for example drain.marked or restart.began."`
	Target string `placeholder:"NAME" help:"The target that it concerns."`
	Clock  string `placeholder:"NAME" help:"Whose clock the time is by, where it is not the source's own."`
}

type deployFinish struct {
	deployServer
	Deploy string `required:"" placeholder:"ID" help:"The deploy's id."`
	Result string `default:"succeeded" enum:"succeeded,failed,cancelled" help:"How it ended: succeeded, failed or cancelled."`
}

func (c *deployStart) run(ctx context.Context, p *program) (int, error) {
	at, err := c.at()
	if err != nil {
		return exitFailed, err
	}
	id := c.Deploy
	if id == "" {
		id = analysis.NewDeployID(c.Service, at)
	}
	err = c.tell(ctx, p, analysis.StepEvent{
		Deploy: id, Service: c.Service, Kind: analysis.StepDeployStarted, At: analysis.Time{Time: at}, Source: c.Source,
		DeployKind: analysis.DeployKind(c.Kind), VersionBefore: c.VersionBefore, VersionAfter: c.VersionAfter,
		RollbackOf: c.RollbackOf, Actor: c.Actor, Environment: c.Environment, URL: c.URL,
	})
	if err != nil {
		return exitFailed, err
	}
	fmt.Fprintln(p.stdout, id)
	return exitOK, nil
}

func (c *deployStep) run(ctx context.Context, p *program) (int, error) {
	at, err := c.at()
	if err != nil {
		return exitFailed, err
	}
	kind := analysis.StepKind(c.Kind)
	switch kind {
	case analysis.StepDeployStarted:
		return exitFailed, fmt.Errorf("use gapless deploy start for %s", kind)
	case analysis.StepDeployReported:
		return exitFailed, fmt.Errorf("use gapless deploy finish for %s", kind)
	}
	err = c.tell(ctx, p, analysis.StepEvent{
		Deploy: c.Deploy, Service: c.Service, Kind: kind, At: analysis.Time{Time: at},
		Target: c.Target, Clock: c.Clock, Source: c.Source,
	})
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

func (c *deployFinish) run(ctx context.Context, p *program) (int, error) {
	at, err := c.at()
	if err != nil {
		return exitFailed, err
	}
	err = c.tell(ctx, p, analysis.StepEvent{
		Deploy: c.Deploy, Service: c.Service, Kind: analysis.StepDeployReported, At: analysis.Time{Time: at},
		Result: c.Result, Source: c.Source,
	})
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}

// at is when it happened, to the microsecond: what the store keeps.
func (s *deployServer) at() (time.Time, error) {
	if s.At == "" {
		return time.Now().UTC().Truncate(time.Microsecond), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s.At)
	if err != nil {
		return time.Time{}, fmt.Errorf("--at %q %s", s.At, analysis.NoTime)
	}
	return at.UTC().Truncate(time.Microsecond), nil
}

func (s *deployServer) tell(ctx context.Context, p *program, event analysis.StepEvent) error {
	c, err := s.client(p)
	if err != nil {
		return err
	}
	warnings, err := c.tell(ctx, event)
	for _, warning := range warnings {
		fmt.Fprintf(p.stderr, "gapless: warning: %s\n", printable(warning))
	}
	return err
}
