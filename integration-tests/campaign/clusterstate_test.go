package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// finalState returns a namespace in which all changes of the plan are complete.
func finalState() (*clusterState, plan) {
	g := group{name: "store", replicas: [3]int32{1, 1, 1}, finalReplicas: [3]int32{1, 1, 1}}
	p := newClusterState()
	for i := range g.replicas {
		set := g.statefulSet(i)
		set.UID = types.UID(set.Name)
		set.Status = appsv1.StatefulSetStatus{Replicas: 1, ReadyReplicas: 1, CurrentRevision: "new", UpdateRevision: "new"}
		p.observe(watch.Event{Type: watch.Added, Object: set})
		p.observe(watch.Event{Type: watch.Added, Object: podOf(set, "new")})
	}
	return p, plan{groups: []group{g}}
}

func podOf(set *appsv1.StatefulSet, revision string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-0", Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestGoalRequiresAllChanges(t *testing.T) {
	t.Parallel()
	if p, plan := finalState(); p.checkZones(plan, true) != nil || p.checkZones(plan, false) != nil {
		t.Fatalf("it is reached, and missed: %v, %v", p.checkZones(plan, true), p.checkZones(plan, false))
	}
	for want, change := range map[string]func(*clusterState){
		"does not exist":                  func(p *clusterState) { p.sets["store-zone-b"] = nil },
		"has 2 replicas, 1 wanted":        func(p *clusterState) { p.sets["store-zone-b"].Spec.Replicas = new(int32(2)) },
		"generation 7, observed 0":        func(p *clusterState) { p.sets["store-zone-b"].Generation = 7 },
		"2 exist":                         func(p *clusterState) { p.sets["store-zone-b"].Status.Replicas = 2 },
		"current revision old":            func(p *clusterState) { p.sets["store-zone-b"].Status.CurrentRevision = "old" },
		"pod store-zone-c-0 is not up":    func(p *clusterState) { delete(p.pods, "store-zone-c-0") },
		"pod store-zone-c-0 has revision": func(p *clusterState) { p.pods["store-zone-c-0"] = podOf(p.sets["store-zone-c"], "old") },
		`is held by "rollout/store-zone-a"`: func(p *clusterState) {
			p.observe(watch.Event{Type: watch.Added, Object: &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: "lockstep-group-store", Labels: map[string]string{"lockstep.dev/hold": "group"}},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("rollout/store-zone-a")},
			}})
		},
	} {
		p, plan := finalState()
		change(p)
		if err := p.checkZones(plan, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want that it %s", err, want)
		}
	}
}
