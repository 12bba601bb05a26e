package localcluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
)

// shelf is the folder in the user's cache with the programs that were built from one version of a
// module.
type shelf struct {
	source   string // folder of the module
	dir      string
	packages map[string]string // packages of the programs, by name
	title    string            // what is built, and how long it takes
	versions map[string]string // of the modules that it requires
	linker   []string
	tags     string // the flag with the build tags
}

// openShelf opens the shelf of the module in a folder of this repository. The version of the module
// main names it.
func openShelf(kind, main string, packages map[string]string, folder ...string) (*shelf, error) {
	source, err := repositoryFolder(folder...)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the user's cache folder: %w", err)
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	sum, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	parsed, err := modfile.ParseLax(filepath.Join(source, "go.mod"), mod, nil)
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	s := &shelf{source: source, packages: packages, versions: map[string]string{}, linker: []string{"-s", "-w"}, tags: "-tags="}
	for _, r := range parsed.Require {
		s.versions[r.Mod.Path] = r.Mod.Version
	}
	state, err := sourceIn(source)
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	hash := sha256.Sum256(slices.Concat(mod, sum, state))
	key := fmt.Sprintf("%s-%s-%s-%x", s.versions[main], runtime.GOOS, runtime.GOARCH, hash[:6])
	s.dir = filepath.Join(cache, "lockstep", kind, key)
	return s, nil
}

// sourceIn returns the content of all Go files in a folder. Most of these modules have none,
// because they build programs of other modules.
func sourceIn(folder string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, content...)
	}
	return all, nil
}

func (s *shelf) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shelf) lacks(names []string) []string {
	var lacking []string
	for _, name := range names {
		if !executable(s.path(name)) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// fill builds the missing ones of the named programs. Processes that need the same programs wait
// for each other. A program appears under its name only when it is complete.
func (s *shelf) fill(ctx context.Context, names []string, out io.Writer) error {
	if len(s.lacks(names)) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	lock, err := waitForLock(ctx, s.path(".lock"), out)
	if err != nil {
		return err
	}
	defer lock.Close()

	lacking := s.lacks(names)
	if len(lacking) == 0 {
		return nil
	}
	staging := s.path(".building") // no other process uses it while this one holds the lock
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }() // the next build removes remaining files
	if err := s.build(ctx, lacking, staging, out); err != nil {
		return err
	}
	for _, name := range lacking {
		built := filepath.Join(staging, binaryName(s.packages[name]))
		if err := os.Rename(built, s.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// build runs the go command once for all programs, because they share most packages. While one is
// linked, the next can be compiled.
func (s *shelf) build(ctx context.Context, names []string, into string, out io.Writer) error {
	var from []string
	for _, name := range names {
		from = append(from, s.packages[name])
	}
	show := startTask(out, s.title)
	err := func() error {
		total, err := s.countPackages(ctx, from)
		if err != nil {
			return err
		}
		show.expect(total)
		// -v prints the name of each package that is compiled.
		args := slices.Concat([]string{"build", "-v", "-mod=readonly", "-buildvcs=false",
			"-gcflags=all=-dwarf=false", "-ldflags", strings.Join(s.linker, " "), s.tags, "-o", into + string(filepath.Separator)}, from)
		return runGo(ctx, s.source, args, static, show.step)
	}()
	show.end(err)
	return err
}

func (s *shelf) countPackages(ctx context.Context, of []string) (int, error) {
	count := 0
	args := append([]string{"list", "-mod=readonly", s.tags, "-deps"}, of...)
	err := runGoLines(ctx, s.source, args, static, func(string) { count++ })
	return count, err
}

// binaryName returns the go command's name for the program of a package.
func binaryName(pkg string) string {
	base := path.Base(pkg)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(pkg))
	}
	return base
}

func waitForLock(ctx context.Context, path string, out io.Writer) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for logged := false; ; logged = true {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			lock.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !logged {
			fmt.Fprintln(out, "waiting for another process that builds the same")
		}
		select {
		case <-ctx.Done():
			lock.Close()
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}
