package observe

import "github.com/lockstep-dev/lockstep/internal/plan"

// Set is a StatefulSet as a question about one object by name needs it, whether
// it belongs to a group or not.
type Set struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label forbids it to shrink
	Prepares    bool // its label asks for pods to be prepared before they leave
	Grouped     bool // it is a zone of the group Key
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
	return Set{
		UID: r.zone.UID, Version: r.zone.Version, NoDownscale: r.barred, Prepares: r.zone.Prepares, Grouped: r.grouped, Key: r.key(),
	}, true
}
