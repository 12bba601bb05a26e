package act

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/act/render"
	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// methodsOfPools are the methods for the actions that only StatefulClusters have.
var methodsOfPools = []method{
	sendsForPool("create pods", (*Executor).createPods),
	sendsForPool("complete pod", (*Executor).completePod),
	sendsForPool("retire identity", (*Executor).retireIdentity),
}

// sendsForPool returns the method that sends the requests of an action of a StatefulCluster.
func sendsForPool[A plan.Action](span string, send func(*Executor, context.Context, *pool.Snapshot, A) error) method {
	return method{reflect.TypeFor[A](), span, func(e *Executor, ctx context.Context, w plan.Workload, step plan.Action) error {
		return send(e, ctx, w.(*pool.Snapshot), step.(A)) //nolint:errcheck // only plans of pools have the action, and it is found by this type
	}}
}

// PoolPermissions returns the permissions for the writes to the objects of StatefulClusters.
func PoolPermissions() []permission.Need {
	return []permission.Need{
		{Resource: "pods", Verbs: []string{"create"}, Why: "create the pods of StatefulClusters"},
		{Resource: "persistentvolumeclaims", Verbs: []string{"get", "create", "patch"}, Why: "create the claims of StatefulClusters, and mark those whose identity has ended"},
	}
}

// createPods creates the pods of new identities, in runs of 1, 2, 4 and so on, at most atATime of them at the same
// time. The first refusal ends it: a quota that refuses one pod refuses the others as well.
func (e *Executor) createPods(ctx context.Context, s *pool.Snapshot, a pool.CreatePods) error {
	for run, rest := 1, a.IDs; len(rest) > 0; run *= 2 {
		now := rest[:min(run, len(rest))]
		rest = rest[len(now):]
		errs := make([]error, len(now))
		parallel.Each(len(now), atATime, func(i int) { errs[i] = e.createPod(ctx, s, now[i]) })
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

func (e *Executor) createPod(ctx context.Context, s *pool.Snapshot, id pool.ID) error {
	text, err := render.Pod(s.Key, &s.Object, id)
	if err != nil {
		return err
	}
	var created corev1.Pod
	if err := e.create(ctx, s.Key, "pods", text, &created); err != nil {
		return fmt.Errorf("create pod %s/%s: %w", s.Key.Namespace, pool.PodName(s.Key.Name, id), err)
	}
	version, _ := plan.ParseVersion(created.ResourceVersion)
	e.Fresh.PodCreated(s.Key, created.Name, version)
	return nil
}

// create sends an object as JSON, so that fields that this program does not know reach the API server.
func (e *Executor) create(ctx context.Context, key plan.Key, resource string, text []byte, into runtime.Object) error {
	return e.Client.CoreV1().RESTClient().Post().Namespace(key.Namespace).Resource(resource).
		Param("fieldManager", contract.FieldManager).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(text).Do(ctx).Into(into)
}

// completePod creates the missing claims of a pod, and then removes its scheduling gate.
func (e *Executor) completePod(ctx context.Context, s *pool.Snapshot, a pool.CompletePod) error {
	for _, t := range a.Templates {
		if err := e.createClaim(ctx, s, t, a.ID); err != nil {
			return err
		}
	}
	lift := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"name":%q,"$patch":"delete"}]}}`, a.UID, contract.ClaimsGate)
	updated, err := e.Client.CoreV1().Pods(s.Key.Namespace).Patch(ctx, a.Pod, types.StrategicMergePatchType, lift, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("complete pod %s/%s: %w", s.Key.Namespace, a.Pod, classify(err))
	}
	version, _ := plan.ParseVersion(updated.ResourceVersion)
	e.Fresh.PodCreated(s.Key, a.Pod, version)
	return nil
}

// createClaim creates the claim of an identity. If a claim of that name exists, it must be that claim: another one has
// data of another owner.
func (e *Executor) createClaim(ctx context.Context, s *pool.Snapshot, t pool.ClaimTemplate, id pool.ID) error {
	text, err := render.Claim(s.Key, &s.Object, t, id)
	if err != nil {
		return err
	}
	name := pool.ClaimName(s.Key.Name, t.Name, id)
	err = e.create(ctx, s.Key, "persistentvolumeclaims", text, &corev1.PersistentVolumeClaim{})
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create claim %s/%s: %w", s.Key.Namespace, name, err)
	}
	claim, err := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read claim %s/%s: %w", s.Key.Namespace, name, classify(err))
	}
	if claim.Labels[contract.PoolUIDLabel] != s.Object.UID || claim.Labels[contract.InstanceIDLabel] != string(id) || claim.Labels[contract.ClaimLabel] != t.Name {
		return reason.WithClass(reason.Human, fmt.Errorf("claim %s/%s exists and does not belong to %s", s.Key.Namespace, name, s.Key))
	}
	return nil
}

// retireIdentity marks the claims of an identity at the versions that were evaluated.
func (e *Executor) retireIdentity(ctx context.Context, s *pool.Snapshot, a pool.RetireIdentity) error {
	claims := slices.Clone(a.Claims)
	errs := make([]error, len(claims))
	parallel.Each(len(claims), atATime, func(i int) {
		mark := requiring(claims[i].UID, claims[i].Version)
		mark.Metadata.Annotations = map[string]string{
			contract.RetiredAtAnnotation: contract.FormatDownscaled(e.Clock.Now()), contract.RetiredReasonAnnotation: string(a.Because),
		}
		_, err := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace).Patch(ctx, claims[i].Name, types.MergePatchType, mark.json(), metav1.PatchOptions{})
		if err != nil {
			errs[i] = fmt.Errorf("retire claim %s/%s: %w", s.Key.Namespace, claims[i].Name, classify(err))
		}
	})
	return errors.Join(errs...)
}
