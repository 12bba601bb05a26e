// Command bench times rollouts on a local cluster: lockstep beside the floor, a
// bare loop that deletes the next pod the moment its watch shows the
// replacement Ready, and beside any other operator whose command line is given.
//
//	go run ./bench [-runs 5] [-pods 10] [-contender 'COMMAND -kubeconfig {kubeconfig} -namespace {namespace}']
//
// All of them take turns in one run on one cluster, so that what a noisy
// machine does to one it does to all: read the ratios, not the seconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// zones is how many zones the group of every racer has.
const zones = 3

func main() {
	runs := flag.Int("runs", 5, "counted rollouts of each, after one that is not counted")
	pods := flag.Int("pods", 10, "pods in each of the three zones")
	contender := flag.String("contender", "", "command line of another operator, with {kubeconfig} and {namespace}")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, *runs, *pods, *contender); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context, runs, pods int, contender string) error {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}()
	racers, err := enlist(ctx, cluster, pods, contender)
	if err != nil {
		return err
	}
	for run := range runs + 1 {
		for _, r := range racers {
			t, err := r.roll(ctx)
			if err != nil {
				return fmt.Errorf("roll with %s: %w", r.name, err)
			}
			if run > 0 {
				r.timings = append(r.timings, t)
			}
			fmt.Fprintf(os.Stderr, "run %d of %d  %-10s %6.3f s\n", run, runs, r.name, t.total.Seconds())
		}
	}
	fmt.Print(table(racers, zones*pods))
	return nil
}
