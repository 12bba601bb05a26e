package observe

import (
	"cmp"
	"context"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// SameDesiredState reads the StatefulSets of a snapshot from the API server by name, all at the same time, and reports
// whether all of them are still in the group and ask for what the snapshot shows. Their status may differ. A list would
// take longer: the API server waits until its cache is current.
func (o *Observer) SameDesiredState(ctx context.Context, cached group.Snapshot) (bool, error) {
	same, errs := make([]bool, len(cached.Zones)), make([]error, len(cached.Zones))
	parallel.Each(len(cached.Zones), len(cached.Zones), func(i int) {
		z := &cached.Zones[i]
		set, err := o.readSet(ctx, cached.Key.Namespace, z.Name)
		if errs[i] = err; err != nil || set == nil || !o.belongs(cached.Key, set) {
			return
		}
		live := zoneOf(set)
		same[i] = z.SameDesiredState(&live)
	})
	if err := cmp.Or(errs...); err != nil {
		return false, err
	}
	return !slices.Contains(same, false), nil
}
