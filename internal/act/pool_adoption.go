package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// neverMoved are the kinds of controllers whose pods a StatefulCluster does not take over: they create them again, and many of them
// end by themselves.
var neverMoved = []string{"DaemonSet", "Job", "ReplicaSet", "ReplicationController"}

// isMoved reports whether a controller may be one whose pods a StatefulCluster takes over. Another StatefulCluster is not.
func isMoved(controller *metav1.OwnerReference) bool {
	return !slices.Contains(neverMoved, controller.Kind) && !strings.HasPrefix(controller.APIVersion, "lockstep.dev/")
}

// lookForOrphans lists the pods that match the selector of the object and do not belong to it, but for those of controllers that keep
// their pods.
func (e *Executor) lookForOrphans(ctx context.Context, s *pool.Snapshot, _ pool.LookForOrphans) error {
	list, err := e.Client.CoreV1().Pods(s.Key.Namespace).List(ctx, metav1.ListOptions{LabelSelector: s.Object.Selector})
	if err != nil {
		return fmt.Errorf("list pods of %s with %s: %w", s.Key.Namespace, s.Object.Selector, err)
	}
	found := pool.Orphans{At: e.Clock.Now()}
	for i := range list.Items {
		p := &list.Items[i]
		owner := metav1.GetControllerOfNoCopy(p)
		ends := p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if ends && owner == nil || owner != nil && (string(owner.UID) == s.Object.UID || !isMoved(owner)) { // another owner creates it again
			continue
		}
		version, _ := plan.ParseVersion(p.ResourceVersion)
		orphan := pool.Orphan{
			Name: p.Name, UID: string(p.UID), Version: version,
			Labelled: p.Labels[contract.PoolLabel] == s.Key.Name && pool.PodName(s.Key.Name, pool.ID(p.Labels[contract.InstanceIDLabel])) == p.Name,
		}
		if owner != nil {
			orphan.Controller = owner.Kind + "/" + owner.Name
		}
		found.Pods = append(found.Pods, orphan)
	}
	e.Checks.FoundOrphans(s.Key, found)
	return nil
}

// releasePod takes exactly the pod that was evaluated out of the object. It keeps its labels, so it is known if it matches again.
func (e *Executor) releasePod(ctx context.Context, s *pool.Snapshot, a pool.ReleasePod) error {
	text := jsonOf(map[string]any{"metadata": map[string]any{
		"uid": a.UID, "resourceVersion": a.Version.String(),
		"ownerReferences": []any{map[string]string{"uid": s.Object.UID, "$patch": "delete"}}, // others stay
	}})
	released, err := e.Client.CoreV1().Pods(s.Key.Namespace).Patch(ctx, a.Pod, types.StrategicMergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("release pod %s/%s: %w", s.Key.Namespace, a.Pod, classify(err))
	}
	e.podReached(s.Key, released)
	return nil
}

// adoptPod makes exactly the pod that was evaluated a pod of the object. If it has changed, orphans are looked for again.
func (e *Executor) adoptPod(ctx context.Context, s *pool.Snapshot, a pool.AdoptPod) error {
	text := jsonOf(map[string]any{"metadata": map[string]any{
		"uid": a.UID, "resourceVersion": a.Version.String(),
		"labels":          map[string]string{contract.PoolLabel: s.Key.Name, contract.InstanceIDLabel: string(a.ID)},
		"ownerReferences": []any{ownerOf(s.Key, &s.Object)}, // others stay
	}})
	adopted, err := e.Client.CoreV1().Pods(s.Key.Namespace).Patch(ctx, a.Pod, types.StrategicMergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			e.Checks.FoundOrphans(s.Key, pool.Orphans{})
		}
		return fmt.Errorf("adopt pod %s/%s: %w", s.Key.Namespace, a.Pod, classify(err))
	}
	e.podReached(s.Key, adopted)
	return nil
}

// labelClaims gives exactly the claims that were evaluated the labels of their identity.
func (e *Executor) labelClaims(ctx context.Context, s *pool.Snapshot, a pool.LabelClaims) error {
	errs := make([]error, len(a.Claims))
	parallel.Each(len(a.Claims), atATime, func(i int) {
		c := a.Claims[i]
		siblings := strings.Join(a.Siblings, ",")
		errs[i] = e.labelClaim(ctx, s.Key, c.Name, changedMetadata{UID: c.UID, ResourceVersion: c.Version.String(), Annotations: with(nil, contract.SiblingsAnnotation, siblings)}, labelsOfClaim(s, a.ID, c.Template))
	})
	return errors.Join(errs...)
}

// comparePods finds out whether pods of unknown revisions have everything that a pod of the newest one has.
func (e *Executor) comparePods(ctx context.Context, s *pool.Snapshot, newest string, rendered []byte, pods []pool.ComparedPod) error {
	errs := make([]error, len(pods))
	parallel.Each(len(pods), atATime, func(i int) {
		read := e.Client.CoreV1().RESTClient().Get().Namespace(s.Key.Namespace).Resource("pods").Name(pods[i].Name).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
		text, err := read.Raw()
		if err != nil {
			errs[i] = fmt.Errorf("read pod %s/%s: %w", s.Key.Namespace, pods[i].Name, classify(err))
			return
		}
		same, err := render.Includes(text, rendered)
		if err != nil {
			errs[i] = err
			return
		}
		e.Checks.Compared(s.Key, newest, pods[i].UID, pool.Change{Equal: same})
	})
	return errors.Join(errs...)
}

// lookAtVolumes looks at the volumes of pods without a node.
func (e *Executor) lookAtVolumes(ctx context.Context, s *pool.Snapshot, a pool.LookAtVolumes) error {
	return e.Checks.LookAtVolumes(ctx, s, a.Pods)
}

// lookUpService looks up the Service of a pool.
func (e *Executor) lookUpService(ctx context.Context, s *pool.Snapshot, a pool.LookUpService) error {
	return e.Checks.LookUpService(ctx, s, a.Service)
}
