package rolloutgroup

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Limits of a status, from the CRD.
const (
	mostZones      = 32
	longestName    = 253
	longestHolder  = 320
	longestMessage = 1024
)

// evaluation is a plan and the snapshot that it was made from.
type evaluation struct {
	snapshot group.Snapshot
	steps    []plan.Action
}

// statusOf returns the status of an object with this generation. before is the last written
// status.
func statusOf(t evaluation, generation int64, before v1alpha1.RolloutGroupStatus) v1alpha1.RolloutGroupStatus {
	described := group.Describe(t.snapshot, t.steps)
	zones := zonesOf(described.Zones, t.snapshot)
	done, replicas := count(described.Zones)
	status := v1alpha1.RolloutGroupStatus{
		ObservedGeneration: generation,
		Activity:           string(described.Activity),
		Progress:           progress(described.Zones),
		Percent:            new(percent(done, replicas)),
		Holder:             plan.Plain(string(described.Holder), longestHolder),
		HoldSince:          v1alpha1.Moment(described.Since),
		Rollout:            rolloutOf(t.snapshot, described.Zones, before),
		Zones:              zones,
		ZonesOmitted:       int32(len(described.Zones) - len(zones)),
	}
	if len(described.Waits) > 0 {
		status.Waiting = waiting(described.Waits[0])
	}
	for _, c := range groupStateOf(t, described).conditions() {
		c.ObservedGeneration = generation
		c.LastTransitionTime = *v1alpha1.Moment(t.snapshot.Now)
		if former := meta.FindStatusCondition(before.Conditions, c.Type); former != nil && former.Status == c.Status {
			c.LastTransitionTime = former.LastTransitionTime
		}
		status.Conditions = append(status.Conditions, c)
	}
	return status
}

// count returns the number of pods that are Ready at the wanted revision, and of all pods.
func count(zones []group.ZoneStatus) (done, replicas int) {
	for _, z := range zones {
		done += z.Done
		replicas += z.Replicas
	}
	return done, replicas
}

func progress(zones []group.ZoneStatus) string {
	done, replicas := count(zones)
	return fmt.Sprintf("%d/%d", done, replicas)
}

func percent(done, replicas int) int32 {
	if replicas == 0 {
		return 100
	}
	return int32(100 * done / replicas)
}

func waiting(w plan.Wait) *v1alpha1.RolloutGroupWait {
	because := w.Because
	on := w.Zone
	switch {
	case because.Pod != "":
		on = because.Pod
	case because.Zone != "":
		on = because.Zone
	}
	return &v1alpha1.RolloutGroupWait{
		Reason: string(because.Code), Zone: plan.Plain(w.Zone, longestName), Pod: plan.Plain(because.Pod, longestName), On: plan.Plain(on, longestName),
		Message: plan.Plain(because.Sentence(), longestMessage), Until: v1alpha1.Moment(because.Deadline()),
	}
}

// zonesOf converts zones, up to the maximum number. If there are more, zones that are not
// settled come first.
func zonesOf(all []group.ZoneStatus, s group.Snapshot) []v1alpha1.RolloutGroupZone {
	if len(all) > mostZones {
		settled := func(z group.ZoneStatus) bool { return z.Activity == group.Settled }
		busy := slices.DeleteFunc(slices.Clone(all), settled)
		all = append(busy, slices.DeleteFunc(slices.Clone(all), func(z group.ZoneStatus) bool { return !settled(z) })...)[:mostZones]
	}
	var written []v1alpha1.RolloutGroupZone
	for _, z := range all {
		observed, _ := s.Zone(z.Name)
		zone := v1alpha1.RolloutGroupZone{
			Name: plan.Plain(z.Name, longestName), ObservedGeneration: observed.Generation, Revision: plan.Plain(z.Revision, longestName),
			Replicas: int32(z.Replicas), Updated: int32(z.Updated), Ready: int32(z.Ready), Done: int32(z.Done),
			Down: int32(z.Down), Budget: int32(z.Budget), Activity: string(z.Activity), Reason: string(z.Waits.Code),
		}
		if !z.Waits.None() {
			zone.Message = plan.Plain(z.Waits.Sentence(), longestMessage)
		}
		written = append(written, zone)
	}
	return written
}
