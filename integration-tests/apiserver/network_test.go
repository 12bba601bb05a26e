package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/internal/proof/netns"
)

// lockstep calls pods at their own addresses. So the suite and the API server run in a network of
// their own in which these addresses belong to this machine.

const (
	// podAddresses are the addresses of simulated pods.
	podAddresses = "10.128.0.0/9"
	// withoutNetwork is the exit code of a second run that could not set up the network.
	withoutNetwork = 97
)

// noNetwork is the reason why pods cannot be reached.
var noNetwork error

// enterNetwork runs the suite again in its own network and ends this run with the same exit code.
// It returns if there can be no such network, and inside of the network.
func enterNetwork() {
	if netns.Inside() {
		if err := netns.Own(podAddresses); err != nil {
			fmt.Fprintln(os.Stderr, "no separate network:", err)
			os.Exit(withoutNetwork)
		}
		return
	}
	ctx := context.Background()
	if noNetwork = fetchBefore(ctx); noNetwork != nil {
		return
	}
	code, err := netns.Again(ctx)
	switch {
	case err != nil:
		noNetwork = err
	case code == withoutNetwork:
		noNetwork = errors.New("it could not be set up")
	default:
		os.Exit(code)
	}
}

// fetchBefore downloads everything that the suite needs. The suite's own network has no route to
// other networks.
func fetchBefore(ctx context.Context) error {
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"} {
		if _, err := localcluster.Program(ctx, program, os.Stderr); err != nil {
			return err
		}
	}
	if _, err := localcluster.JaegerProgram(ctx, os.Stderr); err != nil {
		return err
	}
	for _, packages := range [][]string{
		{"./cmd/lockstep"},
		{"-modfile=.tools/kustomize/go.mod", "sigs.k8s.io/kustomize/kustomize/v5"},
	} {
		list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps"}, packages...)...)
		list.Dir, list.Env = repository, append(os.Environ(), "GOWORK=off")
		if out, err := list.CombinedOutput(); err != nil {
			return fmt.Errorf("list what %v needs: %w: %s", packages, err, out)
		}
	}
	return nil
}

// needsNetwork skips or fails a test that needs calls to pods if there is no network.
func needsNetwork(t *testing.T) {
	t.Helper()
	netns.Need(t, noNetwork)
}
