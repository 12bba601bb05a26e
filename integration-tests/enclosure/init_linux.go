package enclosure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// initialize is the life of the first process of an enclosure: it prepares the
// mounts, starts the test binary once more and reaps whoever lost its parent. All
// end with it.
func initialize() (code int, err error) {
	if err := mountAll(); err != nil {
		return 0, fmt.Errorf("prepare the mounts of the enclosure: %w", err)
	}
	if err := os.Setenv(role, asResident); err != nil {
		return 0, err
	}
	resident, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, fmt.Errorf("start in the enclosure: %w", err)
	}
	return reapUntil(resident.Pid)
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

// mountAll gives the enclosure its own /proc and an empty /run. What is written
// below /var/lib and /var/log is seen in the enclosure alone.
func mountAll() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	const harmless = syscall.MS_NOSUID | syscall.MS_NODEV
	if err := syscall.Mount("proc", "/proc", "proc", harmless|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", harmless, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for _, path := range []string{"/var/lib", "/var/log"} {
		if err := mountOver(path); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	return nil
}

// mountOver catches what is written below a folder.
func mountOver(path string) error {
	upper, work := filepath.Join("/run/lockstep", path, "upper"), filepath.Join("/run/lockstep", path, "work")
	for _, folder := range []string{upper, work} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	layers := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", path, upper, work)
	return syscall.Mount("overlay", path, "overlay", 0, layers)
}
