// Command campaign tests lockstep with randomly drawn faults on a local cluster, plan by plan, and
// prints the results.
//
//	go run ./campaign [-plans 60] [-seed 1] [-results FILE] [-only SEED] [-operator PROGRAM | -mutant NAME]
//
// The seed of a plan determines everything in it: one or two groups of three zones in a namespace of
// its own, in every other plan a StatefulCluster, the changes by users, and the faults. Each plan has
// two operators that manage this one namespace with the namespaced Roles of the manifests, each behind
// a fault proxy. Several plans share a cluster at a time.
//
//	seed ──► plan ──► trial ─┬─► zones, operators, webhooks, steps of users, faults
//	                         ├─► the goal: all requested changes are complete
//	                         └─► the judge (package judge): audit logs and watches
//
// The results are appended to a file of JSON lines. Seeds that are recorded for the same code are
// skipped, so a run can be interrupted and continued.
//
// The exit code is 1 if a guarantee was violated, a goal was not reached, or a plan could not be
// completed or verified. It is 3 if the campaign could not continue.
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

// These are the exit codes. With `go run` the shell sees 1 for all but exitFine.
const (
	exitFine   = 0
	exitBroken = 1
	exitUsage  = 2
	exitFailed = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(klog.Logger{}) // client-go logs errors while the API server is stopped on purpose
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

// settings are the flags.
type settings struct {
	plans    int    // number of seeds
	seed     uint64 // the first seed
	only     uint64 // the only seed to run, even if it is recorded; 0: none
	results  string // path of the results
	parallel int    // plans on a cluster at a time
	program  string // path of another operator; empty: the one of this source tree
	mutant   string // name of the mutant to build; empty: none
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("campaign", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.plans, "plans", 60, "number of plans")
	flags.Uint64Var(&s.seed, "seed", 1, "seed of the first plan; the others follow it")
	flags.Uint64Var(&s.only, "only", 0, "run only the plan of this seed, report it in full, and record nothing")
	flags.StringVar(&s.results, "results", repository+"bin/faults.jsonl", "file to which results are appended")
	flags.IntVar(&s.parallel, "at-once", 8, "number of plans that share the cluster at a time")
	flags.StringVar(&s.program, "operator", "", "path of the operator to test instead of lockstep of this source tree")
	flags.StringVar(&s.mutant, "mutant", "", "test an operator with this mistake, which the campaign should find: "+mutantNames())
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("parse command line: %q is not a flag", flags.Arg(0))
	case s.mutant != "" && s.program != "":
		return s, errors.New("parse command line: -mutant and -operator exclude each other")
	case s.plans < 1 || s.parallel < 1 || s.seed < 1:
		return s, errors.New("parse command line: -plans, -at-once and -seed must be at least 1")
	}
	return s, nil
}
