package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/child"
)

// yours returns the kubeconfig of the user's cluster; if it is empty, the suite creates its own.
func yours() string { return os.Getenv("KUBECONFIG_E2E") }

// attendance is set for the process that runs the tests on a user's cluster.
const attendance = "LOCKSTEP_E2E_ATTENDED"

func attended() bool { return os.Getenv(attendance) != "" }

const exitInterrupted = 130

// attend runs the tests on a user's cluster, in a process of their own. Before that, it fails if
// the cluster has objects of lockstep. However the tests end, it deletes the objects that they
// created.
func attend() (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := openWorld(ctx, yours())
	if err != nil {
		return 0, err
	}
	if err := w.isFree(ctx); err != nil {
		return 0, err
	}
	code, err = runTests(ctx)
	if ctx.Err() != nil {
		stop() // a second signal ends this process at once
		code, err = exitInterrupted, nil
	}
	fmt.Println("taking away what was made on", yours())
	return code, errors.Join(err, w.sweep(context.WithoutCancel(ctx)))
}

// runTests runs this program again. When ctx ends, it kills the program with all processes that it
// started.
func runTests(ctx context.Context) (code int, err error) {
	tests := exec.CommandContext(ctx, os.Args[0], os.Args[1:]...)
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	tests.Env = append(os.Environ(), attendance+"=1")
	tests.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tests.Cancel = func() error { return syscall.Kill(-tests.Process.Pid, syscall.SIGKILL) }
	if err := child.Start(tests); err != nil {
		return 0, err
	}
	err = tests.Wait()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// isFree returns an error if a cluster already has objects of lockstep.
func (w *world) isFree(ctx context.Context) error {
	there, err := w.traces(ctx)
	if err != nil {
		return err
	}
	for _, label := range []string{optIn, maker} {
		namespaces, err := w.admin.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: label})
		if err != nil {
			return err
		}
		for _, n := range namespaces.Items {
			there = append(there, fmt.Sprintf("namespace %s, which has the label %s", n.Name, label))
		}
	}
	if len(there) == 0 {
		return nil
	}
	return fmt.Errorf(`this cluster has something of lockstep, and nothing of it was touched:
  %s
Here lockstep is installed, used and removed, with its definitions and all objects of these. Take another cluster, or uninstall
it first (docs/installation.md). Where all of this was left by a run that was killed, these take it away:
  %s`, strings.Join(there, "\n  "), strings.Join(broom(""), "\n  "))
}

// sweep deletes all objects that the suite creates in a cluster.
func (w *world) sweep(ctx context.Context) error {
	for _, command := range broom(repository + "/") {
		if err := w.try(ctx, strings.Fields(command)[1:]...); err != nil {
			return err
		}
	}
	switch left, err := w.traces(ctx); {
	case err != nil:
		return err
	case len(left) > 0:
		return fmt.Errorf("remaining are %q", left)
	}
	return nil
}

// broom returns the commands of sweep, for a source tree in a folder.
func broom(tree string) []string {
	kind := " -f " + tree + "manifests/statefulcluster/"
	return []string{
		"kubectl delete namespaces --ignore-not-found --selector=" + madeByUs,
		"kubectl delete --ignore-not-found -k " + tree + "manifests/overlays/webhooks",
		"kubectl delete --ignore-not-found" + kind + "role.yaml" + kind + "users.yaml" + kind + "policy.yaml",
		"kubectl delete --ignore-not-found -f " + tree + "manifests/crds",
	}
}
