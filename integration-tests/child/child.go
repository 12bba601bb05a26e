// Package child starts programs that do not outlive this process, whatever ends it.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a program that the kernel kills when this process dies (Linux;
// elsewhere it stays after a SIGKILL of this process until someone ends it).
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	return fromLastingThread(cmd.Start)
}

// fromLastingThread calls a function in a thread that lives as long as this
// process. "When its parent dies" means the thread that started the program, and
// Go ends threads as it likes.
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
