package enclosure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Missing says why no enclosure can be had here; nil if one can.
func Missing() error {
	if os.Getuid() != 0 {
		return errors.New("root is needed for namespaces, mounts and control groups")
	}
	return nil
}

// Enter runs the test binary again, enclosed, with the same arguments, and returns
// the exit code of that run. Prepare fills the folder of the run before, with the
// network of the machine, which the run does not have. Within init, which is such a
// run as well, Enter does not return before the enclosure ends.
func Enter(ctx context.Context, prepare func(dir string) error) (code int, err error) {
	if os.Getenv(role) == asInit {
		return initialize()
	}
	sweep()
	run := strconv.Itoa(os.Getpid())
	dir := filepath.Join(os.TempDir(), prefix+run)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, fmt.Errorf("make the folder of the enclosure: %w", err)
	}
	defer sweepRun(run)
	if err := prepare(dir); err != nil {
		return 0, err
	}
	if err := makeControlGroups(prefix + run); err != nil {
		return 0, fmt.Errorf("make control groups: %w", err)
	}
	again := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), role+"="+asInit, runNumber+"="+run, folder+"="+dir, "TMPDIR="+dir)
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	runtime.LockOSThread() // the death signal is that of the thread
	defer runtime.UnlockOSThread()
	if err := again.Start(); err != nil {
		return 0, fmt.Errorf("enter the enclosure: %w", err)
	}
	err = again.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// sweep removes what runs left behind that were killed.
func sweep() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + prefix + "*")
	unified, _ := filepath.Glob("/sys/fs/cgroup/" + prefix + "*")
	for _, path := range append(append(folders, groups...), unified...) {
		run := strings.TrimPrefix(filepath.Base(path), prefix)
		if _, err := os.Stat("/proc/" + run); errors.Is(err, os.ErrNotExist) {
			sweepRun(run)
		}
	}
}

func sweepRun(run string) {
	removeControlGroups(prefix + run)
	_ = os.RemoveAll(filepath.Join(os.TempDir(), prefix+run))
}
