package main

import (
	"context"
	"strings"
	"testing"
)

// A command that panics ends with 3 and says so: never with a status that says that
// all is well.
func TestPanicIsNoSuccess(t *testing.T) {
	var out, complaints buffer
	status := guarded(&complaints, func() int { panic("the moon") })
	if status != exitFailed || !strings.Contains(complaints.String(), "internal error, please report it: the moon") || !strings.Contains(complaints.String(), "panic_test.go") {
		t.Errorf("exit %d, %s", status, complaints.String())
	}
	for want, panics := range map[int]func() int{
		exitDisproved: func() int { return exitDisproved },
		exitOK:        func() int { panic(exited(exitOK)) },
		7:             func() int { panic(exited(7)) },
	} {
		if got := guarded(&complaints, panics); got != want {
			t.Errorf("exit %d, want %d", got, want)
		}
	}
	if status := run(context.Background(), []string{"--help"}, lookup(nil), strings.NewReader(""), &out, &complaints); status != exitOK || !strings.Contains(out.String(), "Usage: gapless <command>") {
		t.Errorf("--help: exit %d, %s", status, out.String())
	}
}
