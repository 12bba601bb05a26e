package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// labelsOfPod returns the labels without which no cache shows the pod of an identity, or not as its pod.
func labelsOfPod(s *pool.Snapshot, id pool.ID) map[string]string {
	return map[string]string{contract.PoolLabel: s.Key.Name, contract.InstanceIDLabel: string(id)}
}

// labelsOfBirth returns the labels that a new pod needs: those of its identity, and the one by which it is known to have its revision.
func labelsOfBirth(s *pool.Snapshot, b render.Birth) map[string]string {
	labels := labelsOfPod(s, b.ID)
	labels[contract.RevisionLabel] = b.Revision
	return labels
}

// labelsOfClaim returns the labels without which no cache shows the claim of an identity, or not as its claim.
func labelsOfClaim(s *pool.Snapshot, id pool.ID, template string) map[string]string {
	return map[string]string{contract.PoolLabel: s.Key.Name, contract.InstanceIDLabel: string(id), contract.ClaimLabel: template, contract.PoolUIDLabel: s.Object.UID}
}

// changedLabel returns the first of the wanted labels that an object does not have as wanted; empty: it has all of them.
func changedLabel(want, has map[string]string) string {
	for _, label := range slices.Sorted(maps.Keys(want)) {
		if has[label] != want[label] {
			return label
		}
	}
	return ""
}

// correctIt is what to do about something that changes new objects.
const correctIt = "; correct the webhook or policy that does"

// prevented returns an error about something that only a person can change. It is tried again with back-off.
func prevented(format string, values ...any) error {
	return reason.WithCode(reason.CreationPrevented, fmt.Errorf(format, values...))
}

// lostAtAdmission returns what something takes off new pods although lockstep needs it; empty: nothing. Without their labels, lockstep
// does not see the pods, or not that they belong to the object, and another one would be created all the time. Without the scheduling
// gate, a pod looks like one whose claims were deleted.
func lostAtAdmission(s *pool.Snapshot, b render.Birth, created []byte) string {
	pod := admittedPod(created)
	if pod == nil {
		return "" // it is not known otherwise
	}
	if !pools.SelectorOf(&s.Object)(pod.Labels) {
		return "something changes the labels of new pods, so that spec.selector does not match them" + correctIt
	}
	if label := changedLabel(labelsOfBirth(s, b), pod.Labels); label != "" {
		return "something changes the label " + label + " of new pods" + correctIt
	}
	if text, err := render.Pod(s.Key, &s.Object, b); err == nil && isGated(admittedPod(text)) && !isGated(pod) {
		return "something takes the scheduling gate " + contract.ClaimsGate + " off new pods" + correctIt
	}
	return ""
}

// admittedPod returns the part of a pod that lockstep needs; nil: it is not known.
func admittedPod(text []byte) *corev1.Pod {
	var pod struct {
		metav1.ObjectMeta `json:"metadata"`

		Spec struct {
			Gates []corev1.PodSchedulingGate `json:"schedulingGates"`
		} `json:"spec"`
	}
	if json.Unmarshal(text, &pod) != nil {
		return nil
	}
	return &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: corev1.PodSpec{SchedulingGates: pod.Spec.Gates}}
}

// isGated reports whether a pod has the scheduling gate of lockstep.
func isGated(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: contract.ClaimsGate})
}

// labelsOf returns the labels of an object that the API server has answered with; nil: they are not known.
func labelsOf(text []byte) map[string]string {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	if object.Labels == nil {
		return map[string]string{}
	}
	return object.Labels
}

// tryPod returns an error if something takes off a new pod what lockstep needs, or has done that to a pod that this process has created
// before. If the dry run is refused, so is the pod, with the same answer.
func (e *Executor) tryPod(ctx context.Context, s *pool.Snapshot, b render.Birth) error {
	if err := e.labelFormer(ctx, s.Key); err != nil {
		return err
	}
	created, err := e.dryRun(ctx, s, b, metav1.FieldValidationIgnore)
	if err != nil {
		return nil //nolint:nilerr // the creation says why
	}
	if lost := lostAtAdmission(s, b, created); lost != "" {
		return prevented("create pod %s/%s: %s", s.Key.Namespace, pool.PodName(s.Key.Name, b.ID), lost)
	}
	return nil
}

// tryClaims returns why the API server refuses a claim of one of the templates because of what it says, or what something takes
// off such claims.
func (e *Executor) tryClaims(ctx context.Context, s *pool.Snapshot, id pool.ID) (lost string, err error) {
	for _, t := range s.Object.Claims {
		if lost, err := e.tryClaim(ctx, s, t, id); lost != "" || err != nil {
			return lost, err
		}
	}
	return "", nil
}

// tryClaim returns why the API server refuses a claim of a template because of what it says, or the label that something takes off
// such claims. Another refusal, such as that of a quota, is none of the template: pods wait for their claims then.
func (e *Executor) tryClaim(ctx context.Context, s *pool.Snapshot, t pool.ClaimTemplate, id pool.ID) (lost string, err error) {
	text, err := render.Claim(s.Key, &s.Object, t, pool.CompletePod{ID: id})
	if err != nil {
		return "", err
	}
	answer := e.tryCreation(ctx, s, "persistentvolumeclaims", text, metav1.FieldValidationStrict)
	if err := answer.Error(); isWrong(err) {
		return "", fmt.Errorf("create a claim of %s for %s by a dry run: %w", s.Key, t.Name, err)
	}
	created, err := answer.Raw()
	if err != nil {
		return "", nil //nolint:nilerr // it is none of the template
	}
	labels := labelsOf(created)
	if label := changedLabel(labelsOfClaim(s, id, t.Name), labels); labels != nil && label != "" {
		return fmt.Sprintf("something changes the label %s of new claims for %s%s", label, t.Name, correctIt), nil
	}
	return "", nil
}

// unlabelledPods keeps the pods that this process has created, that have lost labels, and that did not get them again.
type unlabelledPods struct {
	mu sync.Mutex
	of map[plan.Key][]unlabelledPod
}

type unlabelledPod struct {
	name string
	uid  types.UID
	own  map[string]string // the labels that it needs
}

func (u *unlabelledPods) add(key plan.Key, pod unlabelledPod) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[plan.Key][]unlabelledPod{}
	}
	u.of[key] = append(u.of[key], pod)
}

// take returns the pods of a StatefulCluster, and forgets them.
func (u *unlabelledPods) take(key plan.Key) []unlabelledPod {
	u.mu.Lock()
	defer u.mu.Unlock()
	pods := u.of[key]
	delete(u.of, key)
	return pods
}

// labelFormer gives pods that this process has created the labels that they have lost. It returns an error, so that no other pod is
// created, while there is such a pod: otherwise each attempt would leave one more.
func (e *Executor) labelFormer(ctx context.Context, key plan.Key) error {
	var errs []error
	for _, pod := range e.unlabelled.take(key) {
		err := e.labelPod(ctx, key, pod)
		switch {
		case err == nil:
			errs = append(errs, reason.WithClass(reason.Moved, fmt.Errorf("pod %s/%s has its labels again", key.Namespace, pod.name)))
		case reason.ClassOf(err) != reason.Moved: // otherwise it was deleted
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// labelPod gives a pod that this process has created the labels that it has lost. If it loses them again, it is kept, so that no other
// one is created beside it.
func (e *Executor) labelPod(ctx context.Context, key plan.Key, pod unlabelledPod) error {
	text := jsonOf(map[string]any{"metadata": map[string]any{"uid": pod.uid, "labels": pod.own}})
	labelled, err := e.Client.CoreV1().Pods(key.Namespace).Patch(ctx, pod.name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		err = fmt.Errorf("label pod %s/%s: %w", key.Namespace, pod.name, classify(err))
	} else if label := changedLabel(pod.own, labelled.Labels); label != "" {
		err = prevented("label pod %s/%s: something changes its label %s%s", key.Namespace, pod.name, label, correctIt)
	}
	if err == nil {
		e.podReached(key, labelled)
	} else if reason.ClassOf(err) != reason.Moved {
		e.unlabelled.add(key, pod)
	}
	return err
}

// labelClaim gives exactly the claim that was read the labels of its identity, beside its other changes. If something changes a
// label again, it returns an error: no cache shows the claim, so the same request would be sent all the time.
func (e *Executor) labelClaim(ctx context.Context, key plan.Key, name string, of changedMetadata, own map[string]string) error {
	of.Labels = map[string]*string{}
	for label, value := range own {
		of.Labels[label] = &value
	}
	labelled, err := e.Client.CoreV1().PersistentVolumeClaims(key.Namespace).Patch(ctx, name, types.MergePatchType, jsonOf(change{Metadata: of}), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("label claim %s/%s: %w", key.Namespace, name, classify(err))
	}
	if label := changedLabel(own, labelled.Labels); label != "" {
		return prevented("label claim %s/%s: something changes its label %s%s", key.Namespace, name, label, correctIt)
	}
	return nil
}
