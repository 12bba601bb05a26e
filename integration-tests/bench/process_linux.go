package main

import "syscall"

// diesWithParent lets the kernel kill the child when we die, whatever kills us.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
