package judge

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func observed(t *testing.T, object runtime.Object, kind watch.EventType) Event {
	t.Helper()
	e, ok := eventOf(watch.Event{Type: kind, Object: object}, time.Unix(1, 0))
	if !ok {
		t.Fatalf("%T is not a watched kind", object)
	}
	return e
}

func TestPodOf(t *testing.T) {
	t.Parallel()
	since := metav1.Unix(7, 0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "zone-a-0", UID: "u", ResourceVersion: "17", DeletionTimestamp: &since, DeletionGracePeriodSeconds: new(int64(2)),
			Labels: map[string]string{"controller-revision-hash": "r"},
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "StatefulSet", UID: "no controller"}, {Kind: "StatefulSet", UID: "owner", Controller: new(true)},
			},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
		}},
	}
	e := observed(t, pod, watch.Modified)
	want := Pod{Name: "zone-a-0", UID: "u", Owner: "owner", Labels: pod.Labels, Revision: "r", Ready: true, ReadySince: since.Time, Terminating: true, TerminatedAt: since.Add(-2 * time.Second)}
	if !reflect.DeepEqual(*e.Pod, want) || e.Version != 17 || e.Namespace != "n" {
		t.Errorf("got %+v of %+v, want %+v", e, *e.Pod, want)
	}
	pod.DeletionTimestamp, pod.OwnerReferences, pod.Labels = nil, nil, nil
	pod.Status.Conditions[1].Status = corev1.ConditionFalse
	if got, want := *observed(t, pod, watch.Deleted).Pod, (Pod{Name: "zone-a-0", UID: "u", Deleted: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestZoneOf(t *testing.T) {
	t.Parallel()
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "zone-a", UID: "u",
			Labels:      map[string]string{"rollout-group": "g"},
			Annotations: map[string]string{"rollout-max-unavailable": "50%", "grafana.com/rollout-paused": "true", "lockstep.dev/paused-until": "2026-01-05T14:00:00+02:00"},
		},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "store"}},
			Replicas: new(int32(5)), MinReadySeconds: 3, Ordinals: &appsv1.StatefulSetOrdinals{Start: 2},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		},
		Status: appsv1.StatefulSetStatus{UpdateRevision: "r", CurrentRevision: "other"},
	}
	want := Zone{
		Name: "zone-a", UID: "u", Group: "g", Grouped: true, Replicas: 5, Start: 2, MinReady: 3 * time.Second,
		MaxUnavailable: 2, Paused: true, PausedUntil: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), OnDelete: true, Revision: "r", Selector: "app=store",
	}
	if got := *observed(t, set, watch.Added).Zone; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	bare := &appsv1.StatefulSet{}
	if got, want := *observed(t, bare, watch.Added).Zone, (Zone{Replicas: 1, MaxUnavailable: 1}); got != want {
		t.Errorf("empty StatefulSet: got %+v, want %+v", got, want)
	}
}

func TestZoneOfReadsGroup(t *testing.T) {
	t.Parallel()
	type texts = map[string]string
	for name, tc := range map[string]struct {
		labels, annotations texts
		group               string
		grouped             bool
	}{
		"neither":                 {nil, nil, "", false},
		"the label":               {texts{"rollout-group": "g"}, nil, "g", true},
		"a label without a value": {texts{"rollout-group": ""}, nil, "", true},
		"the annotation":          {nil, texts{"lockstep.dev/rollout-group": "other"}, "other", true},
		"both":                    {texts{"rollout-group": "g"}, texts{"lockstep.dev/rollout-group": "other"}, "other", true},
		"no name of a group":      {texts{"rollout-group": "g"}, texts{"lockstep.dev/rollout-group": "a b"}, "g", true},
		"an empty annotation":     {texts{"rollout-group": "g"}, texts{"lockstep.dev/rollout-group": ""}, "g", true},
		"ignored":                 {texts{"rollout-group": "g"}, texts{"lockstep.dev/rollout-group": "other", "lockstep.dev/ignore": "true"}, "", false},
		"not ignored":             {texts{"rollout-group": "g"}, texts{"lockstep.dev/ignore": "yes"}, "g", true},
	} {
		z := ZoneOf(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}})
		if z.Group != tc.group || z.Grouped != tc.grouped {
			t.Errorf("%s: got %q, %t; want %q, %t", name, z.Group, z.Grouped, tc.group, tc.grouped)
		}
	}
}

func TestZoneOfReadsMaxUnavailable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 1, "2": 2, " 3 ": 3, "0": 1, "-1": 1, "two": 1, "50%": 5, "1%": 1, "100%": 10, "101%": 1, "99": 99,
	} {
		set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(10))}}
		set.Annotations = map[string]string{"rollout-max-unavailable": text}
		if got := ZoneOf(set).MaxUnavailable; got != want {
			t.Errorf("%q of 10 pods is %d, want %d", text, got, want)
		}
	}
}

func TestPoolOfReadsSurges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy string
		surge  any
		want   bool
	}{
		"none":                    {"Recreate", nil, false},
		"zero":                    {"Recreate", int64(0), false},
		"a number":                {"Recreate", int64(1), true},
		"a percentage":            {"Recreate", "25%", true},
		"a policy that keeps all": {"InPlaceIfPossible", int64(1), false},
	} {
		update := map[string]any{"podUpdatePolicy": tc.policy}
		if tc.surge != nil {
			update["maxSurge"] = tc.surge
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"kind": "StatefulCluster", "spec": map[string]any{"updateStrategy": map[string]any{"rollingUpdate": update}},
		}}
		if got := PoolOf(o, false).Surges; got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

func TestHoldOf(t *testing.T) {
	t.Parallel()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Labels: map[string]string{"lockstep.dev/hold": "group"},
			Annotations: map[string]string{
				"lockstep.dev/group":   "g",
				"lockstep.dev/intents": `{"version":1,"pods":[{"pod":"zone-a-0","zone":"zone-a","uid":"u","resourceVersion":"17"}]}`,
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("rollout/zone-a")},
	}
	got := observed(t, lease, watch.Modified).Hold
	if got.Group != "g" || got.Holder != "rollout/zone-a" || len(got.Intents) != 1 || got.Intents[0] != (PodIntent{"zone-a-0", "u", 17}) {
		t.Errorf("got %+v", got)
	}
	lease.Annotations["lockstep.dev/intents"] = "nonsense"
	if got := HoldOf(lease); len(got.Intents) != 1 || got.Intents[0].UID != "" {
		t.Errorf("unreadable intents: got %+v", got.Intents)
	}
	delete(lease.Labels, "lockstep.dev/hold")
	if e := observed(t, lease, watch.Modified); !e.isEmpty() {
		t.Errorf("Lease of something else: got %s", e)
	}
}

func TestEventOfNamespace(t *testing.T) {
	t.Parallel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}}
	e := observed(t, namespace, watch.Deleted)
	if e.Namespace != "n" || e.NamespaceState.Labels["a"] != "b" || !e.NamespaceState.Deleted {
		t.Errorf("got %s", e)
	}
}

func TestObserverFailsOnWatchError(t *testing.T) {
	t.Parallel()
	o := &Observer{handle: func(watch.Event) { t.Error("handle was called with an error") }}
	o.observe(watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old"}})
	if _, err := o.Events(); err == nil {
		t.Error("got no error after a watch error")
	}
}
