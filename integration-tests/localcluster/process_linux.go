package localcluster

import "syscall"

// dieWithParent lets the kernel kill the child when we die, whatever kills us.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
