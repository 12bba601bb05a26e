package localcluster

import (
	"errors"
	"fmt"
	"syscall"
)

// reserve keeps a port of 127.0.0.1 from whoever asks for any free one, until it is
// released: by a socket that is bound and does not listen. A program that asks for this
// very port gets it all the same, again and again, since programs in Go share it so.
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
