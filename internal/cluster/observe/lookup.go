package observe

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Set is the state of a StatefulSet, in a group or not, that a decision about it by name needs.
type Set struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label or annotation no-downscale forbids a scale-down
	Ignored     bool // lockstep ignores it
	Held        bool // it scales down under the hold of Key
	Key         plan.Key
}

// Set returns a StatefulSet from the cache. It makes no request.
func (o *Observer) Set(namespace, name string) (Set, bool) {
	r, exists := o.zone(namespace, name)
	if !exists {
		return Set{}, false
	}
	return o.setOf(r), true
}

func (o *Observer) zone(namespace, name string) (r *zoneRecord, exists bool) {
	item, exists, err := o.zones.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil, false
	}
	r, ok := item.(*zoneRecord)
	return r, ok
}

// LiveSet reads a StatefulSet from the API server.
func (o *Observer) LiveSet(ctx context.Context, namespace, name string) (Set, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	set, err := o.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Set{}, fmt.Errorf("read StatefulSet %s/%s: %w", namespace, name, err)
	}
	return o.setOf(recordOf(set)), nil
}

func (o *Observer) setOf(r *zoneRecord) Set {
	set := Set{UID: r.zone.UID, Version: r.zone.Version, NoDownscale: r.barred, Ignored: r.zone.Ignored, Held: r.usesHold()}
	if set.Held {
		set.Key = r.key()
	}
	return set
}

// ClaimsOfGroups returns the holds of groups that remember, or may remember, a StatefulSet,
// according to the API server. A Lease that does not name its owner may be the hold of a group.
func (o *Observer) ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error) {
	claims, err := o.holds.LiveRemembering(ctx, namespace, set)
	return slices.DeleteFunc(claims, func(c lease.Claim) bool { return !c.Key.Rolled() }), err
}

// Pod is the state of a pod that a decision about it by name needs. If the pod belongs to no
// StatefulSet, only its UID and version are known.
type Pod struct {
	UID         string
	Version     plan.Version
	Up          bool // it is Ready and not terminating
	Terminating bool // it will not be Ready again
	Orphaned    bool // a StatefulSet created it and no longer controls it; a StatefulSet may adopt it
	Unplaced    bool // the cache does not show its StatefulSet, so it is unknown whether the pod is held
	Held        bool // it is disrupted under the hold of Key
	Key         plan.Key
	// Ambiguous is set if a StatefulSet created the pod according to the caches, and a StatefulCluster may have adopted it
	// since. Then only a live read shows to which one it belongs.
	Ambiguous bool
	// Unclaimed is set if a StatefulSet created the pod and the caches show no hold for it. Then
	// only a live read of the holds can decide (see Claims).
	Unclaimed bool
}

// OutsideStatefulSets reports whether the pod neither belongs to a StatefulSet nor was created by one.
func (p Pod) OutsideStatefulSets() bool { return !p.Held && !p.Unplaced && !p.Unclaimed }

// Claims returns the holds that remember, or may remember, the StatefulSet that created a pod,
// according to the API server. The hold of a budget counts while the budget covers the
// StatefulSet.
func (o *Observer) Claims(ctx context.Context, namespace, pod string) ([]lease.Claim, error) {
	set, _, _ := plan.ParentOf(pod)
	claims, err := o.holds.LiveRemembering(ctx, namespace, set)
	return slices.DeleteFunc(claims, func(c lease.Claim) bool { return o.noLongerGuards(c.Key, set) }), err
}

// Pod returns a pod from the cache. It makes no request.
func (o *Observer) Pod(namespace, name string) (Pod, bool) {
	kept, known := o.keptPod(namespace, name)
	if !known {
		return Pod{}, false
	}
	return o.place(kept), true
}

// LivePod reads a pod from the API server and returns whether it exists. The cache of
// StatefulSets decides to which group it belongs.
func (o *Observer) LivePod(ctx context.Context, namespace, name string) (Pod, bool, error) {
	pod, exists, err := o.readPod(ctx, namespace, name)
	if err != nil || !exists {
		return Pod{}, false, err
	}
	return o.place(keep(pod)), true, nil
}

// placeOrphan determines under which hold a pod without a controller is evicted: the hold of the
// group that remembers the StatefulSet that created it. If a StatefulSet of that name exists in a
// group, it is about to adopt the pod, and the hold is not known before. If its selector does not
// match the pod, it does not adopt the pod, and the hold is that of its group. If no hold guards
// an orphan, the orphan is evicted under the hold of the first budget that covers it, unless a
// StatefulSet of that name is ignored.
func (o *Observer) placeOrphan(kept keptPod, pod Pod) Pod {
	r, is := kept.(*podRecord)
	if !is {
		return pod
	}
	pod.Orphaned = true
	namespace, name := r.home()
	parent, _, _ := plan.ParentOf(name)
	set, exists := o.zone(namespace, parent)
	if exists && set.grouped {
		if pod.Unplaced = adopts(&set.zone, r.pod); !pod.Unplaced {
			pod.Held, pod.Key = true, set.key()
		}
		return pod
	}
	if keys := o.guarding(namespace, parent); len(keys) > 0 {
		pod.Held, pod.Key = true, keys[0]
	} else if !exists || !set.zone.Ignored {
		pod.Key, pod.Held = o.firstCovering(namespace, r.pod)
	}
	pod.Unclaimed = !pod.Held
	return pod
}

// Diagnose reads a pod from the API server and returns the facts that Kubernetes reports about
// it. It returns nothing if the pod is Ready or does not have that UID any more.
func (o *Observer) Diagnose(ctx context.Context, namespace string, pod plan.Pod) ([]diagnosis.Fact, error) {
	read, exists, err := o.readPod(ctx, namespace, pod.Name)
	if err != nil || !exists || string(read.UID) != pod.UID {
		return nil, err
	}
	return diagnosis.OfPod(read, o.now()), nil
}

// place determines under which hold a pod is disrupted. This is the hold of its group. If its
// StatefulSet has no group and is not ignored, it is the hold of the first budget that covers the
// pod. Other pods have no hold.
func (o *Observer) place(kept keptPod) Pod {
	view := kept.view()
	pod := Pod{UID: view.UID, Version: view.Version, Up: view.Up(), Terminating: view.Phase == plan.Terminating}
	if kept.controller() == "" {
		return o.placeOrphan(kept, pod)
	}
	sets := lookup[*zoneRecord](o.zones, byUID, kept.controller())
	pod.Unplaced = len(sets) == 0
	for _, set := range sets {
		if set.grouped {
			pod.Held, pod.Key = true, set.key()
			continue
		}
		if keys := o.guarding(set.namespace, set.zone.Name); len(keys) > 0 {
			pod.Held, pod.Key = true, keys[0]
			continue
		}
		if set.zone.Ignored {
			continue
		}
		pod.Key, pod.Held = o.firstCovering(set.namespace, view)
	}
	pod.Unclaimed = len(sets) > 0 && !pod.Held
	return pod
}
