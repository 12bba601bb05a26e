package group

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Confirms reports whether the cached view proposes the same disruptions as a plan that was made
// a while ago, or from a live read. Reads take a while, and the caches show pods that failed
// meanwhile.
//
// It judges by the time of the plan: a record that the plan carries out does not time out meanwhile.
//
// Records that the plan ends because of the live read do not count: a granted eviction, a record
// from before a restore, a zone that was deleted with its pods. If the caches do not show the Lease
// because a client removed its label, Confirms uses the Lease of the live read.
func Confirms(view, live Snapshot, steps []plan.Action) bool {
	taken := disruptions(steps)
	if len(taken) == 0 {
		return true
	}
	view.Now = live.Now
	if !view.Hold.Exists {
		view.Hold = live.Hold
	}
	view.Hold = withoutEnded(view.Hold, steps)
	view.FormerZones, view.Strays = withoutGone(view.FormerZones, view.Strays, steps)
	proposed := disruptions(Plan(view))
	return !slices.ContainsFunc(taken, func(one string) bool { return !slices.Contains(proposed, one) })
}

// withoutEnded returns a hold without the records that a plan ends and whose end only a live read
// shows.
func withoutEnded(h Hold, steps []plan.Action) Hold {
	ended := plan.Only[plan.EndIntent](steps)
	h.Intents = slices.DeleteFunc(slices.Clone(h.Intents), func(i plan.Intent) bool {
		return slices.ContainsFunc(ended, func(a plan.EndIntent) bool {
			return a.Intent.UID == i.UID && a.Intent.Since.Equal(i.Since)
		})
	})
	for _, a := range plan.Only[EndDownscale](steps) {
		if a.Restored && h.Downscale.Same(a.Downscale) {
			h.Downscale = Downscale{}
		}
	}
	return h
}

// withoutGone returns the zones that left the group, except the zones that a plan forgets. The pods
// of the forgotten zones become strays.
func withoutGone(left []FormerZone, strays []plan.Pod, steps []plan.Action) (kept []FormerZone, with []plan.Pod) {
	forgotten := plan.Only[RecordMembers](steps)
	with = slices.Clone(strays)
	for _, z := range left {
		if slices.ContainsFunc(forgotten, func(a RecordMembers) bool { return slices.Contains(a.Gone, z.Name) }) {
			with = append(with, z.Pods...)
		} else {
			kept = append(kept, z)
		}
	}
	return kept, with
}

// disruptions returns the pods that a plan deletes although they are up, and the zones of which it lowers the
// replicas, as texts to compare.
func disruptions(steps []plan.Action) []string {
	var all []string
	for _, step := range steps {
		switch a := step.(type) {
		case plan.DeletePod:
			if a.Up {
				all = append(all, "pod "+a.UID)
			}
		case SetReplicas:
			if a.lowers() {
				all = append(all, fmt.Sprintf("zone %s to %d", a.Zone, a.To))
			}
		}
	}
	return all
}
