package enclosure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Missing returns the reason why there can be no enclosure here, or nil. It creates one to check.
func Missing() error {
	if Inside() {
		return nil
	}
	return tried()
}

var tried = sync.OnceValue(func() error {
	if os.Getuid() != 0 {
		return errors.New("root is needed for namespaces, mounts and control groups")
	}
	ctx := context.Background()
	r, err := newRun(ctx)
	if err != nil {
		return fmt.Errorf("try an enclosure: %w", err)
	}
	return errors.Join(r.try(ctx), r.end())
})

// try creates an enclosure without tests.
func (r *run) try(ctx context.Context) error {
	if err := r.makeControlGroups(); err != nil {
		return fmt.Errorf("control groups are needed that can be written to, such as a machine has, not a container: %w", err)
	}
	first := r.program(ctx)
	first.Env = append(first.Env, trial+"=1")
	if out, err := first.CombinedOutput(); err != nil {
		return fmt.Errorf("namespaces and mounts are needed, which take CAP_SYS_ADMIN: %w\n%s", err, out)
	}
	return nil
}

// Enter runs the test binary again in an enclosure, with the same arguments, and returns its exit
// code. Before that, prepare fills the folder of the run, with the network of the machine, which
// the run does not have. If a setting or a control group of the machine differs afterwards, Enter
// returns an error.
func Enter(ctx context.Context, prepare func(dir string) error) (code int, err error) {
	before := readMachine()
	r, err := newRun(ctx)
	if err != nil {
		return 0, fmt.Errorf("make the folder of the enclosure: %w", err)
	}
	code, err = r.enclose(ctx, prepare)
	return code, errors.Join(err, r.end(), before.compare(readMachine()))
}

func (r *run) enclose(ctx context.Context, prepare func(dir string) error) (code int, err error) {
	if err := prepare(r.dir); err != nil {
		return 0, err
	}
	if err := r.makeControlGroups(); err != nil {
		return 0, fmt.Errorf("make control groups: %w", err)
	}
	first := r.program(ctx)
	first.Stdin, first.Stdout, first.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the death signal is sent when this thread ends
	defer runtime.UnlockOSThread()
	if err := first.Start(); err != nil {
		return 0, fmt.Errorf("enter the enclosure: %w", err)
	}
	err = first.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// program returns a command that runs this program in its own namespaces.
func (r *run) program(ctx context.Context) *exec.Cmd {
	again := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), role+"="+asInit, folder+"="+r.dir, "TMPDIR="+r.dir)
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	return again
}
