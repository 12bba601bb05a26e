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

// leaderLease is the Lease that says which replica works.
const leaderLease = "lockstep-leader"

// racerLabel is on the namespaces and pods of a racer.
const racerLabel = "lockstep.test/racer"

// racer is one way to roll groups, in namespaces of its own.
type racer struct {
	name       string
	command    string // with {kubeconfig}, {namespace}, {selector}; empty: the floor
	kubeconfig string
	user       string // whom the API server takes it for
	home       string // the namespace of its account, where it keeps the Lease of its leader
	optIn      bool   // its namespaces say that lockstep manages them
	processes  []*process
}

func (r *racer) isFloor() bool { return r.command == "" }

// writes reports whether a request is a write of the racer's that is not to stay leader:
// the Lease of a group's hold is one, the leader's is not.
func (r *racer) writes(q request) bool {
	leads := q.verb == "update" && q.resource == "leases" && q.namespace == r.home && q.name == leaderLease
	return q.user == r.user && !leads
}

// start runs the operator: one process, or one for each namespace if the command
// names it. The floor has none.
func (a *arena) start(ctx context.Context, r *racer, namespaces ...string) error {
	if r.isFloor() {
		return nil
	}
	if !strings.Contains(r.command, "{namespace}") {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		words := fill(r.command, "{kubeconfig}", r.kubeconfig, "{namespace}", namespace, "{selector}", racerLabel+"="+r.name)
		log := filepath.Join(a.logs, fmt.Sprintf("%s-%d.log", r.name, len(r.processes)))
		p, err := startProcess(ctx, words, log, a.fail)
		if err != nil {
			return fmt.Errorf("start %s: %w", r.name, err)
		}
		r.processes = append(r.processes, p)
	}
	return nil
}

// end kills all processes of the racer.
func (r *racer) end() {
	for _, p := range r.processes {
		p.kill()
	}
	r.processes = nil
}

// cpu is what all processes have used so far.
func (r *racer) cpu() time.Duration {
	var sum time.Duration
	for _, p := range r.processes {
		sum += p.cpu()
	}
	return sum
}

// memory is what all processes occupy, in KB.
func (r *racer) memory() int {
	sum := 0
	for _, p := range r.processes {
		sum += p.memory()
	}
	return sum
}
