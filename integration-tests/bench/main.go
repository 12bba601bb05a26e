// Command bench measures lockstep on a local cluster against the goals for its
// speed and size, beside the floor and beside other operators, and prints one
// table below what it was measured on: both can go into docs/performance.md as they are.
//
//	go run ./bench [-only rollout,memory] [-long] [-contender 'NAME=COMMAND ...']
//
// The floor is a bare loop that deletes the next pod the moment its watch shows
// the replacement Ready; of webhooks it is one that allows everything, and of
// scaling a watch and patches of all zones at once. All of them take turns on one
// cluster, so that what a noisy machine does to one it does to all: read the ratios,
// not the seconds.
//
// More pods than a cluster on one machine can hold are those of an API server that
// is played in this process (package standin). The floor there is somebody who
// only reads, and writes once.
//
// For scaling, pods are called at their own addresses: where it is among what is
// measured, the whole run takes place in a network of its own.
//
// A command line is that of any operator that rolls groups of StatefulSets by
// the label rollout-group. In it
//
//	{kubeconfig}  is the path of a kubeconfig that may do everything
//	{namespace}   is a namespace to manage; there is one process for each
//	{selector}    is a label selector over the namespaces to manage, for an
//	              operator that is one process for all of them
//
// There is no threshold: whatever the figures, the exit code is 0. It is 1 when
// something could not be measured, among that a rollout that does not finish,
// replaces a pod twice or takes down pods of two zones at once.
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
	b := &bench{settings: s, progress: os.Stderr, began: time.Now()}
	if b.wants("scaling") {
		b.noNetwork = enterNetwork(ctx)
	}
	b.conditions = conditionsOf(ctx, b.began, os.Args[1:])
	rows, err := b.run(ctx)
	if len(rows) > 0 {
		fmt.Print(b.conditions.heading(), table(b.names(), rows))
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
	progress io.Writer
	began    time.Time
	program  string // lockstep, once it is built

	conditions conditions

	noNetwork error // why pods cannot be called at their addresses
}

// scenario is a part that can be measured alone, on a cluster of its own.
type scenario struct {
	names   []string // it is measured if one of these is chosen
	measure func(*bench, context.Context) ([]row, error)
}

// onlyAlone are scenarios that take so long that they have to be asked for by name.
var onlyAlone = []string{"soak"}

// scenarios in the order of the table.
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
		{[]string{"status"}, (*bench).statuses},
		{[]string{"noisy"}, (*bench).noisyNeighbour},
		{[]string{"large"}, (*bench).largeCluster},
		{[]string{"stand-in"}, (*bench).standIns},
		{[]string{"soak"}, (*bench).soaking},
	}
}

func scenarioNames() []string {
	return []string{"rollout", "idle", "many", "memory", "fairness", "failover", "webhooks", "evictions", "scaling", "status", "noisy", "large", "stand-in", "soak"}
}

// run measures what was chosen and returns what could be measured.
func (b *bench) run(ctx context.Context) ([]row, error) {
	var rows []row
	for _, s := range scenarios() {
		if !b.measures(s) {
			continue
		}
		more, err := s.measure(b, ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", s.names[0], err)
		}
	}
	return rows, nil
}

func (b *bench) measures(s scenario) bool { return slices.ContainsFunc(s.names, b.wants) }

func (b *bench) wants(name string) bool { return slices.Contains(b.chosen(), name) }

// names returns who is measured, the floor first.
func (b *bench) names() []string {
	names := []string{floorName, lockstepName}
	for _, c := range b.contenders {
		names = append(names, c.name)
	}
	return names
}

// say tells a person what goes on.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%5.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}
