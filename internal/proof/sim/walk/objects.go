package walk

import (
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// pod is a stored pod. It is converted to an API object when it is first read.
type pod struct {
	plan.Pod

	owner       string            // the UID of its StatefulSet; empty: nothing controls it
	userCreated bool              // a user created it; it has no pod-name label until a StatefulSet has adopted it
	mislabelled map[string]string // labels that a user gave it, which the selector of its zone does not match; nil: those of its zone
	apiObject   *corev1.Pod
}

// podGroupLabel is the label of pods that budgets select.
const podGroupLabel = "store"

// podNameLabel is the label of every pod that a StatefulSet created.
const podNameLabel = "statefulset.kubernetes.io/pod-name"

// object returns a pod of a zone as an API object. Callers must not change it.
func (p *pod) object(g *simulatedGroup, n int) *corev1.Pod {
	if p.apiObject == nil {
		p.apiObject = p.toObject(g, n)
	}
	return p.apiObject
}

func (p *pod) toObject(g *simulatedGroup, n int) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: g.key.Namespace, Name: p.Name, UID: types.UID(p.UID), ResourceVersion: p.Version.String(),
		CreationTimestamp: metav1.NewTime(p.Created.Time()), Labels: p.labels(g, n),
	}}
	if p.owner != "" {
		o.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "StatefulSet", Name: g.zones[n].Name, UID: types.UID(p.owner), Controller: new(true),
		}}
	}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	switch p.Phase {
	case plan.Ready:
		ready.Status, ready.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(p.ReadySince)
	case plan.Failing:
		o.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: p.Why}}}}
	case plan.Terminating:
		o.DeletionTimestamp = &metav1.Time{Time: epoch}
	case plan.Starting:
	}
	o.Status.Phase, o.Status.PodIP, o.Status.Conditions = corev1.PodRunning, p.IP, []corev1.PodCondition{ready}
	return o
}

// labels returns the labels of a pod.
func (p *pod) labels(g *simulatedGroup, n int) map[string]string {
	all := maps.Clone(p.mislabelled)
	if all == nil {
		all = g.podLabels(n)
	}
	if !p.userCreated {
		all[podNameLabel] = p.Name
	}
	if p.Revision != "" {
		all[contract.RevisionLabel] = p.Revision
	}
	return all
}

// podLabels returns the labels of the pod template of a zone. In every other group the selectors of
// zones have different keys, so that no list returns the pods of two zones.
func (g *simulatedGroup) podLabels(n int) map[string]string {
	return map[string]string{podGroupLabel: g.key.Name, g.selectorKey(n): g.zones[n].Name}
}

// selectorKey returns the label that the selector of a zone requires.
func (g *simulatedGroup) selectorKey(n int) string {
	if g.no%2 == 0 {
		return "zone"
	}
	return "in-" + zoneNames[n]
}

// object returns a zone as an API object, which callers must not change; nil if the
// StatefulSet was deleted.
func (z *zone) object(g *simulatedGroup, n int) *appsv1.StatefulSet {
	if z.absence == orphaned {
		return nil
	}
	if z.apiObject == nil {
		z.apiObject = z.toObject(g, n)
	}
	return z.apiObject
}

func (z *zone) toObject(g *simulatedGroup, n int) *appsv1.StatefulSet {
	o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: g.key.Namespace, Name: z.Name, UID: types.UID(z.UID), ResourceVersion: z.Version.String(),
		Generation: z.Generation, Annotations: z.annotations(),
	}}
	if z.absence == inGroup {
		o.Labels = map[string]string{contract.GroupLabel: g.key.Name}
	}
	o.Spec.Replicas = new(int32(z.Replicas))
	o.Spec.MinReadySeconds = int32(z.MinReady / time.Second)
	o.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{g.selectorKey(n): z.Name}}
	o.Spec.Template.Labels = g.podLabels(n)
	o.Status.UpdateRevision, o.Status.CurrentRevision = z.UpdateRevision, z.CurrentRevision
	if o.Status.ObservedGeneration = z.Generation; !z.Observed {
		o.Status.ObservedGeneration--
	}
	if !z.Counting {
		o.Status.UpdatedReplicas, o.Status.ReadyReplicas = int32(z.Replicas), int32(z.Replicas)
	}
	return o
}

func (z *zone) annotations() map[string]string {
	a := map[string]string{contract.MaxUnavailableAnnotation: strconv.Itoa(z.MaxUnavailable.Pods)}
	if z.MinBetween.Duration > 0 {
		a[contract.MinBetweenName] = z.MinBetween.Duration.String()
	}
	if z.Paused {
		a[contract.PausedAnnotation] = "true"
	}
	if until := z.PausedUntil.Time; !until.IsZero() {
		a[contract.PausedUntilAnnotation] = contract.FormatPausedUntil(until)
	}
	if at := z.Downscaled.Time; !at.IsZero() {
		a[contract.DownscaledAnnotation] = contract.FormatDownscaled(at)
	}
	if z.Leader != "" {
		a[contract.LeaderAnnotation] = z.Leader
	}
	if z.Forced.Given {
		a[contract.ForceAnnotation] = strconv.Itoa(z.Forced.Replicas)
	}
	return a
}

// budgets are the budgets of evictions, which every process knows.
type budgets struct{ *walk }

// Budgets implements observe.Budgets.
func (b budgets) Budgets(namespace string) []group.DisruptionBudget {
	var all []group.DisruptionBudget
	for g := range b.groupsOf(namespace) {
		all = append(all, g.budgets...)
	}
	return all
}

// Known implements observe.Budgets.
func (budgets) Known() bool { return true }

// Answered implements observe.Budgets.
func (budgets) Answered() bool { return true }

// Listen implements observe.Budgets: budgets never change.
func (budgets) Listen(func(string)) {}
