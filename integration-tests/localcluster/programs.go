package localcluster

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"
)

// The programs of a cluster by name, and the packages they are built from. All
// belong to the module in the folder controlplane.
var packages = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
	"kwok":                    "sigs.k8s.io/kwok/cmd/kwok",
}

// static is the environment that builds programs which need no C library.
var static = []string{"CGO_ENABLED=0"}

// assetsVariable names a folder with ready-made programs, as other Kubernetes test
// harnesses use it.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Program returns the path of a program of the control plane, for instance
// "kubectl". It is taken from the folder that KUBEBUILDER_ASSETS names, or from the
// user's cache, where it is built when it is missing; all missing programs are then
// built together, which takes minutes. Progress may be nil.
func Program(ctx context.Context, name string, progress io.Writer) (string, error) {
	if _, known := packages[name]; !known {
		return "", fmt.Errorf("find program %q: unknown, there are %s", name, strings.Join(programNames(), ", "))
	}
	if progress == nil {
		progress = io.Discard
	}
	paths, err := findPrograms(ctx, progress)
	if err != nil {
		return "", err
	}
	return paths[name], nil
}

func programNames() []string {
	names := make([]string, 0, len(packages))
	for name := range packages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// findPrograms returns the path of every program, and builds what is missing.
func findPrograms(ctx context.Context, out io.Writer) (map[string]string, error) {
	paths, missing := map[string]string{}, []string{}
	assets := os.Getenv(assetsVariable)
	for _, name := range programNames() {
		if ready := filepath.Join(assets, name); assets != "" && executable(ready) {
			paths[name] = ready
			continue
		}
		missing = append(missing, name)
	}
	if len(missing) == 0 {
		return paths, nil
	}

	source, err := repositoryFolder("integration-tests", "controlplane")
	if err != nil {
		return nil, err
	}
	shelf, err := openShelf(source)
	if err != nil {
		return nil, err
	}
	if err := shelf.fill(ctx, missing, out); err != nil {
		return nil, fmt.Errorf("build control plane: %w", err)
	}
	for _, name := range missing {
		paths[name] = shelf.path(name)
	}
	return paths, nil
}

// shelf is the folder in the user's cache that holds the programs built from one
// state of the controlplane module.
type shelf struct {
	source     string // folder of the module
	dir        string
	kubernetes string // version
	kwok       string // version
}

func openShelf(source string) (*shelf, error) {
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
	s := &shelf{source: source}
	for _, r := range parsed.Require {
		switch r.Mod.Path {
		case "k8s.io/kubernetes":
			s.kubernetes = r.Mod.Version
		case "sigs.k8s.io/kwok":
			s.kwok = r.Mod.Version
		}
	}
	hash := sha256.Sum256(slices.Concat(mod, sum))
	key := fmt.Sprintf("%s-%s-%s-%x", s.kubernetes, runtime.GOOS, runtime.GOARCH, hash[:6])
	s.dir = filepath.Join(cache, "lockstep", "controlplane", key)
	return s, nil
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

// fill builds those of the named programs that are not there yet. Processes that
// want the same wait for each other, and a program appears under its name only
// when it is complete.
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
	staging := s.path(".building") // ours alone while we hold the lock
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }() // the next one to build removes what stays
	if err := s.build(ctx, lacking, staging, out); err != nil {
		return err
	}
	for _, name := range lacking {
		built := filepath.Join(staging, binaryName(packages[name]))
		if err := os.Rename(built, s.path(name)); err != nil {
			return err
		}
	}
	return nil
}

// build runs the go command once for all programs: they share most of their
// packages, and while one is linked the next can be compiled.
func (s *shelf) build(ctx context.Context, names []string, into string, out io.Writer) error {
	var from []string
	for _, name := range names {
		from = append(from, packages[name])
	}
	show := startProgress(out, fmt.Sprintf("building %d programs of Kubernetes %s (once, 5 to 10 minutes on 2 cores)",
		len(names), s.kubernetes))
	err := func() error {
		total, err := s.countPackages(ctx, from)
		if err != nil {
			return err
		}
		show.expect(total)
		// -v prints the name of each package that is compiled.
		args := slices.Concat([]string{"build", "-v", "-mod=readonly", "-buildvcs=false",
			"-ldflags", s.linkerFlags(), "-o", into + string(filepath.Separator)}, from)
		return runGo(ctx, s.source, args, static, show.step)
	}()
	show.end(err)
	return err
}

func (s *shelf) countPackages(ctx context.Context, of []string) (int, error) {
	count := 0
	args := append([]string{"list", "-mod=readonly", "-deps"}, of...)
	err := runGoLines(ctx, s.source, args, static, func(string) { count++ })
	return count, err
}

func (s *shelf) linkerFlags() string {
	version := "k8s.io/component-base/version"
	major, rest, _ := strings.Cut(strings.TrimPrefix(s.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	return strings.Join([]string{
		"-s", "-w",
		"-X", version + ".gitVersion=" + s.kubernetes,
		"-X", version + ".gitMajor=" + major,
		"-X", version + ".gitMinor=" + minor,
		"-X", "sigs.k8s.io/kwok/pkg/consts.Version=" + s.kwok,
	}, " ")
}

// binaryName is what the go command calls the program built from a package.
func binaryName(pkg string) string {
	base := path.Base(pkg)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" {
		base = path.Base(path.Dir(pkg))
	}
	return base
}

// runGo runs the go command for a build. Each line it prints about a package calls
// step; the other lines are the error if it fails.
func runGo(ctx context.Context, dir string, args, env []string, step func()) error {
	cmd := goCommand(ctx, dir, args, env)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := startFromLastingThread(cmd); err != nil {
		return fmt.Errorf("start go: %w", err)
	}
	var complaints []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if line := lines.Text(); strings.ContainsAny(line, " \t") {
			complaints = append(complaints, line)
		} else {
			step()
		}
	}
	return goResult(ctx, args, cmd.Wait(), complaints)
}

// runGoLines runs the go command and calls line for each line of its output.
func runGoLines(ctx context.Context, dir string, args, env []string, line func(string)) error {
	cmd := goCommand(ctx, dir, args, env)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := startFromLastingThread(cmd); err != nil {
		return fmt.Errorf("start go: %w", err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line(lines.Text())
	}
	return goResult(ctx, args, cmd.Wait(), []string{complaints.String()})
}

func goCommand(ctx context.Context, dir string, args, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off"}, env)
	cmd.SysProcAttr = ownGroup()
	dieWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func goResult(ctx context.Context, args []string, err error, complaints []string) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("run go %s: %w", args[0], context.Cause(ctx))
	}
	last := complaints[max(0, len(complaints)-20):]
	return fmt.Errorf("run go %s: %w\n%s", args[0], err, strings.Join(last, "\n"))
}

func waitForLock(ctx context.Context, path string, out io.Writer) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			lock.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			fmt.Fprintln(out, "waiting for another process that builds the control plane")
		}
		select {
		case <-ctx.Done():
			lock.Close()
			return nil, fmt.Errorf("lock %s: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// repositoryFolder finds a folder of lockstep's source, from the working directory
// upwards.
func repositoryFolder(parts ...string) (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "integration-tests", "controlplane", "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, parts...)...), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find lockstep's source: no folder above %s holds integration-tests/controlplane; run this inside a checkout", start)
		}
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
