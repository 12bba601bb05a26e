// Package images builds the images that the suite on real nodes runs: of the operator
// in this source tree, with what the Dockerfile puts in it, of the one that upgrades begin with,
// and of the suite's own programs.
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

	"github.com/lockstep-dev/lockstep/integration-tests/image"
)

// registryVariable names where images are called from, for who brings them to a
// cluster through a registry.
const registryVariable = "E2E_REGISTRY"

// The names of the images.
var (
	Operator = name("lockstep:e2e")
	Former   = name("lockstep:e2e-former") // what upgrades begin with
	Member   = name("member:e2e")
	Pause    = name("pause:e2e")
)

// All are all of them.
var All = []string{Operator, Former, Member, Pause}

func name(of string) string {
	return cmp.Or(os.Getenv(registryVariable), "lockstep.test") + "/" + of
}

// operatorFlags are those of the Dockerfile but -trimpath, so that what other builds
// compiled is used again.
var operatorFlags = []string{"-tags=grpcnotrace", "-buildvcs=false", "-ldflags=-s -w -X main.version=e2e"}

// Write writes these images of a source tree into a folder, one file each.
func Write(ctx context.Context, repository, into string, names ...string) error {
	into, err := filepath.Abs(into)
	if err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("write images: %w", err)
	}
	for _, name := range names {
		if err := write(ctx, repository, into, name); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	return nil
}

func write(ctx context.Context, repository, into, name string) error {
	suites := filepath.Join(repository, "integration-tests")
	w := work{image: name, source: suites}
	switch name {
	case Pause:
		w.pkg = "./pause"
	case Member:
		w.pkg = "./member"
	case Operator:
		w.source, w.pkg, w.operator = repository, operatorPackage, true
	case Former:
		former, err := os.MkdirTemp("", "lockstep-former-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(former) }()
		if err := FormerSource(ctx, repository, former); err != nil {
			return err
		}
		w.source, w.pkg, w.operator = former, operatorPackage, true
	default:
		return errors.New("there is no such image")
	}
	return w.do(ctx, into)
}

const operatorPackage = "./cmd/lockstep"

// work is an image to build.
type work struct {
	image       string
	source, pkg string
	operator    bool
}

func (w work) do(ctx context.Context, into string) error {
	programs, err := os.MkdirTemp("", "lockstep-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	built := image.Image{Name: w.image, Program: filepath.Join(programs, filepath.Base(w.pkg))}
	var flags []string
	if w.operator {
		flags, built.User = operatorFlags, "65532:65532"
		built.Files = map[string]string{"/LICENSE": filepath.Join(w.source, "LICENSE")}
	}
	if err := compile(ctx, w.source, slices.Concat([]string{"build", "-o", built.Program}, flags, []string{w.pkg})); err != nil {
		return err
	}
	return built.Write(filepath.Join(into, fileName(w.image)))
}

// fileName is that of an image's file: "lockstep.test/member:e2e" is member-e2e.tar.
func fileName(image string) string {
	return strings.ReplaceAll(image[strings.LastIndex(image, "/")+1:], ":", "-") + ".tar"
}

func compile(ctx context.Context, source string, args []string) error {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir, command.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return run(command)
}

// FormerSource takes the source tree that upgrades begin with out of the repository of
// this one, into a folder.
func FormerSource(ctx context.Context, repository, into string) error {
	commit, err := os.ReadFile(filepath.Join(repository, "integration-tests", "upgrade", "from"))
	if err != nil {
		return fmt.Errorf("find the commit that upgrades begin with: %w", err)
	}
	archive := filepath.Join(into, "source.tar")
	if err := run(exec.CommandContext(ctx, "git", "-C", repository, "archive", "--output="+archive, strings.TrimSpace(string(commit)))); err != nil {
		return err
	}
	return run(exec.CommandContext(ctx, "tar", "-xf", archive, "-C", into))
}

func run(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}
