//go:build !linux

package localcluster

// reserve does nothing, because on other systems two sockets cannot share a port in this way.
func reserve(int) (release func(), err error) { return func() {}, nil }
