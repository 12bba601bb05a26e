//go:build unix && !linux

package localcluster

import "syscall"

// dieWithParent has no counterpart here: after a SIGKILL of this process its
// children stay until someone ends them.
func dieWithParent(*syscall.SysProcAttr) {}
