package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

var _ plan.Workload = (*Snapshot)(nil)

// View implements plan.Workload. The pods of a zone that left the group may belong to another group now.
func (s *Snapshot) View() plan.View {
	shared := slices.ContainsFunc(s.FormerZones, func(z FormerZone) bool { return !z.Uncovered })
	return plan.View{Key: s.Key, APIVersion: "apps/v1", Kind: "StatefulSet", Now: s.Now, Live: s.Live, Operation: plan.RolloutOperation, Shared: shared}
}

// Record implements plan.Workload.
func (s *Snapshot) Record() plan.Record { return s.Hold.Record() }

// Gone implements plan.Workload.
func (s *Snapshot) Gone() bool { return len(s.Zones) == 0 && len(s.FormerZones) == 0 }

// Due implements plan.Workload: pods must be notified again, or a contest over replicas ends.
func (s *Snapshot) Due() []time.Time { return []time.Time{NextMessage(*s), ContestEnds(*s)} }

// Remarks implements plan.Workload.
func (s *Snapshot) Remarks() []plan.Wait { return Remarks(*s) }

// Units implements plan.Workload: the units are the zones.
func (s *Snapshot) Units() []plan.Unit {
	units := make([]plan.Unit, len(s.Zones))
	for i := range s.Zones {
		z := &s.Zones[i]
		units[i] = plan.Unit{Name: z.Name, UID: z.UID, MinReady: z.MinReady}
	}
	return units
}

// Rollout implements plan.Workload.
func (s *Snapshot) Rollout(zone string) plan.UnitRollout {
	z, _ := s.Zone(zone)
	return plan.UnitRollout{
		From: z.CurrentRevision, To: z.UpdateRevision, Observed: z.Observed,
		Budget: rolloutBudget(s, z), Paused: z.PausedAt(s.Now), Done: z.Observed && z.serves(s.Now, func(p plan.Pod) bool { return !z.Outdated(p) }),
		Available: z.serves(s.Now, func(plan.Pod) bool { return true }),
	}
}

// serves reports whether every desired pod exists, is available and satisfies a condition.
func (z *Zone) serves(now time.Time, is func(plan.Pod) bool) bool {
	serving := 0
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) && is(pod) && pod.Available(z.MinReady, now) {
			serving++
		}
	}
	return serving == z.Replicas
}

// RolledOut implements plan.Workload. It does not wait until the StatefulSet controller has observed a changed
// template, because the next reconcile may be weeks away. Such a change begins another rollout.
func (s *Snapshot) RolledOut() bool {
	return !slices.ContainsFunc(s.Zones, func(z Zone) bool {
		return z.OnDelete && !z.Deleting && slices.ContainsFunc(z.Pods, func(p plan.Pod) bool {
			return z.Owns(p.Ordinal) && z.Outdated(p)
		})
	})
}

// Shown implements plan.Workload.
func (s *Snapshot) Shown() plan.Shown {
	shown := plan.Shown{ObjectsAt: s.ZonesAt, PodsAt: s.PodsAt, Strays: s.Strays, Objects: make([]plan.ShownObject, 0, len(s.Zones)+len(s.FormerZones))}
	for i := range s.Zones {
		shown.Objects = append(shown.Objects, s.Zones[i].shown(false))
	}
	for i := range s.FormerZones {
		shown.Objects = append(shown.Objects, s.FormerZones[i].shown(true))
	}
	return shown
}

func (z *Zone) shown(outside bool) plan.ShownObject {
	return plan.ShownObject{Name: z.Name, UID: z.UID, Version: z.Version, Outside: outside, Pods: z.Pods, Orphans: z.Orphans, PodsAt: z.PodsAt}
}
