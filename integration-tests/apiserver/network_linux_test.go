package apiserver_test

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

// runInOwnNetwork runs the test binary once more, in a network of its own. It
// returns the exit code of that run, or why there is none.
func runInOwnNetwork() (code int, err error) {
	code, err = runIn(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
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
	again.Env = append(os.Environ(), ownNetwork+"=new")
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

// setUpNetwork makes the addresses of all pods ours.
func setUpNetwork() error {
	for _, command := range []string{"ip link set lo up", "ip route add local " + podAddresses + " dev lo"} {
		words := strings.Fields(command)
		if out, err := exec.CommandContext(context.Background(), words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	return nil
}
