package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// violation is a promise that was not kept.
type violation struct {
	namespace string   // empty: not about one
	zones     []string // none: about the whole namespace
	text      string
}

func (v violation) String() string {
	if v.namespace == "" {
		return v.text
	}
	return v.namespace + ": " + v.text
}

// court keeps what was violated: of what lockstep promises, as the judge finds it,
// and of the goal that the demo's rollout has.
type court struct {
	violations []violation
	told       map[judge.Violation]bool
}

func newCourt() *court { return &court{told: map[judge.Violation]bool{}} }

// hear takes in what the judge found, of which it may have found some before.
func (c *court) hear(found []judge.Violation) {
	for _, v := range found {
		if c.told[v] {
			continue
		}
		c.told[v] = true
		var zones []string
		if v.Zone != "" {
			zones = []string{v.Zone}
		}
		c.add(v.Namespace, zones, "%s (guarantee %d)", v.Text, v.Guarantee)
	}
}

// end judges what should have come about by now.
func (c *court) end(w *world, patience time.Duration) {
	for _, n := range w.namespaces {
		if n.optedIn {
			c.endOf(n, patience)
		}
	}
}

func (c *court) endOf(n *namespace, patience time.Duration) {
	for _, z := range n.zones {
		switch {
		case z.renewed() < z.replicas:
			c.add(n.name, []string{z.name}, "%s was not finished after %s: %d of %d pods run the new revision and are Ready",
				z.name, patience, z.renewed(), z.replicas)
		case !z.adopted():
			c.add(n.name, []string{z.name}, "%s was not finished after %s: all pods are new, but status.currentRevision is still %s, not %s",
				z.name, patience, z.currentRevision, z.updateRevision)
		}
	}
	if holder := n.holder(); holder != "" {
		c.add(n.name, nil, "the group's hold was not given back after %s: %s has it", patience, holder)
	}
}

func (c *court) add(namespace string, zones []string, format string, args ...any) {
	c.violations = append(c.violations, violation{namespace, zones, fmt.Sprintf(format, args...)})
}

// blames reports whether a violation is about the zone, or about its whole namespace.
func blames(violations []violation, namespace, zone string) bool {
	for _, v := range violations {
		if v.namespace == namespace && (len(v.zones) == 0 || slices.Contains(v.zones, zone)) {
			return true
		}
	}
	return false
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }
