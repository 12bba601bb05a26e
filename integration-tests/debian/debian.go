// Package debian unpacks Debian packages into the user's cache folder, so that
// their programs can be run where nothing may be installed.
package debian

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Root is the folder that packages were unpacked into, as if it were /.
type Root string

// Missing says why packages cannot be had here; nil if they can.
func Missing() error {
	for _, program := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("packages are fetched with apt-get and unpacked with dpkg: %w", err)
		}
	}
	return nil
}

// Unpack returns the root with these packages, and none of those they depend on. The
// first call for a list of packages fetches them; they stay as they are until the
// folder is removed. Progress may be nil.
func Unpack(ctx context.Context, progress io.Writer, packages ...string) (Root, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder: %w", err)
	}
	release, err := os.ReadFile("/etc/debian_version")
	if err != nil {
		return "", fmt.Errorf("find the release of Debian: %w", err)
	}
	hash := sha256.Sum256([]byte(string(release) + strings.Join(packages, "\n")))
	root := filepath.Join(cache, "lockstep", "debian", fmt.Sprintf("%s-%x", runtime.GOARCH, hash[:6]))
	if _, err := os.Stat(root); err == nil {
		return Root(root), nil
	}
	if progress != nil {
		fmt.Fprintf(progress, "fetching %d packages of Debian (once)\n", len(packages))
	}
	if err := unpackAll(ctx, root, packages); err != nil {
		return "", fmt.Errorf("unpack packages: %w", err)
	}
	return Root(root), nil
}

// unpackAll makes the root under another name first: it is complete or not there.
func unpackAll(ctx context.Context, root string, packages []string) error {
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(filepath.Dir(root), ".unpacking-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	fetched, unpacked := filepath.Join(staging, "packages"), filepath.Join(staging, "root")
	if err := fetch(ctx, fetched, packages); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(fetched, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := run(ctx, staging, "dpkg", "-x", file, unpacked); err != nil {
			return err
		}
	}
	err = os.Rename(unpacked, root)
	if errors.Is(err, os.ErrExist) { // another process was faster
		return nil
	}
	return err
}

// fetch tries with the lists of packages as they are, and then with new ones.
func fetch(ctx context.Context, into string, packages []string) error {
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	download := append([]string{"download", "--quiet"}, packages...)
	if run(ctx, into, "apt-get", download...) == nil {
		return nil
	}
	if err := run(ctx, into, "apt-get", "update", "--quiet"); err != nil {
		return err
	}
	return run(ctx, into, "apt-get", download...)
}

func run(ctx context.Context, dir, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// Path returns the path of a file of a package, "/usr/bin/runc" for instance.
func (r Root) Path(file string) string { return filepath.Join(string(r), file) }

// Environment are the variables that programs of the packages are found and run
// with: those of the machine come after them.
func (r Root) Environment() []string {
	libraries, _ := filepath.Glob(r.Path("/usr/lib/*-linux-gnu*"))
	more, _ := filepath.Glob(r.Path("/lib/*-linux-gnu*"))
	programs := []string{r.Path("/usr/bin"), r.Path("/usr/sbin"), r.Path("/sbin"), os.Getenv("PATH")}
	return []string{
		"PATH=" + strings.Join(programs, ":"),
		"LD_LIBRARY_PATH=" + strings.Join(append(libraries, more...), ":"),
	}
}
