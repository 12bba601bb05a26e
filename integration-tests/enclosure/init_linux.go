package enclosure

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// init ends a process that was started as init, before it runs a test.
func init() {
	if os.Getenv(role) != asInit {
		return
	}
	code, err := live()
	if err != nil {
		fmt.Fprintln(os.Stderr, "--- FAIL: begin the enclosure:", err)
		code = 1
	}
	os.Exit(code)
}

// live is the first process of an enclosure. It prepares the mounts, starts the test binary again
// and reaps processes without a parent. All processes of the enclosure end with it.
func live() (code int, err error) {
	if err := mountAll(); err != nil {
		return 0, fmt.Errorf("prepare the mounts: %w", err)
	}
	if os.Getenv(trial) != "" {
		return 0, nil
	}
	if err := os.Setenv(role, asTester); err != nil {
		return 0, err
	}
	tester, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, fmt.Errorf("start the tests: %w", err)
	}
	return reapUntil(tester.Pid)
}

// reapUntil reaps children until a certain one ends, and returns its exit code.
func reapUntil(last int) (code int, err error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the end of the enclosure: %w", err)
		case pid == last && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == last:
			return status.ExitStatus(), nil
		}
	}
}
