// Command demo shows a rollout: it starts a local cluster and the operator, rolls a group of three
// zones in each of two opted-in namespaces and one that is not, and draws the progress. Then it shows
// a StatefulCluster: it deletes the Node of a pod, and changes the image.
//
//	go run ./demo            roll, print tables, stop everything
//	DEMO_KEEP=1 go run ./demo   the same, but keep cluster and operator
//	DEMO_JAEGER=1 go run ./demo   the same, with a Jaeger that receives the traces
//	go run ./demo stop DIR   stop what DEMO_KEEP=1 left in DIR
//
// With KUBECONFIG_E2E=FILE the demo uses the user's cluster, with real pods of DEMO_IMAGE, and removes
// them at the end. It leaves out the StatefulCluster there, because it would delete a Node.
//
// Package judge verifies lockstep's guarantees from watches and the audit log. If a guarantee was
// violated, the exit code is 1. The judge shares no code with the operator and does not affect it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// These are the exit codes. With `go run` the shell sees 1 for all but exitFine.
const (
	exitFine        = 0
	exitViolated    = 1
	exitUsage       = 2
	exitFailed      = 3
	exitInterrupted = 130
)

const usage = `usage:
  go run ./demo           roll three zones in two namespaces on a local cluster, and lose a Node of a StatefulCluster
  go run ./demo stop DIR  end what DEMO_KEEP=1 left running in DIR

DEMO_KEEP=1  leaves cluster and operator running at the end
DEMO_JAEGER=1  starts a Jaeger and prints the addresses of the traces
KUBECONFIG_E2E=FILE DEMO_IMAGE=IMAGE  a cluster of yours in the place of the local one, with pods of IMAGE
NO_COLOR=1   draws without colours
`

// errInterrupted is the cause of a cancelled context after Ctrl-C.
var errInterrupted = errors.New("interrupted")

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, cancel := untilInterrupted()
	defer cancel()
	switch {
	case len(args) == 0:
		return conclude(demo(ctx, os.Stdout, os.Getenv("DEMO_KEEP") == "1"))
	case len(args) == 2 && args[0] == "stop":
		return conclude(nil, stopKept(ctx, os.Stdout, args[1]))
	}
	fmt.Fprint(os.Stderr, usage)
	return exitUsage
}

// untilInterrupted returns a context that ends with the first Ctrl-C. The second Ctrl-C ends the
// process as usual.
func untilInterrupted() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-interrupts
		signal.Stop(interrupts)
		cancel(errInterrupted)
	}()
	return ctx, func() { cancel(nil) }
}

func conclude(violations []violation, err error) int {
	switch {
	case err == errInterrupted: //nolint:errorlint // alone: nothing went wrong while ending
		fmt.Fprintln(os.Stderr, "interrupted; everything was ended")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		return exitFailed
	case len(violations) > 0:
		return exitViolated
	}
	return exitFine
}
