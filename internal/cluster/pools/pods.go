package pools

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
// the caches of groups show is not known, because one cache may be later than the other. If they show it as one of a StatefulSet, it is
// ambiguous.
func (p Pods) Pod(namespace, name string) (observe.Pod, bool) {
	cached, exists := p.cached(namespace, name)
	if !exists && p.mayBeOurs(namespace, name) {
		pod, shown := p.Observer.Pod(namespace, name)
		if !shown || pod.OutsideStatefulSets() {
			return observe.Pod{}, false
		}
		pod.Ambiguous = true
		return pod, true
	}
	if exists && (cached.counts || p.mayBeAdopted(namespace, cached.Labels[contract.PoolLabel], &cached.Pod)) {
		return placed(namespace, cached.Labels[contract.PoolLabel], &cached.Pod), true
	}
	return p.Observer.Pod(namespace, name)
}

// cached returns a pod with the labels of a StatefulCluster.
func (p Pods) cached(namespace, name string) (*podRecord, bool) {
	item, exists, err := p.Pools.pods.GetStore().GetByKey(namespace + "/" + name)
	cached, is := item.(*podRecord)
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
	if pod := podOf(read); counts(read) || p.mayBeAdopted(namespace, read.Labels[contract.PoolLabel], &pod) {
		return placed(namespace, read.Labels[contract.PoolLabel], &pod), true, nil
	}
	return p.Observer.LivePod(ctx, namespace, name)
}

// mayBeAdopted reports whether a pod with the label of a StatefulCluster that exists has lost its owner.
func (p Pods) mayBeAdopted(namespace, name string, pod *pool.Pod) bool {
	return name != "" && pod.Owner == "" && slices.Contains(p.Pools.Keys(namespace), KeyOf(namespace, name))
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

// placed returns a pod with its StatefulCluster, under whose hold it is evicted.
func placed(namespace, name string, p *pool.Pod) observe.Pod {
	return observe.Pod{
		UID: p.UID, Version: p.Version, Up: p.Up(), Terminating: p.Phase == plan.Terminating, Held: true, Key: KeyOf(namespace, name),
	}
}

// kind is the kind of StatefulClusters.
const kind = "StatefulCluster"
