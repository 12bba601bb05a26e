package observe

import (
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Listener is notified which key has changed, without the event.
type Listener struct {
	Group     func(plan.Key)                       // something that a plan for this group depends on has changed
	Namespace func(namespace string, managed bool) // a namespace opted in or out
}

// Listen registers a listener. Call it before Run.
func (o *Observer) Listen(l Listener) error {
	registrations := []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{o.zones, o.zoneEvents(l.Group)},
		{o.pods, o.podEvents(l.Group)},
		{o.holds.Informer(), holdEvents(l.Group)},
	}
	for _, r := range registrations {
		if _, err := r.informer.AddEventHandler(r.handler); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	if o.scales != nil {
		if err := o.listenToScales(l.Group); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	if o.budgets != nil {
		o.listenToBudgets(l.Group)
	}
	if o.namespaces == nil {
		return nil
	}
	if _, err := o.namespaces.AddEventHandler(o.namespaceEvents(l.Namespace)); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

func (o *Observer) zoneEvents(enqueue func(plan.Key)) cache.ResourceEventHandler {
	concern := func(object any) {
		r, ok := final(object).(*zoneRecord)
		if !ok {
			return
		}
		if r.usesHold() {
			enqueue(r.key())
		}
		for _, key := range o.coveredBy(r) {
			enqueue(key)
		}
		for _, key := range o.holds.Remembering(r.namespace, r.zone.Name) {
			if !r.usesHold() || key != r.key() {
				enqueue(key)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: concern,
		DeleteFunc: func(object any) {
			concern(object)
			if r, ok := final(object).(*zoneRecord); ok && !r.grouped {
				for _, key := range o.drainedLeases(r.namespace) { // reconciles find the unneeded ones
					enqueue(key)
				}
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*zoneRecord)
			is, alsoOK := after.(*zoneRecord)
			if !ok || !alsoOK || (was.sameBut(is) && !o.holds.Busy(is.key())) {
				return
			}
			if was.key() != is.key() || was.usesHold() != is.usesHold() || was.zone.Ignored != is.zone.Ignored {
				concern(before)
			}
			concern(after)
		},
	}
}

func (o *Observer) podEvents(enqueue func(plan.Key)) cache.ResourceEventHandler {
	concern := func(object any) {
		if r, ok := final(object).(keptPod); ok {
			for _, key := range o.concernedBy(r) {
				enqueue(key)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    concern,
		DeleteFunc: concern,
		UpdateFunc: func(before, after any) {
			was, ok := before.(keptPod)
			is, alsoOK := after.(keptPod)
			if !ok || !alsoOK {
				return
			}
			if changesHands(was, is) {
				concern(before)
			}
			for _, key := range o.concernedBy(is) {
				if !samePod(was, is) || o.holds.Busy(key) {
					enqueue(key)
				}
			}
		},
	}
}

// changesHands reports whether the controller of a pod has changed, or the pod has none any more.
func changesHands(was, is keptPod) bool {
	_, ours := was.(*podRecord)
	_, stays := is.(*podRecord)
	return ours != stays || was.controller() != is.controller()
}

// concernedBy returns the group of the StatefulSet that controls the pod. It also returns groups
// that the StatefulSet has left if they remember it or have an intent for the pod. A pod that
// arrives before its StatefulSet concerns no group yet: the StatefulSet's own event follows.
func (o *Observer) concernedBy(r keptPod) []plan.Key {
	keys := o.holds.RecordingPod(r.home())
	var sets []*zoneRecord
	if r.controller() != "" {
		sets = lookup[*zoneRecord](o.zones, byUID, r.controller())
	}
	if member, is := r.(*podRecord); is && !slices.ContainsFunc(sets, func(z *zoneRecord) bool { return z.grouped }) {
		parent, _, _ := plan.ParentOf(member.pod.Name)
		for _, key := range o.holds.Remembering(member.namespace(), parent) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	for _, z := range sets {
		if z.usesHold() && !slices.Contains(keys, z.key()) {
			keys = append(keys, z.key())
		}
		for _, key := range o.coveredBy(z) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func holdEvents(enqueue func(plan.Key)) cache.ResourceEventHandler {
	concern := func(object any) {
		if held, ok := final(object).(*coordinationv1.Lease); ok {
			if key, ok := lease.KeyOf(held); ok {
				enqueue(key)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: concern,
		UpdateFunc: func(before, after any) {
			was, ok := before.(*coordinationv1.Lease)
			is, alsoOK := after.(*coordinationv1.Lease)
			if !ok || !alsoOK || !renewed(was, is) {
				concern(after)
			}
		},
		DeleteFunc: concern,
	}
}

// renewed reports whether a hold of lockstep differs from its previous state only by a renewal.
// The process that renews it sets a timer. A reconcile for each renewal would undo the back-off
// of a disruption that fails after its intent was written again.
func renewed(was, is *coordinationv1.Lease) bool {
	holder := is.Spec.HolderIdentity
	if holder == nil || plan.Holder(*holder).Foreign() {
		return false // lockstep waits for its expiry
	}
	like := was.DeepCopy()
	like.ResourceVersion, like.ManagedFields, like.Spec.RenewTime = is.ResourceVersion, is.ManagedFields, is.Spec.RenewTime
	return equality.Semantic.DeepEqual(like, is)
}

func (o *Observer) namespaceEvents(tell func(string, bool)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if r, ok := object.(*namespaceRecord); ok && !r.deleting {
				tell(r.name, true)
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok := before.(*namespaceRecord)
			is, alsoOK := after.(*namespaceRecord)
			if ok && alsoOK && was.deleting != is.deleting {
				tell(is.name, !is.deleting)
			}
		},
		DeleteFunc: func(object any) {
			if r, ok := final(object).(*namespaceRecord); ok && !r.deleting {
				tell(r.name, false)
			}
		},
	}
}
