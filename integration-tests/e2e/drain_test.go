package e2e_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func (w *world) drains(t *testing.T) {
	if w.isYours() {
		t.Skip("LEFT OUT, NOT PROVED: who drains nodes of yours sends away pods of others")
	}
	s := w.scene(t, "drains", 2)
	s.budgets = []judge.Budget{{Group: group, Limit: 1}}
	w.run(t, "apply", "--namespace="+s.name, "-f", "testdata/budget.yaml")
	s.create(zone("a", 2), zone("b", 2), zone("c", 2))
	former, leader, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	drained := []string{leader.Spec.NodeName, w.anotherThan(leader.Spec.NodeName)}
	t.Cleanup(func() {
		for _, node := range drained {
			if err := w.try(context.WithoutCancel(t.Context()), "uncordon", node); err != nil {
				t.Error(err)
			}
		}
	})
	w.run(t, append([]string{"cordon"}, drained...)...) // who is replaced meanwhile goes elsewhere
	before := s.podsOn(drained...)
	if before < 2 {
		t.Fatalf("the nodes %q carry %d pods", drained, before)
	}
	s.takedowns = before
	if err := w.drain(t.Context(), drained...); err != nil {
		t.Fatal(err)
	}
	s.settled()
	if after := s.podsOn(drained...); after > 0 {
		t.Errorf("the nodes %q carry %d pods", drained, after)
	}
	s.wantDepartures(before)
	eventually(t, "another process leads", func() error { return w.leadsNoMore(t.Context(), former) })
	if now, err := w.admin.CoreV1().Pods(home).Get(t.Context(), leader.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the leader's pod is there still: %v, %v", now.Status, err)
	}
	w.works(t)
}

func (w *world) anotherThan(node string) string {
	if w.nodes[0] != node {
		return w.nodes[0]
	}
	return w.nodes[1]
}

// drain drains nodes at once, as an upgrade of nodes does.
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

// podsOn counts the members on these nodes.
func (s *scene) podsOn(nodes ...string) int {
	s.t.Helper()
	count := 0
	for _, node := range nodes {
		pods, err := s.admin.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
		if err != nil {
			s.t.Fatal(err)
		}
		count += len(pods.Items)
	}
	return count
}
