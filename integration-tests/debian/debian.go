// Package debian unpacks Debian packages into the user's cache folder, so that their programs run
// on machines on which nothing may be installed.
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
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/integration-tests/flock"
)

// Errors of packages that cannot be fetched for reasons outside of this package.
var (
	// ErrUnreachable means that no server for packages answers.
	ErrUnreachable = errors.New("packages of Debian cannot be fetched")

	// ErrLacking means that the distribution has no packages with these names.
	ErrLacking = errors.New("the distribution lacks packages")
)

// Root is the folder with unpacked packages, laid out like /.
type Root string

// Missing returns the reason why packages cannot be fetched here, or nil.
func Missing() error {
	for _, program := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("packages are fetched with apt-get and unpacked with dpkg: %w", err)
		}
	}
	return nil
}

// Unpack returns the root with these packages, without their dependencies. The first call for a
// list of packages fetches them. They do not change until the folder is removed. Progress may be
// nil.
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

// unpackAll creates the root under another name first, so that it is complete or missing. Other
// processes that need the same root wait meanwhile. The next process removes the remains of a
// killed one.
func unpackAll(ctx context.Context, root string, packages []string) error {
	shelf := filepath.Dir(root)
	if err := os.MkdirAll(shelf, 0o755); err != nil {
		return err
	}
	lock, err := flock.Lock(ctx, shelf)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(root); err == nil { // another process was faster
		return nil
	}
	staging := filepath.Join(shelf, ".unpacking")
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	fetched, err := fetch(ctx, staging, packages)
	if err != nil {
		return err
	}
	unpacked := filepath.Join(staging, "root")
	for _, file := range fetched {
		if err := run(ctx, staging, "dpkg", "-x", file, unpacked); err != nil {
			return err
		}
	}
	return os.Rename(unpacked, root)
}

// fetch fetches packages with package lists of its own and returns their files. The machine's lists
// may be old and read-only, and are not changed.
func fetch(ctx context.Context, staging string, packages []string) ([]string, error) {
	lists, cache, into := filepath.Join(staging, "lists"), filepath.Join(staging, "cache"), filepath.Join(staging, "packages")
	for _, folder := range []string{lists, cache, into} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	aptGet := func(args ...string) error {
		own := []string{"-o", "Dir::State::Lists=" + lists, "-o", "Dir::Cache=" + cache, "-o", "APT::Update::Error-Mode=any"}
		return run(ctx, into, "apt-get", slices.Concat(own, []string{"--quiet"}, args)...)
	}
	if err := aptGet("update"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := lacking(aptGet, packages); err != nil {
		return nil, err
	}
	if err := aptGet(slices.Concat([]string{"download"}, packages)...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return filepath.Glob(filepath.Join(into, "*.deb"))
}

// lacking returns an error for packages that do not exist, with the message of apt-get.
func lacking(aptGet func(args ...string) error, packages []string) error {
	find := func(packages ...string) error {
		return aptGet(slices.Concat([]string{"download", "--print-uris"}, packages)...)
	}
	err := find(packages...)
	if err == nil {
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(packages), func(name string) bool { return find(name) == nil })
	if len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s has no %s: %w", ErrLacking, distribution(), strings.Join(missing, ", "), err)
}

// distribution returns the name of this distribution.
func distribution() string {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return "this distribution"
	}
	for line := range strings.Lines(string(release)) {
		if name, found := strings.CutPrefix(line, "PRETTY_NAME="); found {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return "this distribution"
}

func run(ctx context.Context, dir, program string, args ...string) error {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// Path returns the path of a file of a package, for example "/usr/bin/runc".
func (r Root) Path(file string) string { return filepath.Join(string(r), file) }

// Environment returns the variables with which programs of the packages are found and run. Programs
// of the machine come after them.
func (r Root) Environment() []string {
	libraries, _ := filepath.Glob(r.Path("/usr/lib/*-linux-gnu*"))
	more, _ := filepath.Glob(r.Path("/lib/*-linux-gnu*"))
	programs := []string{r.Path("/usr/bin"), r.Path("/usr/sbin"), r.Path("/sbin"), os.Getenv("PATH")}
	return []string{
		"PATH=" + strings.Join(programs, ":"),
		"LD_LIBRARY_PATH=" + strings.Join(append(libraries, more...), ":"),
	}
}
