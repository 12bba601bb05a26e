package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// violation is a broken guarantee.
type violation struct {
	namespace string   // empty: not about a namespace
	zones     []string // empty: about all of the namespace
	text      string
}

func (v violation) String() string {
	if v.namespace == "" {
		return v.text
	}
	return v.namespace + ": " + v.text
}

// verifier collects violations: those of lockstep's guarantees that the judge finds, and those of the
// goal of the rollout.
type verifier struct {
	violations []violation
	known      map[judge.Violation]bool
	suspected  map[judge.Violation]time.Time // since when the judge finds them
}

func newVerifier() *verifier { return &verifier{known: map[judge.Violation]bool{}} }

// confirmAfter is how long the judge must find a violation. Each kind of object has a watch of its own. If the event of a Lease
// arrives after that of a pod, the judge finds a violation for a moment.
const confirmAfter = 3 * time.Second

// confirm returns the violations that the judge has found for confirmAfter without interruption.
func (v *verifier) confirm(found []judge.Violation, now time.Time) []judge.Violation {
	suspected := map[judge.Violation]time.Time{}
	var confirmed []judge.Violation
	for _, one := range found {
		since, before := v.suspected[one]
		if !before {
			since = now
		}
		suspected[one] = since
		if now.Sub(since) >= confirmAfter {
			confirmed = append(confirmed, one)
		}
	}
	v.suspected = suspected
	return confirmed
}

// add adds the violations of the judge that are not known yet.
func (v *verifier) add(found []judge.Violation) {
	for _, one := range found {
		if v.known[one] {
			continue
		}
		v.known[one] = true
		var zones []string
		if one.Zone != "" {
			zones = []string{one.Zone}
		}
		text := one.Text
		if one.Guarantee > 0 { // those about StatefulClusters have no number
			text += fmt.Sprintf(" (guarantee %d)", one.Guarantee)
		}
		v.report(one.Namespace, zones, "%s", text)
	}
}

// verifyGoal verifies that the rollout is finished.
func (v *verifier) verifyGoal(w *clusterState, timeout time.Duration) {
	for _, n := range w.namespaces {
		if n.optedIn {
			v.verifyGoalOf(n, timeout)
		}
	}
}

func (v *verifier) verifyGoalOf(n *namespace, timeout time.Duration) {
	for _, z := range n.zones {
		switch {
		case z.updatedPods() < z.replicas:
			v.report(n.name, []string{z.name}, "%s was not finished after %s: %d of %d pods run the new revision and are Ready",
				z.name, timeout, z.updatedPods(), z.replicas)
		case !z.adopted():
			v.report(n.name, []string{z.name}, "%s was not finished after %s: all pods are new, but status.currentRevision is still %s, not %s",
				z.name, timeout, z.currentRevision, z.updateRevision)
		}
	}
	if holder := n.holder(); holder != "" {
		v.report(n.name, nil, "the group's hold was not given back after %s: %s has it", timeout, holder)
	}
}

func (v *verifier) report(namespace string, zones []string, format string, args ...any) {
	v.violations = append(v.violations, violation{namespace, zones, fmt.Sprintf(format, args...)})
}

// concerns reports whether a violation is about the zone, or about all of its namespace.
func concerns(violations []violation, namespace, zone string) bool {
	for _, v := range violations {
		if v.namespace == namespace && (len(v.zones) == 0 || slices.Contains(v.zones, zone)) {
			return true
		}
	}
	return false
}

func clock(at time.Time) string { return at.Format("15:04:05.000") }
