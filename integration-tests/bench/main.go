// Command bench measures lockstep on a local cluster and compares it with its goals, with a floor and
// with other operators. It prints a table below the conditions of the run. Both can be pasted into
// docs/performance.md.
//
//	go run ./bench [-only rollout,memory] [-long] [-contender 'NAME=COMMAND ...']
//
// The floor is a bare loop that deletes the next pod as soon as its watch shows the replacement ready.
// For webhooks, it is a webhook that allows everything. For scaling, it is a watch and patches of all
// zones at once. All contenders take turns on one cluster, so noise of the machine affects all of
// them: compare the ratios, not the seconds.
//
// A stand-in for an API server in this process (package standin) has more pods than a cluster on one
// machine can hold. The floor there reads everything and writes once.
//
// In the scaling scenario, lockstep calls pods at their own addresses. If it is chosen, the whole run
// takes place in a network namespace.
//
// A command line runs any operator that rolls groups of StatefulSets by the label rollout-group. It
// may contain
//
//	{kubeconfig}  the path of a kubeconfig with all permissions
//	{namespace}   a namespace to manage; one process is started for each
//	{selector}    a label selector of the namespaces to manage, for an operator
//	              that is one process for all of them
//
// The figures do not affect the exit code, which is 0. It is 1 if something could not be measured, for
// instance if a rollout does not finish, replaces a pod twice or disrupts pods of two zones at once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == allowAllCommand {
		fail(allowAll(ctx, os.Args[2], os.Stdout))
		return
	}
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	b := &bench{settings: s, progress: os.Stderr, startedAt: time.Now()}
	if b.measures("scaling") {
		b.networkErr = enterNetwork(ctx)
	}
	b.conditions = conditionsOf(ctx, b.startedAt, os.Args[1:])
	rows, err := b.run(ctx)
	if len(rows) > 0 {
		fmt.Print(b.conditions.heading(), table(append(b.names(), statefulSetName), rows))
	}
	fail(err)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	settings
	progress  io.Writer
	startedAt time.Time
	program   string // path of the lockstep binary, once it is built

	conditions conditions

	networkErr error // why pods cannot be called at their addresses
}

// scenario is a part that can be measured alone, on a cluster of its own.
type scenario struct {
	names []string // it is measured if one of these is chosen
	run   func(*bench, context.Context) ([]row, error)
}

// optIn are the scenarios that take so long that they run only if they are chosen by name.
var optIn = []string{"soak"}

// scenarios returns all scenarios in the order of the table.
func scenarios() []scenario {
	return []scenario{
		{[]string{"rollout", "idle"}, (*bench).rollouts},
		{[]string{"many"}, (*bench).manyAtOnce},
		{[]string{"memory"}, (*bench).memorySizes},
		{[]string{"fairness"}, (*bench).fairnessBetweenNamespaces},
		{[]string{"failover"}, (*bench).failovers},
		{[]string{"webhooks"}, (*bench).webhookDecisions},
		{[]string{"evictions"}, (*bench).evictions},
		{[]string{"scaling"}, (*bench).scaling},
		{[]string{"status"}, (*bench).statusWrites},
		{[]string{"noisy"}, (*bench).noisyNeighbour},
		{[]string{"large"}, (*bench).largeCluster},
		{[]string{"stand-in"}, (*bench).standIns},
		{[]string{"pool-birth", "pool-hole", "pool-shrink", "pool-handover", "pool-inplace", "pool-rest"}, (*bench).pools},
		{[]string{"pool-failover"}, (*bench).poolFailovers},
		{[]string{"pool-fairness"}, (*bench).fairnessBetweenPools},
		{[]string{"pool-memory"}, (*bench).poolMemory},
		{[]string{"pool-large"}, (*bench).largePool},
		{[]string{"soak"}, (*bench).soakTest},
	}
}

func scenarioNames() []string {
	return []string{"rollout", "idle", "many", "memory", "fairness", "failover", "webhooks", "evictions", "scaling", "status", "noisy", "large", "stand-in", "pool-birth", "pool-hole", "pool-shrink", "pool-handover", "pool-inplace", "pool-rest", "pool-failover", "pool-fairness", "pool-memory", "pool-large", "soak"}
}

// run measures the chosen scenarios and returns the rows of the successful ones.
func (b *bench) run(ctx context.Context) ([]row, error) {
	var rows []row
	for _, s := range scenarios() {
		if !b.isChosen(s) {
			continue
		}
		more, err := s.run(b, ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", s.names[0], err)
		}
	}
	return rows, nil
}

func (b *bench) isChosen(s scenario) bool { return slices.ContainsFunc(s.names, b.measures) }

func (b *bench) measures(name string) bool { return slices.Contains(b.chosen(), name) }

// names returns the contenders, the floor first.
func (b *bench) names() []string {
	names := []string{floorName, lockstepName}
	for _, c := range b.others {
		names = append(names, c.name)
	}
	return names
}

// report prints the progress.
func (b *bench) report(format string, args ...any) {
	fmt.Fprintf(b.progress, "%5.0f s  %s\n", time.Since(b.startedAt).Seconds(), fmt.Sprintf(format, args...))
}
