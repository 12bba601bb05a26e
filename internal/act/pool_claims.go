package act

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// deleteClaims deletes exactly the claims that were evaluated, all of one identity. No other code deletes claims. A pod
// that lost its labels is in no list, so the pod of the identity is read by its name first. If only some of the claims are
// deleted, the error is a plan.PartialError.
func (e *Executor) deleteClaims(ctx context.Context, s *pool.Snapshot, a pool.DeleteClaims) error {
	name := pool.PodName(s.Key.Name, a.ID)
	_, err := e.Client.CoreV1().Pods(s.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return reason.WithClass(reason.Human, fmt.Errorf("pod %s/%s exists, so its claims stay", s.Key.Namespace, name))
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read pod %s/%s: %w", s.Key.Namespace, name, err)
	}
	var errs []error
	for _, c := range a.Claims {
		uid, version := types.UID(c.UID), c.Version.String()
		err := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace).Delete(ctx, c.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("delete claim %s/%s: %w", s.Key.Namespace, c.Name, classify(err)))
		}
	}
	if deleted := len(a.Claims) - len(errs); deleted > 0 && len(errs) > 0 {
		return &plan.PartialError{Done: deleted, Errs: errs}
	}
	return errors.Join(errs...)
}

// ownClaims makes claims belong to the object, or not any more.
func (e *Executor) ownClaims(ctx context.Context, s *pool.Snapshot, a pool.OwnClaims) error {
	var owner any = ownerOf(s.Key, &s.Object)
	if !a.Owned {
		owner = map[string]string{"uid": s.Object.UID, "$patch": "delete"} // other owners stay
	}
	var errs []error
	for _, c := range a.Claims {
		text := jsonOf(map[string]any{"metadata": map[string]any{"uid": c.UID, "resourceVersion": c.Version.String(), "ownerReferences": []any{owner}}})
		_, err := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace).Patch(ctx, c.Name, types.StrategicMergePatchType, text, metav1.PatchOptions{})
		if err != nil {
			errs = append(errs, fmt.Errorf("change the owner of claim %s/%s: %w", s.Key.Namespace, c.Name, classify(err)))
		}
	}
	return errors.Join(errs...)
}

// growClaim asks for more storage for exactly the claim that was evaluated, unless it asks for that much already. A refusal
// is passed on to Checks: it stops nothing else.
func (e *Executor) growClaim(ctx context.Context, s *pool.Snapshot, a pool.GrowClaim) error {
	claims := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace)
	claim, err := claims.Get(ctx, a.Claim.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read claim %s/%s: %w", s.Key.Namespace, a.Claim.Name, classify(err))
	}
	grown := map[string]any{"metadata": changedMetadata{UID: a.Claim.UID, ResourceVersion: a.Claim.Version.String(), Annotations: with(nil, contract.StorageAnnotation, a.To.Text)}}
	if storage := claim.Spec.Resources.Requests.Storage(); storage.Value() < a.To.Bytes {
		grown["spec"] = map[string]any{"resources": map[string]any{"requests": map[string]string{"storage": a.To.Text}}}
	}
	_, err = claims.Patch(ctx, a.Claim.Name, types.StrategicMergePatchType, jsonOf(grown), metav1.PatchOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		e.Checks.GrowthRefused(s.Key, a.Claim.Name, a.To, apiMessage(err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("grow claim %s/%s: %w", s.Key.Namespace, a.Claim.Name, classify(err))
	}
	return nil
}

func ownerOf(key plan.Key, o *pool.Object) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "lockstep.dev/v1alpha1", Kind: "StatefulCluster", Name: key.Name, UID: types.UID(o.UID), Controller: new(true)}
}
