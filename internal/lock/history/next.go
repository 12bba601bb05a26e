package history

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Next returns the rollouts that the Lease records after a write of record, which was decided on s. Next does
// not modify s.
func Next(s group.Snapshot, record group.Hold) plan.Rollouts {
	was := s.Hold.Rollouts
	rolling := ""
	if record.Holder.Operation() == plan.RolloutOperation {
		rolling = record.Holder.Zone()
	}
	if rolling == "" && !was.Current.Begun() {
		return was
	}
	r := rollout{RolledGroup: copied(was.Current), seen: s, record: record, now: notBefore(was.Current, s.Now)}
	r.begin(rolling)
	r.replace()
	r.endZones(rolling)
	if rolling != "" || !r.complete() {
		return Bounded(plan.Rollouts{Current: r.RolledGroup, Finished: was.Finished})
	}
	r.end()
	return Bounded(plan.Rollouts{Finished: append([]plan.RolledGroup{r.RolledGroup}, was.Finished...)})
}

// rollout is the rollout in progress. Its fields change from the previous record to the next one.
type rollout struct {
	plan.RolledGroup
	seen   group.Snapshot
	record group.Hold
	now    time.Time
}

// notBefore returns now, or the latest recorded time of the rollout if that is later. The clocks of the
// processes that recorded the times may differ.
func notBefore(r plan.RolledGroup, now time.Time) time.Time {
	now = later(now, r.Since)
	for _, z := range r.Zones {
		now = later(later(now, z.Since), z.Until)
	}
	return now
}

func copied(r plan.RolledGroup) plan.RolledGroup {
	r.Zones = slices.Clone(r.Zones)
	return r
}

// begin records that a rollout of the zone has the hold. If the update revision of the zone changed, it ends
// the entry of the previous revision and begins another one.
func (r *rollout) begin(zone string) {
	z, exists := r.seen.Zone(zone)
	if !exists {
		return
	}
	since := r.now
	if held := r.seen.Hold; !r.Begun() && held.Holder == r.record.Holder && !held.Since.IsZero() {
		since = held.Since // taken by a version that did not record rollouts
	}
	if !r.Begun() {
		r.Since = since
	}
	from := z.CurrentRevision
	if last := r.last(z); last != nil {
		unknown := !z.Observed || z.UpdateRevision == ""
		if !last.Over() && (unknown || last.To == z.UpdateRevision) {
			return
		}
		if from = last.To; from == z.UpdateRevision {
			from = last.From
		}
		if !last.Over() {
			last.Until = r.now
		}
	}
	r.Zones = append(r.Zones, plan.RolledZone{
		Name: z.Name, UID: z.UID, From: from, To: z.UpdateRevision, Budget: group.RolloutBudget(r.seen, z), Since: since,
	})
}

// last returns the latest entry of a zone, or nil if it has none.
func (r *rollout) last(z group.Zone) *plan.RolledZone {
	for i := range slices.Backward(r.Zones) {
		if r.Zones[i].Name == z.Name && r.Zones[i].UID == z.UID {
			return &r.Zones[i]
		}
	}
	return nil
}

// replace records the pods whose intents have left the record because their successors exist.
func (r *rollout) replace() {
	for _, i := range r.seen.Hold.Intents {
		pod, present := r.seen.Pod(i.Pod)
		if !takenDown(i) || r.stands(i) || !present || !i.Succeeded(pod.UID, pod.Version) {
			continue
		}
		if z := r.of(i); z != nil {
			z.Replaced++
			if r.Traced() {
				z.Pods = append(slices.Clip(z.Pods), r.replaced(i, pod, z.Since))
			}
		}
	}
}

// takenDown reports whether a rollout wrote the intent.
func takenDown(i plan.Intent) bool {
	return i.Cause == reason.OutdatedRevision || i.Cause == reason.OutdatedAndUnavailable
}

// stands reports whether the next record still has the intent.
func (r *rollout) stands(i plan.Intent) bool {
	return slices.ContainsFunc(r.record.Intents, func(next plan.Intent) bool { return next.Pod == i.Pod && next.UID == i.UID })
}

// of returns the entry of the zone that an intent belongs to, or nil if none is recorded.
func (r *rollout) of(i plan.Intent) *plan.RolledZone {
	var on *plan.RolledZone
	for n := range r.Zones {
		z := &r.Zones[n]
		if z.Name == i.Zone && (on == nil || !z.Since.After(i.Since)) {
			on = z
		}
	}
	return on
}

// replaced returns the record of a pod that was replaced in a zone that began at a time. API objects have
// times in whole seconds; a more precise observation of this process is preferred. Because clocks differ,
// replaced puts the times in their causal order: deleted, created again, Ready, now.
func (r *rollout) replaced(i plan.Intent, successor plan.Pod, began time.Time) plan.RolledPod {
	p := plan.RolledPod{Name: i.Pod, UID: i.UID, Cause: i.Cause, Deleted: later(began, i.Since)}
	p.Recreated = later(p.Deleted, r.happened(successor.Created.Time(), successor.Seen.Created))
	if successor.Up() {
		p.Ready = later(p.Recreated, r.happened(successor.ReadySince, successor.Seen.Ready))
		p.Seen = successor.Seen.Ready != 0
	}
	return p
}

// happened returns the time of an event that an API object dates to a second, more precisely if this process
// observed it. The result is not before that second and not after now.
func (r *rollout) happened(second time.Time, seen plan.Sighting) time.Time {
	if at := seen.Time(second); at.Before(r.now) {
		return at
	}
	return r.now
}

// endZones ends the zones that were deleted, and the zones that are done and not under the hold of a rollout
// any more.
func (r *rollout) endZones(rolling string) {
	for i := range r.Zones {
		z := &r.Zones[i]
		now, exists := r.seen.Zone(z.Name)
		gone := !exists || now.UID != z.UID
		if !z.Over() && (gone || z.Name != rolling && r.done(now)) {
			z.Until = r.endOf(*z)
		}
	}
}

// endOf returns when a zone ended: now, or the latest Ready time of its pods if clocks differ.
func (r *rollout) endOf(z plan.RolledZone) time.Time {
	end := r.now
	for _, pod := range z.Pods {
		end = later(end, pod.Ready)
	}
	return end
}

// done reports whether every desired pod of a zone exists, is available, has no intent, and is at the update
// revision.
func (r *rollout) done(z group.Zone) bool {
	if !z.Observed || slices.ContainsFunc(r.record.Intents, func(i plan.Intent) bool { return i.Zone == z.Name }) {
		return false
	}
	serving := 0
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) && !z.Outdated(pod) && pod.Available(z.MinReady, r.seen.Now) {
			serving++
		}
	}
	return serving == z.Replicas
}

// complete reports whether the group has no outdated pod and no intent of a rollout. It does not wait until
// the StatefulSet controller has observed a changed template, because the next reconcile may be weeks away.
// Such a change begins another rollout.
func (r *rollout) complete() bool {
	if slices.ContainsFunc(r.record.Intents, takenDown) {
		return false
	}
	for _, z := range r.seen.Zones {
		if !z.OnDelete || z.Deleting {
			continue
		}
		if slices.ContainsFunc(z.Pods, func(p plan.Pod) bool { return z.Owns(p.Ordinal) && z.Outdated(p) }) {
			return false
		}
	}
	return true
}

func (r *rollout) end() {
	r.Until = r.now
	for i := range r.Zones {
		z := &r.Zones[i]
		if !z.Over() {
			z.Until = r.endOf(*z)
		}
		r.Until = later(r.Until, z.Until)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
