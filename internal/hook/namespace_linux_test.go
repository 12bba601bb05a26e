package hook_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// inNamespace marks the second run of the test binary; its value says whether the
// network there has been set up.
const inNamespace = "LOCKSTEP_TEST_IN_NETWORK_NAMESPACE"

// enterNamespace runs the test binary once more, in a network of its own in which
// every address is this machine's. It returns the exit code of that run, or why
// there is none.
func enterNamespace() (code int, err error) {
	both := uintptr(syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET)
	code, err = runIn(&syscall.SysProcAttr{
		Cloneflags:  both,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	if err != nil && os.Getuid() == 0 { // where users may not have namespaces, root may
		code, err = runIn(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET})
	}
	return code, err
}

func runIn(namespace *syscall.SysProcAttr) (int, error) {
	again := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), inNamespace+"=new")
	runtime.LockOSThread() // the death signal is that of the thread
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

// setUpNetwork makes every address one of this machine.
func setUpNetwork() error {
	for _, command := range []string{
		"ip link set lo up",
		"ip route add local 0.0.0.0/0 dev lo",
		"ip -6 route add local ::/0 dev lo",
	} {
		words := strings.Fields(command)
		if out, err := exec.CommandContext(context.Background(), words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	return nil
}
