package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
)

// drainedPool is a StatefulCluster whose members are on nodes that are to be drained.
type drainedPool struct {
	*pool
	before []corev1.Pod
	judged int // how many evictions lockstep is to allow
}

// poolsOn creates two StatefulClusters whose members are on the first nodes and have room on another one. lockstep judges
// evictions of the one; only a PodDisruptionBudget limits those of the other one.
func (w *world) poolsOn(t *testing.T, nodes []string, room string) []*drainedPool {
	t.Helper()
	const members = 3
	disks := []string{nodes[0], nodes[0], nodes[1]}
	judged := &drainedPool{pool: w.pool(t, "pool-drains", members, disks...), judged: members}
	budgeted := &drainedPool{pool: w.pool(t, "pool-drains-alone", 0, disks...)}
	budgeted.by = unguarded
	w.keepsEvictionsFromLockstep(t, budgeted.name)
	for _, p := range []*drainedPool{judged, budgeted} {
		p.creates(members, nil)
	}
	for _, p := range []*drainedPool{judged, budgeted} {
		p.before = p.settles()
		p.addDisks(room, room, room)
	}
	budgeted.allowsOneDown()
	return []*drainedPool{judged, budgeted}
}

// keepsEvictionsFromLockstep excludes a namespace from the webhook of evictions until the test ends.
func (w *world) keepsEvictionsFromLockstep(t *testing.T, namespace string) {
	t.Helper()
	excluded := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{namespace}}
	is := func(r metav1.LabelSelectorRequirement) bool { return slices.Equal(r.Values, excluded.Values) }
	w.changesEvictionWebhook(t, func(s *metav1.LabelSelector) { s.MatchExpressions = append(s.MatchExpressions, excluded) })
	t.Cleanup(func() {
		w.changesEvictionWebhook(t, func(s *metav1.LabelSelector) { s.MatchExpressions = slices.DeleteFunc(s.MatchExpressions, is) })
	})
}

func (w *world) changesEvictionWebhook(t *testing.T, change func(namespaces *metav1.LabelSelector)) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	configurations := w.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		c, err := configurations.Get(ctx, "lockstep-pod-eviction", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(c.Webhooks[0].NamespaceSelector)
		_, err = configurations.Update(ctx, c, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Error(err)
	}
}

// allowsOneDown creates a PodDisruptionBudget by which one member may be down, and waits until it allows an eviction.
func (p *pool) allowsOneDown() {
	p.t.Helper()
	budgets := p.admin.PolicyV1().PodDisruptionBudgets(p.name)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": group}}, MaxUnavailable: new(intstr.FromInt32(1)),
		},
	}
	if _, err := budgets.Create(p.t.Context(), budget, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "the PodDisruptionBudget allows an eviction", func() error {
		budget, err := budgets.Get(p.t.Context(), group, metav1.GetOptions{})
		if err == nil && budget.Status.DisruptionsAllowed != 1 {
			err = fmt.Errorf("its status is %+v", budget.Status)
		}
		return err
	})
}

// wantDrained fails the test unless all members were evicted one at a time, and new ones serve on a node.
func (p *drainedPool) wantDrained(node string) {
	p.t.Helper()
	var ended []*corev1.Pod
	for i := range p.before {
		ended = append(ended, &p.before[i])
		p.serves(len(p.before), p.before[i].Name)
	}
	p.wantOthersServed(len(p.before)-1, ended...)
	for _, pod := range p.settles() {
		if pod.Spec.NodeName != node {
			p.t.Errorf("%s is on %s", pod.Name, pod.Spec.NodeName)
		}
	}
	if n := p.grants(); n != p.judged {
		p.t.Errorf("lockstep allowed %d evictions, %d wanted", n, p.judged)
	}
	p.wantIdentities(2 * len(p.before))
}
