// Package child starts programs that do not outlive this process, however it ends.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a program that the kernel kills when this process ends. This needs Linux: on other
// systems, the program continues after a SIGKILL of this process.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	return fromLastingThread(cmd.Start)
}

// fromLastingThread calls a function in a thread that lives as long as this process. The kernel
// kills the program when the thread that started it ends, and Go ends threads at any time.
func fromLastingThread(start func() error) error {
	result := make(chan error)
	lastingThread() <- func() { result <- start() }
	return <-result
}

var lastingThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})
