package pools

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Pods looks up pods by name for the webhooks about evictions: the pods of StatefulClusters, and all others as the Observer
// of groups does.
type Pods struct {
	*observe.Observer

	Pools *Observer
}

// Synced reports whether all caches are filled.
func (p Pods) Synced() bool { return p.Observer.Synced() && p.Pools.Synced() }

// Pod returns a pod from the caches. It makes no request. A pod that has the name of a StatefulCluster's pod and that only
// the caches of groups show is not known: one cache may be later than the other.
func (p Pods) Pod(namespace, name string) (observe.Pod, bool) {
	cached, exists := p.cached(namespace, name)
	if !exists && p.mayBeOurs(namespace, name) {
		return observe.Pod{}, false
	}
	if pod, ours := placed(cached); ours {
		return pod, true
	}
	return p.Observer.Pod(namespace, name)
}

// cached returns a pod with the labels of a StatefulCluster.
func (p Pods) cached(namespace, name string) (*corev1.Pod, bool) {
	item, exists, err := p.Pools.pods.GetStore().GetByKey(namespace + "/" + name)
	cached, is := item.(*corev1.Pod)
	return cached, err == nil && exists && is
}

// LivePod reads a pod from the API server and returns whether it exists.
func (p Pods) LivePod(ctx context.Context, namespace, name string) (observe.Pod, bool, error) {
	if !p.mayBeOurs(namespace, name) {
		return p.Observer.LivePod(ctx, namespace, name)
	}
	read, err := p.Pools.options.Client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return observe.Pod{}, false, nil
	case err != nil:
		return observe.Pod{}, false, fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	if pod, ours := placed(read); ours {
		return pod, true, nil
	}
	return p.Observer.LivePod(ctx, namespace, name)
}

// mayBeOurs reports whether a pod has a name that a StatefulCluster gives its pods, or that one has which it has adopted.
func (p Pods) mayBeOurs(namespace, name string) bool {
	return namesPod.MatchString(name) || slices.ContainsFunc(p.Pools.Keys(namespace), func(key plan.Key) bool {
		_, named := pool.IDOf(key.Name, name)
		return named
	})
}

// namesPod is the form of the name of a StatefulCluster's pod, unless it was adopted.
var namesPod = regexp.MustCompile(`-[0-9a-f]{16}$`)

// placed returns a pod with its StatefulCluster, under whose hold it is evicted. The second result is false if none
// controls it, or if it lacks the label of the one that does: then it does not count there.
func placed(p *corev1.Pod) (observe.Pod, bool) {
	if p == nil {
		return observe.Pod{}, false
	}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil || owner.Kind != kind || schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group != Resource.Group || p.Labels[contract.PoolLabel] != owner.Name {
		return observe.Pod{}, false
	}
	pod := podOf(p)
	return observe.Pod{
		UID: pod.UID, Version: pod.Version, Up: pod.Up(), Terminating: p.DeletionTimestamp != nil, Held: true, Key: KeyOf(p.Namespace, owner.Name),
	}, true
}

// kind is the kind of StatefulClusters.
const kind = "StatefulCluster"
