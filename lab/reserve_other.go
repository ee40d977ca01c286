//go:build !linux

package lab

import (
	"fmt"
	"net"
)

// reservePort has the kernel choose a port on loopback. Here nothing holds it while
// its node is down: another program might get it in between, which is unlikely.
func reservePort() (port int, release func(), err error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port: %w", err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	return port, func() {}, listener.Close()
}

func sharePort(*net.ListenConfig) {}
