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

// Set is a StatefulSet as a question about one object by name needs it, whether
// it belongs to a group or not.
type Set struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label forbids it to shrink
	Ignored     bool // lockstep leaves it alone
	Held        bool // it shrinks under the hold of Key
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
	set := Set{UID: r.zone.UID, Version: r.zone.Version, NoDownscale: r.barred, Ignored: r.zone.Ignored, Held: r.held()}
	if set.Held {
		set.Key = r.key()
	}
	return set
}

// ClaimsOfGroups returns the holds of groups that remember a StatefulSet, or may remember it, by what
// the API server shows. A Lease that does not say whose it is may be that of a group.
func (o *Observer) ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error) {
	claims, err := o.holds.LiveRemembering(ctx, namespace, set)
	return slices.DeleteFunc(claims, func(c lease.Claim) bool { return !c.Key.Rolled() }), err
}

// Pod is a pod as a question about one pod by name needs it. Of one that belongs to
// no StatefulSet nothing but its UID and version is known.
type Pod struct {
	UID      string
	Version  plan.Version
	Up       bool // it serves
	Leaving  bool // it never serves again
	Unplaced bool // its StatefulSet is not in the cache, not yet or no more, so nobody can tell whether it is held
	Held     bool // it is taken down under the hold of Key
	Key      plan.Key
	// Unclaimed says that a StatefulSet made it and that it is under no hold as far as the caches
	// show, so that only a live read of the holds tells (see Claims).
	Unclaimed bool
}

// Claims returns the holds that remember the StatefulSet that made a pod, or may remember it, by
// what the API server shows. That of a budget counts while the budget covers the StatefulSet.
func (o *Observer) Claims(ctx context.Context, namespace, pod string) ([]lease.Claim, error) {
	set, _, _ := plan.ParentOf(pod)
	claims, err := o.holds.LiveRemembering(ctx, namespace, set)
	return slices.DeleteFunc(claims, func(c lease.Claim) bool { return o.letGo(c.Key, set) }), err
}

// Pod returns a pod from the cache. It makes no request.
func (o *Observer) Pod(namespace, name string) (Pod, bool) {
	kept, known := o.keptPod(namespace, name)
	if !known {
		return Pod{}, false
	}
	return o.place(kept), true
}

// LivePod reads a pod from the API server, and returns whether it exists. To which
// group it belongs is for the cache of StatefulSets to say.
func (o *Observer) LivePod(ctx context.Context, namespace, name string) (Pod, bool, error) {
	pod, exists, err := o.readPod(ctx, namespace, name)
	if err != nil || !exists {
		return Pod{}, false, err
	}
	return o.place(keep(pod)), true, nil
}

// placeOrphan finds out under which hold a pod without a controller is evicted: that of the
// group which remembers the StatefulSet that made it. If there is a StatefulSet of that name in a
// group, it is about to adopt the pod, and nobody can tell before. If it does not adopt the pod,
// because its selector is another one, the hold is that of its group. An orphan that no hold guards
// is evicted under the hold of the first budget that covers it, unless a StatefulSet of that name is
// ignored.
func (o *Observer) placeOrphan(kept keptPod, pod Pod) Pod {
	r, is := kept.(*podRecord)
	if !is {
		return pod
	}
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

// Diagnose reads a pod from the API server and returns what Kubernetes knows of it: nothing
// of one that is Ready, or is not that pod any more.
func (o *Observer) Diagnose(ctx context.Context, namespace string, pod plan.Pod) ([]diagnosis.Fact, error) {
	read, exists, err := o.readPod(ctx, namespace, pod.Name)
	if err != nil || !exists || string(read.UID) != pod.UID {
		return nil, err
	}
	return diagnosis.OfPod(read, o.now()), nil
}

// place finds out under which hold a pod is taken down: that of its group or, where
// its StatefulSet has none and is not ignored, of the first budget that covers it. Other pods are
// nobody's.
func (o *Observer) place(kept keptPod) Pod {
	view := kept.view()
	pod := Pod{UID: view.UID, Version: view.Version, Up: view.Up(), Leaving: view.Phase == plan.Leaving}
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
