package observe

import (
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Scales are the resources whose replicas zones take over. The methods make no request.
type Scales interface {
	// Scale returns the known state of a resource, and whether the number of replicas can be
	// written to its status.
	Scale(namespace string, r group.Reference) (scale group.Scale, reports bool)
	// Want sets whether any zone takes over the replicas of a resource.
	Want(namespace string, r group.Reference, wanted bool)
	// Listen registers a function that is called when the known state of a resource has changed.
	Listen(changed func(namespace string, r group.Reference))
}

// mirroring is the state of a zone that takes over the replicas of a resource, as far as it
// matters to other groups. The zero value means that the zone takes over none.
type mirroring struct {
	reference group.Reference
	key       plan.Key
	writeBack bool
	replicas  int
}

func (r *zoneRecord) mirroring() mirroring {
	m := r.zone.Mirror
	if !r.grouped || m.Reference.None() {
		return mirroring{}
	}
	return mirroring{m.Reference, r.key(), m.WriteBack && !r.zone.Deleting, r.zone.Replicas}
}

// sharing returns the name of a resource that is unique among all namespaces.
func sharing(namespace string, r group.Reference) string { return namespace + "/" + r.String() }

func indexByReference(object any) ([]string, error) {
	if r, ok := object.(*zoneRecord); ok && !r.mirroring().reference.None() {
		return []string{sharing(r.namespace, r.mirroring().reference)}, nil
	}
	return nil, nil
}

func indexMirroring(object any) ([]string, error) {
	if r, ok := object.(*zoneRecord); ok && !r.mirroring().reference.None() {
		return []string{r.namespace}, nil
	}
	return nil, nil
}

func (o *Observer) sharers(namespace string, r group.Reference) []*zoneRecord {
	return lookup[*zoneRecord](o.zones, byReference, sharing(namespace, r))
}

// mirror adds to a zone the known state of the resource whose replicas it takes over.
func (o *Observer) mirror(key plan.Key, z group.Zone) group.Zone {
	m := &z.Mirror
	if m.Reference.None() {
		return z
	}
	m.Scale = group.Scale{Trouble: plan.Refusal{Code: reason.ReferenceNotRead}}
	if o.scales != nil {
		var reports bool
		m.Scale, reports = o.scales.Scale(key.Namespace, m.Reference)
		m.WriteBack = m.WriteBack && (reports || !m.Scale.Trouble.None())
	}
	m.Scale.Least = o.least(key, m.Reference)
	return z
}

// least returns the least spec.replicas of the zones of other groups that are written back to the
// same resource and are not being deleted, or -1 if there is none.
func (o *Observer) least(key plan.Key, r group.Reference) int {
	least := -1
	for _, other := range o.sharers(key.Namespace, r) {
		if m := other.mirroring(); m.key != key && m.writeBack && (least < 0 || m.replicas < least) {
			least = m.replicas
		}
	}
	return least
}

// mirrorEvents follows which resources the zones name. If several groups name one resource, it
// enqueues the other groups when the number that counts for all of them changes.
func (o *Observer) mirrorEvents(enqueue func(plan.Key)) cache.ResourceEventHandler {
	counted := shares{}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { o.mirrorChanged(counted, nil, object, enqueue) },
		UpdateFunc: func(before, after any) { o.mirrorChanged(counted, before, after, enqueue) },
		DeleteFunc: func(object any) { o.mirrorChanged(counted, final(object), nil, enqueue) },
	}
}

func (o *Observer) mirrorChanged(counted shares, before, after any, enqueue func(plan.Key)) {
	var was, is mirroring
	if r, ok := before.(*zoneRecord); ok {
		was = r.mirroring()
	}
	if r, ok := after.(*zoneRecord); ok {
		is = r.mirroring()
	}
	if was == is {
		return
	}
	for _, key := range counted.changed(was, is) {
		enqueue(key)
	}
	if was.reference == is.reference {
		return
	}
	for _, m := range []mirroring{was, is} {
		if !m.reference.None() {
			o.want(m.key.Namespace, m.reference)
		}
	}
}

// mirrorsOf returns the groups with zones that take over the replicas of a resource.
func (o *Observer) mirrorsOf(namespace string, r group.Reference) []plan.Key {
	var keys []plan.Key
	seen := map[plan.Key]bool{}
	for _, z := range o.sharers(namespace, r) {
		if key := z.key(); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// want sets whether a resource is wanted, as the caches show it now.
func (o *Observer) want(namespace string, r group.Reference) {
	o.wanting.Lock() // without the lock, an older result could overwrite a newer one
	defer o.wanting.Unlock()
	o.scales.Want(namespace, r, o.Managed(namespace) && len(o.sharers(namespace, r)) > 0)
}

// optEvents follows which namespaces are managed: zones of other namespaces want no resource.
func (o *Observer) optEvents() cache.ResourceEventHandler {
	concern := func(object any) {
		n, ok := final(object).(*namespaceRecord)
		if !ok {
			return
		}
		for _, z := range lookup[*zoneRecord](o.zones, byMirroring, n.name) {
			o.want(n.name, z.mirroring().reference)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: concern, UpdateFunc: func(_, after any) { concern(after) }, DeleteFunc: concern}
}

// listenToScales requests watches for the resources that zones name, and enqueues the groups that
// their changes concern.
func (o *Observer) listenToScales(enqueue func(plan.Key)) error {
	o.scales.Listen(func(namespace string, r group.Reference) {
		for _, key := range o.mirrorsOf(namespace, r) {
			enqueue(key)
		}
	})
	if _, err := o.zones.AddEventHandler(o.mirrorEvents(enqueue)); err != nil {
		return err
	}
	if o.namespaces == nil {
		return nil
	}
	_, err := o.namespaces.AddEventHandler(o.optEvents())
	return err
}
