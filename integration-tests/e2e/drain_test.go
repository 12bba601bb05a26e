package e2e_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func (w *world) drains(t *testing.T) {
	if w.isYours() {
		t.Skip("SKIPPED, NOT PROVED: a drain of your nodes would evict the pods of other users")
	}
	former, leader, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	drained, kept := w.apart(leader.Spec.NodeName)
	t.Cleanup(func() {
		if err := w.try(context.WithoutCancel(t.Context()), append([]string{"uncordon"}, w.nodes...)...); err != nil {
			t.Error(err)
		}
	})
	s, alone := w.scene(t, "drains", 6), w.scene(t, "drains-alone", 2)
	for _, each := range []*scene{s, alone} {
		each.budgets = []judge.Budget{{Group: group, Limit: 1}}
		w.run(t, "apply", "--namespace="+each.name, "-f", "testdata/budget.yaml")
	}
	pools := w.poolsOn(t, drained, kept)
	w.run(t, "cordon", kept) // so that every member has to be evicted
	s.create(zone("a", 2, twoDown), zone("b", 2, twoDown), zone("c", 2, twoDown))
	alone.create(zone("a", 2, twoDown)) // without another zone that waits, only the budget delays its second pod
	w.run(t, "uncordon", kept)
	w.run(t, append([]string{"cordon"}, drained...)...) // pods that are replaced meanwhile go to another node
	s.wantTwoOfEachZoneOn(drained)
	alone.wantTwoOfEachZoneOn(drained)
	if err := w.drain(t.Context(), drained...); err != nil {
		t.Fatal(err)
	}
	for each, pods := range map[*scene]int{s: 6, alone: 2} {
		each.settled()
		if left := each.membersOn(drained); len(left) > 0 {
			t.Errorf("the nodes %q carry %v", drained, left)
		}
		each.wantDepartures(pods)
	}
	for _, p := range pools {
		p.wantDrained(kept)
	}
	eventually(t, "another process leads", func() error { return w.leadsNoMore(t.Context(), former) })
	if now, err := w.admin.CoreV1().Pods(home).Get(t.Context(), leader.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the leader's pod still exists: %v, %v", now.Status, err)
	}
	w.works(t)
}

// apart returns two nodes, one of them this node, and the third node.
func (w *world) apart(node string) (two []string, third string) {
	others := slices.DeleteFunc(slices.Clone(w.nodes), func(other string) bool { return other == node })
	return []string{node, others[0]}, others[1]
}

// twoDown allows a zone two unavailable pods, so that only a budget can limit them to one.
func twoDown(s *appsv1.StatefulSet) { s.Annotations["rollout-max-unavailable"] = "2" }

// wantTwoOfEachZoneOn fails the test unless the nodes have pods of several zones, and of each zone
// more than the budget allows to be unavailable. Otherwise a drain would prove nothing.
func (s *scene) wantTwoOfEachZoneOn(nodes []string) {
	s.t.Helper()
	on := s.membersOn(nodes)
	for _, zone := range s.zones {
		if on[zone] != 2 {
			s.t.Fatalf("the nodes %q have %v: draining them proves nothing", nodes, on)
		}
	}
}

// membersOn counts the members on these nodes, by zone.
func (s *scene) membersOn(nodes []string) map[string]int {
	s.t.Helper()
	on := map[string]int{}
	for _, node := range nodes {
		pods, err := s.admin.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, pod := range pods.Items {
			on[pod.Labels["name"]]++
		}
	}
	return on
}

// drain drains nodes concurrently, like an upgrade of nodes.
func (w *world) drain(ctx context.Context, nodes ...string) error {
	failures := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			failures[i] = w.try(ctx, "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout="+patience.String())
		})
	}
	all.Wait()
	return errors.Join(failures...)
}
