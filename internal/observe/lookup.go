package observe

import "github.com/lockstep-dev/lockstep/internal/plan"

// Set is a StatefulSet as a question about one object by name needs it, whether
// it belongs to a group or not.
type Set struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label forbids it to shrink
	Held        bool // it shrinks under the hold of Key
	Key         plan.Key
}

// Set returns a StatefulSet from the cache. It makes no request.
func (o *Observer) Set(namespace, name string) (Set, bool) {
	item, exists, err := o.zones.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return Set{}, false
	}
	r, ok := item.(*zoneRecord)
	if !ok {
		return Set{}, false
	}
	set := Set{UID: r.zone.UID, Version: r.zone.Version, NoDownscale: r.barred, Held: r.held()}
	if set.Held {
		set.Key = r.key()
	}
	return set, true
}
