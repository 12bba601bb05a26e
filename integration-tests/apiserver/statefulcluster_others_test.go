package apiserver_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// others creates pods that the selector app=db matches: one without owner, one of a ReplicaSet, and two of a StatefulCluster.
func (s *scene) others() pool {
	s.t.Helper()
	labels := map[string]string{"app": "db"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}}
	if _, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-alone", Labels: labels}, Spec: spec}, createOptions); err != nil {
		s.t.Fatal(err)
	}
	ofSet := map[string]string{"app": "db", "tier": "set"}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}, Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: ofSet},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: ofSet}, Spec: spec},
	}}
	if _, err := s.world.admin.AppsV1().ReplicaSets(s.name).Create(s.t.Context(), set, createOptions); err != nil {
		s.t.Fatal(err)
	}
	other := s.createPoolNamed("other", 2, map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}})
	other.settles(2)
	return other
}

// apart returns the pods of the namespace that a StatefulCluster owns, and the versions of all other pods by name and UID.
func (p pool) apart() (own []corev1.Pod, others map[string]string) {
	p.t.Helper()
	list, err := p.world.admin.CoreV1().Pods(p.scene.name).List(p.t.Context(), listOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	others = map[string]string{}
	for _, pod := range list.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == poolKind && owner.Name == p.name {
			own = append(own, pod)
		} else {
			others[pod.Name+" "+string(pod.UID)] = pod.ResourceVersion
		}
	}
	return own, others
}

// awaitOthers waits until the pods of other owners are Ready, and returns them with their versions.
func (p pool) awaitOthers() (others map[string]string) {
	p.t.Helper()
	p.eventually("the pods of others are Ready", func(now present) error {
		if _, others = p.apart(); len(others) != 4 {
			return fmt.Errorf("there are %v", others)
		}
		for name, pod := range now.pods {
			if metav1.GetControllerOf(pod) == nil || metav1.GetControllerOf(pod).Name != p.name {
				if !isReady(pod) {
					return errors.New(name + " is not")
				}
			}
		}
		return nil
	})
	return others
}

func TestStatefulClusterLeavesPodsOfOtherOwnersAlone(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	other := s.others()
	p := pool{s, "db"}
	before := p.awaitOthers()
	s.createPool(3, nil)
	first := p.settles(3)
	p.deletes(first[0].Name)
	p.settles(3)
	p.updates(withContainer("db:2", ""))
	p.hasImage(3, "db:2")
	p.updates(`{"spec": {"replicas": 1}}`)
	p.settles(1)
	if _, after := p.apart(); !maps.Equal(before, after) {
		t.Errorf("the pods of others were %v and are %v", before, after)
	}
	other.settles(2)
	p.seesPodsOfOthers()
}

// seesPodsOfOthers gives the pods of the ReplicaSet the labels by which lockstep observes the pods of the StatefulCluster.
func (p pool) seesPodsOfOthers() {
	p.t.Helper()
	pods := p.world.admin.CoreV1().Pods(p.scene.name)
	list, err := pods.List(p.t.Context(), metav1.ListOptions{LabelSelector: "tier=set"})
	if err != nil || len(list.Items) != 1 {
		p.t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	labels := []byte(`{"metadata": {"labels": {"lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef"}}}`)
	if _, err := pods.Patch(p.t.Context(), list.Items[0].Name, types.MergePatchType, labels, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
	own, before := p.apart()
	p.updates(`{"spec": {"replicas": 2}}`)
	p.eventually("another pod is created", func(present) error {
		if own, _ = p.apart(); len(own) != 2 || !isReady(&own[0]) || !isReady(&own[1]) {
			return fmt.Errorf("%d pods", len(own))
		}
		return nil
	})
	p.stays("no pod is deleted or changed", aWhile, func(present) error {
		now, after := p.apart()
		_, was := identities(own)
		if _, is := identities(now); !slices.Equal(was, is) || !maps.Equal(before, after) {
			return fmt.Errorf("the pods were %v and are %v; those of others were %v and are %v", was, is, before, after)
		}
		return nil
	})
}
