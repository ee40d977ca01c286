package lab

import (
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservePort has the kernel choose a port on loopback and holds it, bound but not
// listening, until release: no other socket gets it while a node is down, yet a
// connection to it is refused. A node shares it by [sharePort].
func reservePort() (port int, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	release = func() { _ = unix.Close(fd) }
	if err := setShared(fd); err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	return name.(*unix.SockaddrInet4).Port, release, nil
}

// sharePort lets a listener use a port that its parent reserves.
func sharePort(config *net.ListenConfig) {
	config.Control = func(_, _ string, c syscall.RawConn) error {
		var err error
		if failed := c.Control(func(fd uintptr) { err = setShared(int(fd)) }); failed != nil {
			return failed
		}
		return err
	}
}

func setShared(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
}
