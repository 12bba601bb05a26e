package netns

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Again runs the test binary once more, in a network of its own. It returns the exit code
// of that run, or an error if the run could not be started.
func Again(ctx context.Context) (code int, err error) {
	code, err = runIn(ctx, &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	if err != nil && os.Getuid() == 0 { // if users may not create user namespaces, root can do without
		code, err = runIn(ctx, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
	}
	return code, err
}

func runIn(ctx context.Context, namespace *syscall.SysProcAttr) (int, error) {
	again := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), marker+"="+fresh)
	runtime.LockOSThread() // the kernel sends Pdeathsig when the parent thread ends
	defer runtime.UnlockOSThread()
	namespace.Pdeathsig = syscall.SIGKILL
	again.SysProcAttr = namespace
	if err := again.Start(); err != nil {
		return 0, err
	}
	err := again.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode(), nil
	}
	return 0, err
}
