package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNextReturnsFirstOutdatedPodWhenAllAreReady(t *testing.T) {
	set := func(name string, replicas int32, observed int64) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas},
			Status:     appsv1.StatefulSetStatus{ObservedGeneration: observed, UpdateRevision: "new"},
		}
	}
	pod := func(name, revision string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	leaving := pod("b-0", "old", corev1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for sentence, tc := range map[string]struct {
		zones []zone
		want  string
	}{
		"no outdated pod":                  {[]zone{{set("a", 1, 2), []*corev1.Pod{pod("a-0", "new", yes)}}}, ""},
		"zones and pods go by their names": {[]zone{{set("b", 1, 2), []*corev1.Pod{pod("b-0", "old", yes)}}, {set("a", 2, 2), []*corev1.Pod{pod("a-1", "old", yes), pod("a-0", "old", yes)}}}, "a-0"},
		"an updated pod is skipped":        {[]zone{{set("a", 2, 2), []*corev1.Pod{pod("a-0", "new", yes), pod("a-1", "old", yes)}}}, "a-1"},
		"a pod is not Ready":               {[]zone{{set("a", 1, 2), []*corev1.Pod{pod("a-0", "old", yes)}}, {set("b", 1, 2), []*corev1.Pod{pod("b-0", "new", no)}}}, ""},
		"a pod is terminating":             {[]zone{{set("a", 1, 2), []*corev1.Pod{pod("a-0", "old", yes)}}, {set("b", 1, 2), []*corev1.Pod{leaving}}}, ""},
		"a pod is missing":                 {[]zone{{set("a", 2, 2), []*corev1.Pod{pod("a-0", "old", yes)}}}, ""},
		"a template is not observed yet":   {[]zone{{set("a", 1, 1), []*corev1.Pod{pod("a-0", "old", yes)}}}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			if pod := next(tc.zones); pod != nil {
				got = pod.Name
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
