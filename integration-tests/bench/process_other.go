//go:build !linux

package main

import "syscall"

// diesWithParent is for Linux alone, and so are CPU time and memory.
func diesWithParent() *syscall.SysProcAttr { return nil }
