package enclosure

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// mountAll gives the enclosure its own /proc and an empty /run. Writes below /var/lib and /var/log,
// and to settings of the machine, are visible only in the enclosure.
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
	for _, setting := range settings {
		if err := mountCopy(setting); err != nil {
			return fmt.Errorf("mount %s: %w", setting, err)
		}
	}
	return nil
}

// settings are settings of the machine that a kubelet writes and that no namespace has for itself.
var settings = []string{
	"/proc/sys/kernel/keys/root_maxbytes",
	"/proc/sys/kernel/keys/root_maxkeys",
	"/proc/sys/kernel/panic",
	"/proc/sys/kernel/panic_on_oops",
	"/proc/sys/vm/overcommit_memory",
	"/proc/sys/vm/panic_on_oom",
}

// layers is the folder for writes to the machine's files.
const layers = "/run/lockstep"

// mountOver redirects writes below a folder.
func mountOver(path string) error {
	upper, work := filepath.Join(layers, path, "upper"), filepath.Join(layers, path, "work")
	for _, folder := range []string{upper, work} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return syscall.Mount("overlay", path, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", path, upper, work))
}

// mountCopy redirects writes to a file.
func mountCopy(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	instead := filepath.Join(layers, path)
	if err := os.MkdirAll(filepath.Dir(instead), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(instead, content, 0o644); err != nil {
		return err
	}
	return syscall.Mount(instead, path, "", syscall.MS_BIND, "")
}
