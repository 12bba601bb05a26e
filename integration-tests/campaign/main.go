// Command campaign tries lockstep under faults that nobody chose, on a local cluster,
// plan by plan, and prints what came of it.
//
//	go run ./campaign [-plans 60] [-seed 1] [-results FILE] [-only SEED] [-operator PROGRAM | -mutant NAME]
//
// A plan is made from its seed alone: one or two groups of three zones in a namespace
// of its own, what users ask of them, and what goes wrong meanwhile. Two operators of
// its own work there, each behind a fault proxy, for this one namespace and with the
// Role that the manifests have for that. Several plans share a cluster at a time.
//
//	seed ──► plan ──► trial ─┬─► zones, operators, webhooks, steps of users, faults
//	                         ├─► the goal: everything that was asked for has come about
//	                         └─► the judge (package judge): audit logs and watches
//
// What is found goes to a file of JSON lines. Seeds that stand there for this very
// code are not tried again, so a run can be interrupted and added to.
//
// The exit code is 1 when a promise was broken, a goal was not reached, or an attempt at a
// plan could not be carried out or judged, and 3 when the campaign could not go on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// Exit codes. With `go run` the shell sees 1 for all but exitFine.
const (
	exitFine   = 0
	exitBroken = 1
	exitUsage  = 2
	exitFailed = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(klog.Logger{}) // client-go complains of an API server that is away on purpose
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	s, err := parse(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitFine
	case err != nil:
		fmt.Fprintln(os.Stderr, "campaign:", err)
		return exitUsage
	}
	c := &campaign{settings: s, out: os.Stdout, progress: os.Stderr}
	fine, err := c.run(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "campaign:", err)
		return exitFailed
	case !fine:
		return exitBroken
	}
	return exitFine
}

// settings are what the command line says.
type settings struct {
	plans   int    // how many seeds
	seed    uint64 // the first of them
	only    uint64 // this one alone, whatever is recorded; 0: none
	results string // path
	atOnce  int    // plans on a cluster at a time
	program string // another operator's path; empty: that of this source tree
	mutant  string // the mistake that is planted in it; empty: none
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("campaign", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.plans, "plans", 60, "how many plans")
	flags.Uint64Var(&s.seed, "seed", 1, "seed of the first plan; the others follow it")
	flags.Uint64Var(&s.only, "only", 0, "carry out the plan of this seed alone, told in full, and record nothing")
	flags.StringVar(&s.results, "results", "bin/faults.jsonl", "file of results, which is added to")
	flags.IntVar(&s.atOnce, "at-once", 8, "how many plans share the cluster at a time")
	flags.StringVar(&s.program, "operator", "", "path of the operator to try, instead of one built from this source tree")
	flags.StringVar(&s.mutant, "mutant", "", "plant this mistake in the operator, which the campaign should find: "+mutantNames())
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("read command line: %q is not a flag", flags.Arg(0))
	case s.mutant != "" && s.program != "":
		return s, errors.New("read command line: -mutant and -operator exclude each other")
	case s.plans < 1 || s.atOnce < 1 || s.seed < 1:
		return s, errors.New("read command line: -plans, -at-once and -seed are at least 1")
	}
	return s, nil
}
