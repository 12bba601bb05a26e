package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	floorName    = "floor"
	lockstepName = "lockstep"
)

// leaderLease is the Lease of lockstep's leader election.
const leaderLease = "lockstep-leader"

// contenderLabel is on the namespaces and pods of a contender.
const contenderLabel = "lockstep.test/contender"

// contender is one way to roll groups, in namespaces of its own: the floor, lockstep or another
// operator.
type contender struct {
	name       string
	command    string // with {kubeconfig}, {namespace}, {selector}; empty: the floor
	kubeconfig string
	user       string // its user name at the API server
	home       string // the namespace of its service account and of its leader election
	optsIn     bool   // its namespaces opt in to lockstep
	processes  []*process
}

func (c *contender) isFloor() bool { return c.command == "" }

// writes reports whether a request is a write of the contender. Dry runs and updates of the leader Lease do not
// count; updates of a group's hold do.
func (c *contender) writes(q request) bool {
	leads := q.verb == "update" && q.resource == "leases" && q.namespace == c.home && q.name == leaderLease
	return q.user == c.user && !leads && !q.dryRun
}

// start runs the operator: one process, or one for each namespace if the command contains {namespace}.
// The floor has no process.
func (tb *testbed) start(ctx context.Context, c *contender, namespaces ...string) error {
	if c.isFloor() {
		return nil
	}
	if !strings.Contains(c.command, "{namespace}") {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		words := fill(c.command, "{kubeconfig}", c.kubeconfig, "{namespace}", namespace, "{selector}", contenderLabel+"="+c.name)
		log := filepath.Join(tb.logs, fmt.Sprintf("%s-%d.log", c.name, len(c.processes)))
		p, err := startProcess(ctx, words, log, tb.abort)
		if err != nil {
			return fmt.Errorf("start %s: %w", c.name, err)
		}
		c.processes = append(c.processes, p)
	}
	return nil
}

// kill kills all processes of the contender.
func (c *contender) kill() {
	for _, p := range c.processes {
		p.kill()
	}
	c.processes = nil
}

// cpu returns the CPU time of all processes so far.
func (c *contender) cpu() time.Duration {
	var sum time.Duration
	for _, p := range c.processes {
		sum += p.cpu()
	}
	return sum
}

// memory returns the resident memory of all processes in KB.
func (c *contender) memory() int { return c.sum((*process).memory) }

// peakMemory returns the largest memory so far of all its processes, in KB.
func (c *contender) peakMemory() int { return c.sum((*process).peakMemory) }

func (c *contender) sum(of func(*process) int) int {
	sum := 0
	for _, p := range c.processes {
		sum += of(p)
	}
	return sum
}
