package act

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// labelsOfPod returns the labels without which no cache shows the pod of an identity, or not as its pod.
func labelsOfPod(s *pool.Snapshot, id pool.ID) map[string]string {
	return map[string]string{contract.PoolLabel: s.Key.Name, contract.InstanceIDLabel: string(id)}
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

// lostAtAdmission returns what something takes off new pods without which lockstep does not see them, or that they belong to the
// object; empty: nothing. If each new pod lacked it, another one would be created all the time.
func lostAtAdmission(s *pool.Snapshot, id pool.ID, created map[string]string) string {
	switch {
	case created == nil:
		return "" // it is not known otherwise
	case !pools.SelectorOf(&s.Object)(created):
		return "something changes the labels of new pods, so that spec.selector does not match them"
	case changedLabel(labelsOfPod(s, id), created) != "":
		return "something changes the labels " + contract.PoolLabel + " and " + contract.InstanceIDLabel + " of new pods"
	}
	return ""
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

// tryPod returns an error if something takes labels off a pod when it is created. Such a pod would be in no cache: another one would
// take its place, and then another one. If the dry run is refused, so is the pod, with the same answer.
func (e *Executor) tryPod(ctx context.Context, s *pool.Snapshot, b render.Birth) error {
	created, err := e.dryRun(ctx, s, b, metav1.FieldValidationIgnore)
	if err != nil {
		return nil //nolint:nilerr // the creation says why
	}
	if lost := lostAtAdmission(s, b.ID, labelsOf(created)); lost != "" {
		return fmt.Errorf("create pod %s/%s: %s", s.Key.Namespace, pool.PodName(s.Key.Name, b.ID), lost)
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
		return fmt.Sprintf("something changes the label %s of new claims for %s", label, t.Name), nil
	}
	return "", nil
}

// labelPod gives a pod that was created just now the labels that it has lost. An error names the pod if it loses them again: it has
// no place in the StatefulCluster then.
func (e *Executor) labelPod(ctx context.Context, key plan.Key, created *corev1.Pod, own map[string]string) error {
	text := jsonOf(map[string]any{"metadata": map[string]any{"uid": created.UID, "labels": own}})
	labelled, err := e.Client.CoreV1().Pods(key.Namespace).Patch(ctx, created.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("label pod %s/%s: %w", key.Namespace, created.Name, classify(err))
	}
	if label := changedLabel(own, labelled.Labels); label != "" {
		return fmt.Errorf("label pod %s/%s: something changes its label %s; delete the pod", key.Namespace, created.Name, label)
	}
	e.podReached(key, labelled)
	return nil
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
		return fmt.Errorf("label claim %s/%s: something changes its label %s", key.Namespace, name, label)
	}
	return nil
}
