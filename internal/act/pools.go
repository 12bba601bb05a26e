package act

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// Checks keeps what dry runs have shown of the templates of StatefulClusters.
type Checks interface {
	// Refused receives why the API server refuses a pod of the template with that hash.
	Refused(key plan.Key, hash, because string)
	// Compared receives how the pods of a revision differ from those of the newest one.
	// For a pod of an unknown revision, its UID stands for the revision.
	Compared(key plan.Key, newest, revision string, change pool.Change)
	// ClaimTaken receives an identity of which a claim cannot be created, because another owner has one of its name.
	ClaimTaken(plan.Key, pool.ID)
	// GrowthRefused receives why the API server refuses more storage for a claim.
	GrowthRefused(key plan.Key, claim string, to pool.Storage, because string)
	// LookUpService reads and keeps whether a Service gives pods their host names.
	LookUpService(ctx context.Context, s *pool.Snapshot, name string) error
	// LookAtVolumes reads and keeps where the volumes of pods without a node can be used.
	LookAtVolumes(ctx context.Context, s *pool.Snapshot, pods []string) error
	// FoundOrphans receives the pods that match the selector and do not belong to the object.
	FoundOrphans(plan.Key, pool.Orphans)
}

// methodsOfPools are the methods for the actions that only StatefulClusters have.
var methodsOfPools = []method{
	sendsForPool("create pods", (*Executor).createPods),
	sendsForPool("complete pod", (*Executor).completePod),
	sendsForPool("hand over identity", (*Executor).handOver),
	sendsForPool("prepare hand-over", (*Executor).prepareHandover),
	sendsForPool("begin update in place", (*Executor).beginUpdate),
	sendsForPool("set update gate", (*Executor).setGate),
	sendsForPool("resize pod", (*Executor).resizePod),
	sendsForPool("end update in place", (*Executor).endUpdate),
	sendsForPool("update pod in place", (*Executor).updateInPlace),
	sendsForPool("relabel pod", (*Executor).relabelPod),
	sendsForPool("retire identity", (*Executor).retireIdentity),
	sendsForPool("unretire identity", (*Executor).unretireIdentity),
	sendsForPool("delete claims", (*Executor).deleteClaims),
	sendsForPool("own claims", (*Executor).ownClaims),
	sendsForPool("grow claim", (*Executor).growClaim),
	sendsForPool("record revision", (*Executor).recordRevision),
	sendsForPool("renumber revision", (*Executor).renumberRevision),
	sendsForPool("delete revision", (*Executor).deleteRevision),
	sendsForPool("compare revisions", (*Executor).compareRevisions),
	sendsForPool("look for orphans", (*Executor).lookForOrphans),
	sendsForPool("look at volumes", (*Executor).lookAtVolumes),
	sendsForPool("look up Service", (*Executor).lookUpService),
	sendsForPool("adopt pod", (*Executor).adoptPod),
	sendsForPool("release pod", (*Executor).releasePod),
	sendsForPool("label claims", (*Executor).labelClaims),
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
		{Resource: "pods", Verbs: []string{"create", "patch"}, Why: "create the pods of StatefulClusters, and update them in place"},
		{Resource: "persistentvolumeclaims", Verbs: []string{"get", "create", "patch", "delete"}, Why: "create the claims of StatefulClusters, mark those whose identity has ended, and delete them if their policy says so"},
		{Resource: "pods/status", Verbs: []string{"patch"}, Why: "close and open the readiness gate of pods that are updated in place"},
		{Resource: "pods/resize", Verbs: []string{"patch"}, Why: "change the resources of pods in place"},
		{Resource: "pods", Verbs: []string{"get"}, Why: "make sure that an identity has no pod before its claims are deleted"},
		{Resource: "pods", Verbs: []string{"list"}, Why: "look for pods to adopt"},
		{APIGroup: "apps", Resource: "controllerrevisions", Verbs: []string{"get", "create", "patch", "delete"}, Why: "record the templates of StatefulClusters"},
	}
}

// createPods creates the pods of new identities, in runs of 1, 2, 4 and so on, at most atATime of them at the same
// time. The first refusal ends it: a quota that refuses one pod refuses the others as well. No pod is created that would lose what
// lockstep needs. If only some of them are created, the error is a plan.PartialError.
func (e *Executor) createPods(ctx context.Context, s *pool.Snapshot, a pool.CreatePods) error {
	if err := e.tryPod(ctx, s, render.Birth{ID: a.IDs[0], Revision: a.Revision, Templates: a.Templates}); err != nil {
		return err
	}
	for run, rest := 1, a.IDs; len(rest) > 0; run *= 2 {
		now := rest[:min(run, len(rest))]
		rest = rest[len(now):]
		errs := make([]error, len(now))
		parallel.Each(len(now), atATime, func(i int) {
			errs[i] = e.createPod(ctx, s, render.Birth{ID: now[i], Revision: a.Revision, Templates: a.Templates})
		})
		failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
		switch born := len(a.IDs) - len(rest) - len(failed); {
		case len(failed) > 0 && born > 0:
			return &plan.PartialError{Done: born, Errs: failed}
		case len(failed) > 0:
			return errors.Join(failed...)
		}
	}
	return nil
}

// handOver creates the next pod of an identity, unless a claim that the identity had is not as it was evaluated, or the pod would
// lose what lockstep needs.
func (e *Executor) handOver(ctx context.Context, s *pool.Snapshot, a pool.HandOver) error {
	next := render.Birth{ID: a.ID, From: a.From, Revision: a.Revision, Templates: a.Templates, Claims: a.Claims}
	var lost, changed error // together, because a pod is down for as long as they take
	parallel.All(func() { lost = e.tryPod(ctx, s, next) }, func() { changed = e.unchanged(ctx, s.Key, a.Had) })
	if err := errors.Join(lost, changed); err != nil {
		return err
	}
	err := e.createPod(ctx, s, next)
	if apierrors.IsAlreadyExists(err) {
		return e.exists(ctx, s, a.ID, err)
	}
	return err
}

// exists returns why the next pod of an identity was not created, although no cache shows a pod of that name. Usually another process
// was faster. If the pod is none of the StatefulCluster, or caches cannot show that it is, the name stays taken until a client deletes it.
func (e *Executor) exists(ctx context.Context, s *pool.Snapshot, id pool.ID, creation error) error {
	name := pool.PodName(s.Key.Name, id)
	pod, err := e.Client.CoreV1().Pods(s.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch owner := metav1.GetControllerOfNoCopy(pod); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read pod %s/%s: %w", s.Key.Namespace, name, classify(err))
	case owner == nil || string(owner.UID) != s.Object.UID || changedLabel(labelsOfPod(s, id), pod.Labels) != "":
		return prevented("create pod %s/%s: a pod of that name exists and does not belong to %s; delete it", s.Key.Namespace, name, s.Key)
	}
	return reason.WithClass(reason.Moved, creation)
}

// unchanged returns an error unless each of the claims has the UID and the version that were evaluated.
func (e *Executor) unchanged(ctx context.Context, key plan.Key, claims []pool.Claim) error {
	errs := make([]error, len(claims))
	parallel.Each(len(claims), atATime, func(i int) {
		c := &claims[i]
		now, err := e.Client.CoreV1().PersistentVolumeClaims(key.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("read claim %s/%s: %w", key.Namespace, c.Name, classify(err))
		case string(now.UID) != c.UID || now.ResourceVersion != c.Version.String():
			errs[i] = reason.WithClass(reason.Moved, fmt.Errorf("claim %s/%s has changed", key.Namespace, c.Name))
		}
	})
	return errors.Join(errs...)
}

func (e *Executor) createPod(ctx context.Context, s *pool.Snapshot, b render.Birth) error {
	text, err := render.Pod(s.Key, &s.Object, b)
	if err != nil {
		return err
	}
	var created corev1.Pod
	if err := e.create(ctx, s.Key, "pods", text, &created); err != nil {
		return fmt.Errorf("create pod %s/%s: %w", s.Key.Namespace, pool.PodName(s.Key.Name, b.ID), err)
	}
	own := labelsOfBirth(s, b)
	if changedLabel(own, created.Labels) != "" { // since the dry run, or by another API server
		return e.labelPod(ctx, s.Key, unlabelledPod{created.Name, created.UID, own})
	}
	e.podReached(s.Key, &created)
	return nil
}

// podReached records the version that a write to a pod returned.
func (e *Executor) podReached(key plan.Key, written *corev1.Pod) {
	version, _ := plan.ParseVersion(written.ResourceVersion)
	e.Fresh.PodCreated(key, written.Name, version)
}

// create sends an object as JSON, so that fields that this program does not know reach the API server.
func (e *Executor) create(ctx context.Context, key plan.Key, resource string, text []byte, into runtime.Object) error {
	return e.Client.CoreV1().RESTClient().Post().Namespace(key.Namespace).Resource(resource).
		Param("fieldManager", contract.FieldManager).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(text).Do(ctx).Into(into)
}

// completePod creates the missing claims of a pod, and then removes its scheduling gate, unless that is to stay.
func (e *Executor) completePod(ctx context.Context, s *pool.Snapshot, a pool.CompletePod) error {
	for _, t := range a.Templates {
		if err := e.createClaim(ctx, s, t, a); err != nil {
			return err
		}
	}
	if a.KeepGate {
		return nil
	}
	lift := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedulingGates":[{"name":%q,"$patch":"delete"}]}}`, a.UID, contract.ClaimsGate)
	updated, err := e.Client.CoreV1().Pods(s.Key.Namespace).Patch(ctx, a.Pod, types.StrategicMergePatchType, lift, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("complete pod %s/%s: %w", s.Key.Namespace, a.Pod, classify(err))
	}
	e.podReached(s.Key, updated)
	return nil
}

// createClaim creates the claim of an identity. If a claim of that name exists, it must be that claim: another one has
// data of another owner.
func (e *Executor) createClaim(ctx context.Context, s *pool.Snapshot, t pool.ClaimTemplate, a pool.CompletePod) error {
	text, err := render.Claim(s.Key, &s.Object, t, a)
	if err != nil {
		return err
	}
	name := pool.ClaimName(s.Key.Name, t.Name, a.ID)
	claim := &corev1.PersistentVolumeClaim{}
	err = e.create(ctx, s.Key, "persistentvolumeclaims", text, claim)
	if apierrors.IsAlreadyExists(err) {
		claim, err = e.existingClaim(ctx, s, t, a)
	} else if err != nil {
		err = fmt.Errorf("create claim %s/%s: %w", s.Key.Namespace, name, err)
	}
	own := labelsOfClaim(s, a.ID, t.Name)
	if err != nil || changedLabel(own, claim.Labels) == "" {
		return err
	}
	return e.labelClaim(ctx, s.Key, name, changedMetadata{UID: string(claim.UID), ResourceVersion: claim.ResourceVersion}, own)
}

// existingClaim returns the claim of an identity that exists already. It may lack the label by which caches show it. If something
// takes labels off new claims, a claim without the others may be that of the identity as well, so no other owner is assumed.
func (e *Executor) existingClaim(ctx context.Context, s *pool.Snapshot, t pool.ClaimTemplate, a pool.CompletePod) (*corev1.PersistentVolumeClaim, error) {
	name := pool.ClaimName(s.Key.Name, t.Name, a.ID)
	claim, err := e.Client.CoreV1().PersistentVolumeClaims(s.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read claim %s/%s: %w", s.Key.Namespace, name, classify(err))
	}
	own := labelsOfClaim(s, a.ID, t.Name)
	delete(own, contract.PoolLabel)
	foreign := changedLabel(own, claim.Labels) != ""
	if foreign {
		if lost, _ := e.tryClaim(ctx, s, t, s.Draw()); lost != "" {
			return nil, prevented("create claim %s/%s: %s", s.Key.Namespace, name, lost)
		}
	}
	from := claim.Annotations[contract.HandoverAnnotation] // another process may have marked it for this pod already
	if foreign || from != a.From && from != a.UID {
		e.Checks.ClaimTaken(s.Key, a.ID)
		return nil, reason.WithClass(reason.Human, fmt.Errorf("claim %s/%s exists and does not belong to %s", s.Key.Namespace, name, s.Key))
	}
	return claim, nil
}

// retireIdentity marks the claims of an identity at the versions that were evaluated.
func (e *Executor) retireIdentity(ctx context.Context, s *pool.Snapshot, a pool.RetireIdentity) error {
	at, because := contract.FormatDownscaled(e.Clock.Now()), string(a.Because)
	return e.markClaims(ctx, "retire", s.Key, a.Claims, map[string]*string{contract.RetiredAtAnnotation: &at, contract.RetiredReasonAnnotation: &because})
}

// unretireIdentity takes the marks off the claims of an identity.
func (e *Executor) unretireIdentity(ctx context.Context, s *pool.Snapshot, a pool.UnretireIdentity) error {
	return e.markClaims(ctx, "unretire", s.Key, a.Claims, map[string]*string{contract.RetiredAtAnnotation: nil, contract.RetiredReasonAnnotation: nil})
}

// prepareHandover marks the claims of a pod that is handed over.
func (e *Executor) prepareHandover(ctx context.Context, s *pool.Snapshot, a pool.PrepareHandover) error {
	siblings := strings.Join(a.Siblings, ",")
	marks := map[string]*string{contract.HandoverAnnotation: &a.From, contract.SiblingsAnnotation: &siblings}
	switch {
	case a.From == "":
		marks = map[string]*string{contract.HandoverAnnotation: nil}
	case a.Retain:
		marks[contract.RetainIdentityLabel] = new("true")
	case slices.ContainsFunc(a.Claims, func(c pool.Claim) bool { return c.Retain }):
		marks[contract.RetainIdentityLabel] = nil
	}
	return e.markClaims(ctx, "mark", s.Key, a.Claims, marks)
}

// markClaims writes annotations of claims at the versions that were evaluated; nil removes one.
func (e *Executor) markClaims(ctx context.Context, what string, key plan.Key, claims []pool.Claim, marks map[string]*string) error {
	errs := make([]error, len(claims))
	parallel.Each(len(claims), atATime, func(i int) {
		mark := jsonOf(change{Metadata: changedMetadata{UID: claims[i].UID, ResourceVersion: claims[i].Version.String(), Annotations: marks}})
		_, err := e.Client.CoreV1().PersistentVolumeClaims(key.Namespace).Patch(ctx, claims[i].Name, types.MergePatchType, mark, metav1.PatchOptions{})
		if err != nil {
			errs[i] = fmt.Errorf("%s claim %s/%s: %w", what, key.Namespace, claims[i].Name, classify(err))
		}
	})
	return errors.Join(errs...)
}
