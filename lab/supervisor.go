package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// stopLimit is how long a node may take to stop after SIGTERM before it is killed.
const stopLimit = shutdownLimit + 2*time.Second

// supervisor keeps one node running as systemd would (Restart=on-failure): a
// restart that was asked for starts it at once, a death that was not after a delay.
// What it does stands in the node's log in systemd's own words.
type supervisor struct {
	executable string
	name       string
	address    string
	logPath    string
	marker     string
	boot       time.Duration
	delay      time.Duration // systemd's RestartSec
	log        *nodeLog
	args       func(version string) []string // further ones of a version; may be nil

	mu       sync.Mutex
	version  string
	process  *process // nil while the node is down
	restarts int
	asked    bool // the running process was asked to stop
	closed   bool
	wait     sync.WaitGroup
}

// process is one run of a node.
type process struct {
	cmd   *exec.Cmd
	alive io.Closer // the node lives no longer than this end of its standard input
	ended chan struct{}
}

const unit = "app.service"

// start starts the node with a version.
func (s *supervisor) start(version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
	return s.startLocked()
}

func (s *supervisor) startLocked() error {
	if s.closed || s.process != nil {
		return fmt.Errorf("start node %s: it is running or the lab is closing", s.name)
	}
	cmd := exec.Command(s.executable, NodeCommand,
		"-name", s.name, "-address", s.address, "-version", s.version,
		"-log", s.logPath, "-marker", s.marker, "-boot", s.boot.String())
	if s.args != nil {
		cmd.Args = append(cmd.Args, s.args(s.version)...)
	}
	// A node needs nothing of its parent's environment; one thread keeps it cheap.
	cmd.Env = []string{"GOMAXPROCS=1"}
	for _, name := range []string{"TZ", "ZONEINFO", "SYSTEMROOT", "GOCOVERDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stderr = os.Stderr
	alive, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start node %s: %w", s.name, err)
	}
	dieWithParent(cmd)
	if err := spawn(cmd); err != nil {
		return fmt.Errorf("start node %s: %w", s.name, err)
	}
	s.say("Started " + unit + " - Orders API.")
	p := &process{cmd: cmd, alive: alive, ended: make(chan struct{})}
	s.process, s.asked = p, false
	s.wait.Go(func() { s.watch(p) })
	return nil
}

// watch waits for the end of a process, says how it ended, and starts the node
// again where nobody asked for the end.
func (s *supervisor) watch(p *process) {
	err := p.cmd.Wait()
	s.mu.Lock()
	asked, closed := s.asked, s.closed
	s.process = nil
	if !closed {
		s.sayEnd(p.cmd.ProcessState, asked)
	}
	s.mu.Unlock()
	close(p.ended)
	if asked || closed || err == nil {
		return
	}
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.process != nil {
		return
	}
	s.restarts++
	s.say(fmt.Sprintf("%s: Scheduled restart job, restart counter is at %d.", unit, s.restarts))
	if err := s.startLocked(); err != nil {
		s.say(unit + ": Failed to start: " + err.Error())
	}
}

func (s *supervisor) sayEnd(state *os.ProcessState, asked bool) {
	code, status, result := "exited", strconv.Itoa(state.ExitCode())+"/n/a", "exit-code"
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		code, result = "killed", "signal"
		status = fmt.Sprintf("%d/%s", wait.Signal(), signalName(wait.Signal()))
	}
	if state.Success() {
		s.say(unit + ": Deactivated successfully.")
	} else {
		s.say(unit + ": Main process exited, code=" + code + ", status=" + status)
		s.say(unit + ": Failed with result '" + result + "'.")
	}
	if asked {
		s.say("Stopped " + unit + " - Orders API.")
	}
}

func signalName(signal syscall.Signal) string {
	switch signal {
	case syscall.SIGKILL:
		return "KILL"
	case syscall.SIGTERM:
		return "TERM"
	case syscall.SIGINT:
		return "INT"
	}
	return signal.String()
}

func (s *supervisor) say(message string) { s.log.systemd(time.Now(), s.name, message) }

// stop sends SIGTERM and returns a function that waits for the end, killing the
// node when it takes longer than stopLimit.
func (s *supervisor) stop() (wait func(context.Context) error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process
	if p == nil {
		return nil, fmt.Errorf("stop node %s: it is not running", s.name)
	}
	s.asked = true
	s.say("Stopping " + unit + " - Orders API...")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("stop node %s: %w", s.name, err)
	}
	return func(ctx context.Context) error {
		limit := time.NewTimer(stopLimit)
		defer limit.Stop()
		select {
		case <-p.ended:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
		}
		s.say(unit + ": State 'stop-sigterm' timed out. Killing.")
		_ = p.cmd.Process.Kill()
		<-p.ended
		return nil
	}, nil
}

// kill sends SIGKILL. Nobody asked for it as far as the supervisor knows: it starts
// the node again after its delay.
func (s *supervisor) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("kill node %s: it is not running", s.name)
	}
	if err := s.process.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill node %s: %w", s.name, err)
	}
	return nil
}

// killed kills the node as [supervisor.kill] does and returns when it is dead.
func (s *supervisor) killed() error {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	<-p.ended
	return nil
}

// pid is the running process's id, 0 while there is none.
func (s *supervisor) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// close ends the node without a line in its log, since this is no event of the
// application's life, and waits until it is gone.
func (s *supervisor) close() {
	s.mu.Lock()
	s.closed = true
	if s.process != nil {
		_ = s.process.alive.Close()
		_ = s.process.cmd.Process.Kill()
	}
	s.mu.Unlock()
	s.wait.Wait()
	s.log.close()
}

// spawner starts every child from one thread that never ends: Linux sends a child
// its parent-death signal when the thread that started it ends, not the process.
var spawner struct {
	once sync.Once
	jobs chan func()
}

func spawn(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		spawner.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range spawner.jobs {
				job()
			}
		}()
	})
	result := make(chan error, 1)
	spawner.jobs <- func() { result <- cmd.Start() }
	return <-result
}
