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

// observe passes an object to the state of a trial.
func (t *trial) observe(kind watch.EventType, o runtime.Object) {
	t.state.observe(watch.Event{Type: kind, Object: o})
}

func leaseWith(annotations map[string]string) *coordinationv1.Lease {
	annotations["lockstep.dev/group"] = "store"
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: "lockstep-group-store", Labels: map[string]string{"lockstep.dev/hold": "group"}, Annotations: annotations,
	}}
}

func TestZoneIsRemovedAfterItIsRecorded(t *testing.T) {
	t.Parallel()
	g := group{name: "store", replicas: [3]int32{2, 2, 2}}
	trial := &trial{state: newClusterState()}
	set := g.statefulSet(0)
	set.UID = "uid-1"
	trial.observe(watch.Added, set)
	trial.observe(watch.Added, leaseWith(map[string]string{}))
	if trial.state.checkRecorded(g, set.Name) == nil {
		t.Error("a zone counts as remembered that the Lease does not name")
	}
	trial.observe(watch.Modified, leaseWith(map[string]string{zonesAnnotation: `[{"uid":"uid-1"}]`}))
	if err := trial.state.checkRecorded(g, set.Name); err != nil {
		t.Error(err)
	}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-0", UID: "pod-1"}}
	trial.observe(watch.Added, pod)
	trial.observe(watch.Modified, leaseWith(map[string]string{"lockstep.dev/intents": `{"pods":[{"pod":"store-zone-a-0","uid":"pod-1"}]}`}))
	if trial.state.checkNoIntents(g, set.Name) == nil || trial.state.checkNoIntents(g, g.zone(1)) != nil {
		t.Error("a zone moves while a pod of it has an intent, or does not while a pod of another zone has one")
	}
	leaving := pod.DeepCopy()
	leaving.DeletionTimestamp = new(metav1.Now())
	trial.observe(watch.Modified, leaving)
	if err := trial.state.checkNoIntents(g, set.Name); err != nil {
		t.Error(err)
	}
}

func TestZoneIsRecreatedAsDeleted(t *testing.T) {
	t.Parallel()
	g := group{name: "store", replicas: [3]int32{2, 2, 2}}
	trial := &trial{state: newClusterState(), client: fake.NewClientset(), namespace: "plan-1"}
	set := g.statefulSet(0)
	set.UID = "uid-1"
	trial.observe(watch.Added, set)
	if recreateZone(t.Context(), trial, g, set.Name, set.UID) == nil {
		t.Fatal("the zone was recreated before it was deleted")
	}
	changed := set.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = image(2)
	trial.observe(watch.Deleted, changed)
	if err := recreateZone(t.Context(), trial, g, set.Name, set.UID); err != nil {
		t.Fatal(err)
	}
	var got *appsv1.StatefulSet
	got, err := trial.client.AppsV1().StatefulSets("plan-1").Get(t.Context(), set.Name, metav1.GetOptions{})
	if err != nil || got.Spec.Template.Spec.Containers[0].Image != image(2) || got.Labels[groupLabel] != "store" {
		t.Errorf("it is applied as %+v, %v", got, err)
	}
	recreated := changed.DeepCopy()
	recreated.UID = "uid-2"
	trial.observe(watch.Added, recreated)
	if err := recreateZone(t.Context(), trial, g, set.Name, set.UID); err != nil {
		t.Errorf("after a lost answer: %v", err)
	}
}

func TestOtherGroupHasSameBudget(t *testing.T) {
	t.Parallel()
	g := group{name: "store", maxEvicted: 2, partitions: true}
	one, other := g.budget(), g.inOtherGroup().budget()
	if other.Group != "store-elsewhere" || other.Limit != 2 || one.Partition.String() != other.Partition.String() {
		t.Errorf("one is %+v, the other %+v", one, other)
	}
}
