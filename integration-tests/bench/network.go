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
	// podAddresses are those that simulated pods get.
	podAddresses = "10.128.0.0/9"
	// withoutNetwork is the exit code of a second run that could not set it up.
	withoutNetwork = 97
	// tidyTime is how long a second run may take to end its cluster.
	tidyTime = 20 * time.Second
)

// enterNetwork runs the bench again, in a network in which the addresses of pods
// are this machine's, and ends this run with the exit code of that one. Within it,
// it returns nil, and where it cannot be had, why.
func enterNetwork(ctx context.Context) error {
	if netns.Inside() {
		if err := netns.Own(podAddresses); err != nil {
			fmt.Fprintln(os.Stderr, "no network of our own:", err)
			os.Exit(withoutNetwork)
		}
		return nil
	}
	if err := fetchBefore(ctx); err != nil {
		return err
	}
	// A signal of the terminal reaches the second run as well, which then tidies up.
	inside, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(tidyTime, end) })()
	code, err := netns.Again(inside)
	switch {
	case err != nil:
		return err
	case code == withoutNetwork:
		return errors.New("it could not be set up")
	}
	os.Exit(code)
	return nil
}

// fetchBefore makes sure that nothing has to be downloaded later: there is no way
// out of that network.
func fetchBefore(ctx context.Context) error {
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
