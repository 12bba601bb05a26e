package apiserver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Nothing is lost while no operator runs: the time that a Node has been silent is that of its condition.
func TestStatefulClusterReplacesOnePodOfANodeThatFellSilentWhileLockstepWasDown(t *testing.T) {
	t.Parallel()
	const replicas, lost = 3, 3 * time.Second
	s := unmanaged(t)
	nodes := s.ownNodes(replicas)
	s.schedulesOn(nodes...)
	s.managesByLabel()
	s.mayEverywhere("lockstep-statefulcluster")
	s.label(ownLabel, s.name)
	start := func() *operator {
		return s.startOperatorWith(s.kubeconfig(), withoutElection, "-kubernetes.namespace=", "-namespaces.selector="+s.own.Selector.String(), "-statefulcluster.enabled")
	}
	first := start()
	p := s.createPool(replicas, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(lost.Seconds())}})
	before, _ := identities(p.settles(replicas))
	gone := p.on(nodes[0])
	first.Kill()
	p.falls(nodes[0])
	p.stays("all pods stay", lost+aWhile, func(present) error {
		if names, _ := identities(p.pods()); !slices.Contains(names, gone) || len(names) != replicas {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	start()
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, gone) || len(names) != replicas {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	p.settlesExceptHold(replicas)
	history, err := s.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range history {
		if e.Pod != nil {
			names[e.Pod.Name] = true
		}
	}
	if len(names) != replicas+1 {
		t.Errorf("these pods existed, want one more than %v: %v", before, sortedKeys(names))
	}
}
