package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// servesVisitors runs this suite and the demo again on the suite's own nodes, as a user who has
// only a kubeconfig.
func (w *world) servesVisitors(t *testing.T) {
	v := w.visitor(t)
	t.Run("refused where lockstep is installed", v.isRefused)
	if err := w.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("scenarios pass", v.runsScenarios)
	t.Run("scenarios are interrupted", v.interruptsScenarios)
	t.Run("the demo passes", v.runsTheDemo)
	t.Run("the demo is interrupted", v.interruptsTheDemo)
}

func (v *visitor) isRefused(t *testing.T) {
	for name, program := range map[string]*exec.Cmd{"suite": v.suite(t.Context()), "demo": v.demo(t.Context())} {
		out, err := finish(t, program)
		if err == nil || !strings.Contains(out, "nothing of it was touched") || !strings.Contains(out, "docs/installation.md") {
			t.Errorf("where lockstep is installed, the %s prints %q and ends with %v", name, out, err)
		}
	}
	if wrote := v.wrote(t); len(wrote) > 0 {
		t.Errorf("it wrote all the same: %q", wrote)
	}
}

func (v *visitor) runsScenarios(t *testing.T) {
	look := v.beginsVisit(t)
	out, err := finish(t, v.suite(t.Context()))
	if err != nil {
		t.Error(err)
	}
	wantPrinted(t, out,
		"NOT JUDGED", "SKIPPED, NOT PROVED: the process", "SKIPPED, NOT PROVED: a drain",
		"--- PASS: TestLockstepOnRealNodes/one_command_removes_everything",
		"--- PASS: TestLockstepOnRealNodes/the_operator_is_upgraded_in_the_middle_of_a_rollout")
	look.wantNoRemains(t)
	look.wantNothingElseTouched(t, ofSuite)
	look.judge(t, ofSuite, guarded, 47) // 12 roll, 10 repair, 3 hold still, 6 continue without the leader, 4 before the uninstallation, 12 in upgrades
}

func (v *visitor) interruptsScenarios(t *testing.T) {
	v.interrupts(t, namePrefix+"rolls-north", ofSuite, func(ctx context.Context) *exec.Cmd {
		return v.suite(ctx, "the first installation", "side by side")
	})
}

func (v *visitor) interruptsTheDemo(t *testing.T) { v.interrupts(t, "north", ofDemo, v.demo) }

// interrupts presses Ctrl-C when a namespace exists.
func (v *visitor) interrupts(t *testing.T, namespace string, theirs func(string) bool, program func(context.Context) *exec.Cmd) {
	t.Helper()
	look := v.beginsVisit(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		v.awaitsNamespace(ctx, namespace)
		interrupt()
	}()
	out, err := finish(t, program(ctx))
	if exit, ended := errors.AsType[*exec.ExitError](err); !ended || exit.ExitCode() != exitInterrupted {
		t.Errorf("it was interrupted and ended with %v", err)
	}
	wantPrinted(t, out, "taking away what")
	look.wantNoRemains(t)
	look.wantNothingElseTouched(t, theirs)
	if !slices.ContainsFunc(v.wrote(t)[look.wrote:], func(r judge.Request) bool { return theirs(r.Namespace) }) {
		t.Errorf("it was interrupted before it wrote anything to %s", namespace)
	}
}

func (v *visitor) runsTheDemo(t *testing.T) {
	look := v.beginsVisit(t)
	out, err := finish(t, v.demo(t.Context()))
	if err != nil {
		t.Error(err)
	}
	wantPrinted(t, out, "NOT JUDGED", "Nothing was violated", "24 pods in 2 groups replaced")
	look.wantNoRemains(t)
	look.wantNothingElseTouched(t, ofDemo)
	look.judge(t, ofDemo, unguarded, 24)
}

func wantPrinted(t *testing.T, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("it does not print %q", text)
		}
	}
}

// demoProgram is the demo in the folder of the enclosure.
const demoProgram = "demo"

func buildDemo(ctx context.Context, dir string) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, demoProgram), "../demo")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	return build.Run()
}

// suite returns the command that runs this suite, or some of its scenarios.
func (v *visitor) suite(ctx context.Context, scenarios ...string) *exec.Cmd {
	which := "TestLockstepOnRealNodes"
	if len(scenarios) > 0 {
		which += "/^(" + strings.Join(scenarios, "|") + ")"
	}
	return v.command(ctx, os.Args[0], []string{"-test.v", "-test.parallel=4", "-test.timeout=20m", "-test.run=" + which})
}

func (v *visitor) demo(ctx context.Context) *exec.Cmd {
	return v.command(ctx, filepath.Join(enclosure.Dir(), demoProgram), nil, "DEMO_IMAGE="+images.Member)
}

// command returns the command that runs a program for the visitor. When ctx ends, the program is
// interrupted.
func (v *visitor) command(ctx context.Context, program string, args []string, variables ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGINT) }
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LOCKSTEP_") { // those variables are about the enclosure
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(command.Env, "KUBECONFIG_E2E="+v.kubeconfig)
	command.Env = append(command.Env, variables...)
	return command
}

// finish runs a program to its end and returns its output.
func finish(t *testing.T, command *exec.Cmd) (string, error) {
	t.Helper()
	out, err := command.CombinedOutput()
	t.Logf("%s ended with %v:\n  | %s", command, err, strings.ReplaceAll(string(out), "\n", "\n  | "))
	return string(out), err
}
