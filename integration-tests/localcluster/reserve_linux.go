package localcluster

import (
	"errors"
	"fmt"
	"syscall"
)

// reserve keeps the kernel from giving a port of 127.0.0.1 to programs that need any free port,
// until release is called. It binds a socket that does not listen. A program that requests this
// port can use it repeatedly, because Go programs share ports in this way.
func reserve(port int) (release func(), err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve port: %w", err)
	}
	shared := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	bound := syscall.Bind(socket, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	release = func() { _ = syscall.Close(socket) } // nothing was written to it
	if err := errors.Join(shared, bound); err != nil {
		release()
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	return release, nil
}
