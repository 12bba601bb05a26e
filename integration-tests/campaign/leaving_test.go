package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
)

// shows lets a trial see an object.
func (t *trial) shows(kind watch.EventType, o runtime.Object) {
	t.present.take(watch.Event{Type: kind, Object: o})
}

func leaseWith(annotations map[string]string) *coordinationv1.Lease {
	annotations["lockstep.dev/group"] = "store"
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: "lockstep-group-store", Labels: map[string]string{"lockstep.dev/hold": "group"}, Annotations: annotations,
	}}
}

func TestAZoneLeavesOnceItIsRememberedAndItsPodsStay(t *testing.T) {
	t.Parallel()
	g := group{name: "store", replicas: [3]int32{2, 2, 2}}
	trial := &trial{present: newPresent()}
	set := g.statefulSet(0)
	set.UID = "uid-1"
	trial.shows(watch.Added, set)
	trial.shows(watch.Added, leaseWith(map[string]string{}))
	if trial.present.remembered(g, set.Name) == nil {
		t.Error("a zone counts as remembered that the Lease does not name")
	}
	trial.shows(watch.Modified, leaseWith(map[string]string{zonesAnnotation: `[{"uid":"uid-1"}]`}))
	if err := trial.present.remembered(g, set.Name); err != nil {
		t.Error(err)
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-0", UID: "pod-1"}}
	trial.shows(watch.Added, pod)
	trial.shows(watch.Modified, leaseWith(map[string]string{"lockstep.dev/intents": `{"pods":[{"pod":"store-zone-a-0","uid":"pod-1"}]}`}))
	if trial.present.settledIn(g, set.Name) == nil || trial.present.settledIn(g, g.zone(1)) != nil {
		t.Error("a zone moves while a pod of it is about to leave, or does not while one of another is")
	}
	leaving := pod.DeepCopy()
	leaving.DeletionTimestamp = new(metav1.Now())
	trial.shows(watch.Modified, leaving)
	if err := trial.present.settledIn(g, set.Name); err != nil {
		t.Error(err)
	}
}

func TestAZoneIsAppliedAsItWasWhenItWasGone(t *testing.T) {
	t.Parallel()
	g := group{name: "store", replicas: [3]int32{2, 2, 2}}
	trial := &trial{present: newPresent(), client: fake.NewClientset(), namespace: "plan-1"}
	set := g.statefulSet(0)
	trial.shows(watch.Added, set)
	if applies(t.Context(), trial, g, set.Name) == nil {
		t.Fatal("it is applied before it is gone")
	}
	changed := set.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = image(2)
	trial.shows(watch.Deleted, changed)
	if err := applies(t.Context(), trial, g, set.Name); err != nil {
		t.Fatal(err)
	}
	var got *appsv1.StatefulSet
	got, err := trial.client.AppsV1().StatefulSets("plan-1").Get(t.Context(), set.Name, metav1.GetOptions{})
	if err != nil || got.Spec.Template.Spec.Containers[0].Image != image(2) || got.Labels[groupLabel] != "store" {
		t.Errorf("it is applied as %+v, %v", got, err)
	}
}

func TestAnotherGroupHasTheSameBudget(t *testing.T) {
	t.Parallel()
	g := group{name: "store", evictable: 2, partitions: true}
	one, other := g.budget(), g.elsewhere().budget()
	if other.Group != "store-elsewhere" || other.Limit != 2 || one.Partition.String() != other.Partition.String() {
		t.Errorf("one is %+v, the other %+v", one, other)
	}
}
