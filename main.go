// Command gapless answers one question about every deploy: did anyone lose a
// request because of it, and how do we know?
//
// Package main is the command line. It reads the configuration, wires collectors,
// store and web together, and owns their shutdown; one file a command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // time zones on machines that have none installed

	"github.com/alecthomas/kong"

	"gapless/lab"
)

// commandLine is what gapless understands. Each command has a file of its own.
type commandLine struct {
	Serve   serveCommand   `cmd:"" help:"Run the console with its collectors."`
	Demo    demoCommand    `cmd:"" help:"Make real deploys on this machine, watch them in the console, and compare the verdicts with what truly happened."`
	Audit   auditCommand   `cmd:"" help:"Collect one window from the configured sources, judge it and print the report; no server."`
	Parse   parseCommand   `cmd:"" help:"Show how each line of an access log is understood."`
	Deploy  deployCommand  `cmd:"" help:"Tell a server about a deploy: start, step, finish."`
	Gate    gateCommand    `cmd:"" help:"Wait for the verdict on a deploy, print it, and end with its status."`
	Bundle  bundleCommand  `cmd:"" help:"Seal a deploy's raw evidence and its report in one zip."`
	Verify  verifyCommand  `cmd:"" help:"Recompute a bundle's report from its raw records and compare."`
	Rules   rulesCommand   `cmd:"" help:"Try log rules on files."`
	Probe   probeCommand   `cmd:"" help:"Run a service's probes from this place too, and send what they saw to a server."`
	Version versionCommand `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and end."`
}

// Exit statuses, as CONTRACT has them.
const (
	exitOK           = 0 // done; for a verdict: supported
	exitDisproved    = 1 // for a verdict; for parse and demo: some were not as they should be
	exitInconclusive = 2 // or untested
	exitFailed       = 3 // usage, configuration, no answer
)

// program is what a command may use of the world around it.
type program struct {
	env            environment
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command is one command after its flags were read. It returns the exit status; an
// error is printed, and then the status is at least 1.
type command interface {
	run(ctx context.Context, p *program) (status int, err error)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == lab.NodeCommand {
		os.Exit(lab.ChildMain(os.Args[2:]))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // measured: a sixth less memory for a large log object, in the same time
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the whole program but for the process around it: it parses args (without
// the program's name), runs the command until it is done or ctx ends, and returns
// the exit status.
func run(ctx context.Context, args []string, env environment, stdin io.Reader, stdout, stderr io.Writer) int {
	stdout, stderr = &bareWriter{w: stdout}, printableWriter{stderr}
	if len(args) == 0 { // whoever types only the name wants to know what there is
		guarded(stderr, func() int { return runArgs(ctx, []string{"--help"}, env, stdin, stderr, stderr) })
		return exitFailed
	}
	return guarded(stderr, func() int { return runArgs(ctx, args, env, stdin, stdout, stderr) })
}

// guarded is the exit status of what it runs. A panic is complained about and ends
// with [exitFailed], never with a status that says all is well.
func guarded(stderr io.Writer, run func() int) (status int) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case exited:
			status = int(reason)
		default:
			fmt.Fprintf(stderr, "gapless: internal error, please report it: %v\n%s", reason, debug.Stack())
			status = exitFailed
		}
	}()
	return run()
}

func runArgs(ctx context.Context, args []string, env environment, stdin io.Reader, stdout, stderr io.Writer) int {
	var cli commandLine
	parser, err := kong.New(&cli,
		kong.Name("gapless"),
		kong.Description("Did anyone lose a request because of that deploy, and how do we know?"),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), // after --help
		kong.Vars{"version": "gapless " + version(), "guards": knownGuards()},
	)
	if err != nil {
		fmt.Fprintln(stderr, "gapless:", err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "gapless: %v\nTry gapless --help.\n", err)
		return exitFailed
	}
	chosen, ok := reflect.TypeAssert[command](parsed.Selected().Target.Addr())
	if !ok {
		fmt.Fprintf(stderr, "gapless: %s does nothing by itself\n", parsed.Command())
		return exitFailed
	}
	status, err := chosen.run(ctx, &program{env: env, stdin: stdin, stdout: stdout, stderr: stderr})
	if err != nil {
		if !errors.Is(err, context.Canceled) || ctx.Err() == nil {
			for _, complaint := range complaints(err) {
				fmt.Fprintln(stderr, "gapless:", complaint)
			}
		}
		status = max(status, exitDisproved)
	}
	return status
}

// exited carries the status with which the command-line parser wants to end.
type exited int
