// Package images builds the images of the suite on real nodes: the operator in this source tree,
// with the files of the Dockerfile; the operator from which upgrades start; and the suite's own
// programs.
package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/integration-tests/flock"
	"github.com/lockstep-dev/lockstep/integration-tests/image"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// registryVariable names the registry of the images, for clusters that pull them from a registry.
const registryVariable = "E2E_REGISTRY"

// The names of the images.
var (
	Operator   = name("lockstep:e2e")
	Former     = name("lockstep:e2e-former") // the version from which upgrades start
	Member     = name("member:e2e")
	NextMember = name("member:e2e-next") // the same with another version
	Pause      = name("pause:e2e")
)

// All lists all images.
var All = []string{Operator, Former, Member, NextMember, Pause}

func name(of string) string {
	return cmp.Or(os.Getenv(registryVariable), "lockstep.test") + "/" + of
}

// operatorFlags are the flags of the Dockerfile without -trimpath, so that the results of other
// builds are reused.
var operatorFlags = []string{"-tags=grpcnotrace", "-buildvcs=false", "-ldflags=-s -w -X main.version=e2e"}

// NextVersion is the version of the program in NextMember.
const NextVersion = "next"

// Write writes these images of a source tree into a folder, one file each. Only one process may do
// this at a time.
func Write(ctx context.Context, repository, into string, names ...string) error {
	into, err := filepath.Abs(into)
	if err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	lock, err := flock.Try(into)
	if err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	defer lock.Close()
	for _, name := range names {
		if err := write(ctx, repository, into, name); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	return nil
}

func write(ctx context.Context, repository, into, name string) (err error) {
	staging := filepath.Join(into, ".building")
	if err := os.RemoveAll(staging); err != nil { // of a killed process
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	suites := filepath.Join(repository, "integration-tests")
	made := image.Image{Name: name}
	switch name {
	case Pause:
		made.Program, err = compile(ctx, suites, staging, "./pause")
	case Member:
		made.Program, err = compile(ctx, suites, staging, "./member")
	case NextMember:
		made.Program, err = compile(ctx, suites, staging, "./member", "-ldflags=-X main.version="+NextVersion)
	case Operator:
		made.Program, err = compile(ctx, repository, staging, "./cmd/lockstep", operatorFlags...)
		asOperator(&made, repository)
	case Former:
		made.Program, err = buildFormer(ctx, repository, staging)
		asOperator(&made, repository)
	default:
		err = errors.New("there is no such image")
	}
	if err != nil {
		return err
	}
	return made.Write(filepath.Join(into, fileName(name)))
}

// asOperator adds the settings of the Dockerfile.
func asOperator(made *image.Image, repository string) {
	made.User = "65532:65532"
	made.Files = map[string]string{"/LICENSE": filepath.Join(repository, "LICENSE")}
}

// fileName returns the name of an image's file: "lockstep.test/member:e2e" is member-e2e.tar.
func fileName(image string) string {
	return strings.ReplaceAll(image[strings.LastIndex(image, "/")+1:], ":", "-") + ".tar"
}

// compile compiles a package into a folder and returns the path of the program.
func compile(ctx context.Context, source, into, pkg string, flags ...string) (string, error) {
	program := filepath.Join(into, filepath.Base(pkg))
	command := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-o", program}, flags, []string{pkg})...)
	command.Dir, command.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return program, run(command)
}

// buildFormer returns the program from which upgrades start, with its name in images.
func buildFormer(ctx context.Context, repository, into string) (string, error) {
	commit, err := formerCommit(repository)
	if err != nil {
		return "", err
	}
	kept, err := localcluster.BuildFormerOperator(ctx, commit, os.Stderr)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(into, "lockstep")
	return program, os.Symlink(kept, program)
}

func formerCommit(repository string) (string, error) {
	commit, err := os.ReadFile(filepath.Join(repository, "integration-tests", "upgrade", "from"))
	if err != nil {
		return "", fmt.Errorf("find the commit that upgrades begin with: %w", err)
	}
	return strings.TrimSpace(string(commit)), nil
}

// FormerManifests extracts the folder manifests of the commit from which upgrades start into a
// folder.
func FormerManifests(ctx context.Context, repository, into string) error {
	commit, err := formerCommit(repository)
	if err != nil {
		return err
	}
	archive := filepath.Join(into, "manifests.tar")
	// The repository may belong to another user.
	if err := run(exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "-C", repository, "archive", "--output="+archive, commit, "manifests")); err != nil {
		return fmt.Errorf("%w (git fetch --unshallow brings what a shallow clone lacks)", err)
	}
	return run(exec.CommandContext(ctx, "tar", "-xf", archive, "-C", into))
}

func run(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}
