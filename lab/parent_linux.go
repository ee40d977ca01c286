package lab

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the child when the thread that started it ends,
// which the spawner keeps for as long as the program runs. It backs up the pipe on
// standard input for a child that is stopped and cannot read.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
