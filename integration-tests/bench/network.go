package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/internal/proof/netns"
)

const (
	// podAddresses are the addresses of simulated pods.
	podAddresses = "10.128.0.0/9"
	// networkFailed is the exit code of a second run that could not set up the network.
	networkFailed = 97
	// cleanupTimeout is how long a second run may take to stop its cluster.
	cleanupTimeout = 20 * time.Second
)

// enterNetwork runs the bench again in a network namespace that owns the addresses of pods, and exits
// with the exit code of that run. Inside the namespace it returns nil. If the namespace is not
// available, it returns the reason.
func enterNetwork(ctx context.Context) error {
	if netns.Inside() {
		if err := netns.Own(podAddresses); err != nil {
			fmt.Fprintln(os.Stderr, "no network namespace:", err)
			os.Exit(networkFailed)
		}
		return nil
	}
	if err := fetchPrograms(ctx); err != nil {
		return err
	}
	// A signal of the terminal also reaches the second run, which then stops its cluster.
	inside, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(cleanupTimeout, end) })()
	code, err := netns.Again(inside)
	switch {
	case err != nil:
		return err
	case code == networkFailed:
		return errors.New("the network namespace could not be set up")
	}
	os.Exit(code)
	return nil
}

// fetchPrograms downloads everything that is needed later, because the network namespace has no
// connection to the outside.
func fetchPrograms(ctx context.Context) error {
	for _, program := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kwok"} {
		if _, err := localcluster.Program(ctx, program, os.Stderr); err != nil {
			return err
		}
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "./cmd/lockstep")
	list.Dir, list.Env = "..", append(os.Environ(), "GOWORK=off")
	if out, err := list.CombinedOutput(); err != nil {
		return fmt.Errorf("list what the operator needs: %w: %s", err, out)
	}
	return nil
}
