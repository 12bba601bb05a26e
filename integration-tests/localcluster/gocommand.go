package localcluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// runGo runs the go command for a build. It calls step for each printed line about a package. If
// the command fails, the other lines are the error.
func runGo(ctx context.Context, dir string, args, env []string, step func()) error {
	cmd := goCommand(ctx, dir, args, env)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := child.Start(cmd); err != nil {
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
	if err := child.Start(cmd); err != nil {
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

// repositoryFolder returns a folder of lockstep's source. It searches from the working directory
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
