package history

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Next returns the rollouts that the Lease records after a write of record, which was decided on w.
func Next(w plan.Workload, record plan.Record) plan.Rollouts {
	next := nextRollouts(w, record)
	if w.View().Operation != plan.StatefulClusterOperation {
		return next
	}
	next.Replacements = replacements(w, record, next)
	return Bounded(next)
}

func nextRollouts(w plan.Workload, record plan.Record) plan.Rollouts {
	held := w.Record().Hold
	was := held.Rollouts
	rolling := rolledOut(w, record)
	if rolling == "" && !was.Current.Begun() {
		return was
	}
	r := rollout{RolledGroup: copied(was.Current), held: held, record: record}
	r.observation = observation{seen: w, now: notBefore(was.Current, w.View().Now), taken: successors(was)}
	r.begin(rolling)
	r.replace()
	r.follow()
	r.endZones(rolling)
	if rolling != "" || !r.complete() {
		return Bounded(plan.Rollouts{Current: r.RolledGroup, Finished: was.Finished})
	}
	r.end()
	return Bounded(plan.Rollouts{Finished: append([]plan.RolledGroup{r.RolledGroup}, was.Finished...)})
}

// rolledOut returns the unit that is rolled out under the hold of a record; empty: none.
func rolledOut(w plan.Workload, record plan.Record) string {
	zone := record.Holder.Zone()
	switch record.Holder.Operation() {
	case plan.RolloutOperation:
		return zone
	case plan.StatefulClusterOperation: // pods are deleted for other causes under the same hold
		if slices.ContainsFunc(record.Intents, func(i plan.Intent) bool { return i.Zone == zone && updates(w, i) }) {
			return zone
		}
	case plan.DownscaleOperation, plan.EvictionOperation:
	}
	return ""
}

// updates reports whether an intent shows by itself that its pod is updated. An identity is also handed over for other
// causes, such as a lost node.
func updates(w plan.Workload, i plan.Intent) bool {
	if i.Cause != reason.IdentityHandover {
		return takenDown(i)
	}
	pod, present := w.Pod(i.Pod)
	if _, exists := plan.UnitOf(w, i.Zone); !exists || !present || pod.UID != i.UID {
		return false
	}
	now := w.Rollout(i.Zone)
	return now.Observed && !now.Paused && pod.Revision != now.To
}

// rollout is the rollout in progress. Its fields change from the previous record to the next one.
type rollout struct {
	plan.RolledGroup
	observation
	held   plan.Hold // before the write
	record plan.Record
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
	u, exists := plan.UnitOf(r.seen, zone)
	if !exists {
		return
	}
	since := r.now
	anyCause := r.record.Holder.Operation() == plan.StatefulClusterOperation // it may have had the hold before, for another cause
	if !anyCause && !r.Begun() && r.held.Holder == r.record.Holder && !r.held.Since.IsZero() {
		since = r.held.Since // taken by a version that did not record rollouts
	}
	if !r.Begun() {
		r.Since = since
	}
	now := r.seen.Rollout(zone)
	from := now.From
	if last := r.last(u); last != nil {
		unknown := !now.Observed || now.To == ""
		if !last.Over() && (unknown || last.To == now.To) {
			return
		}
		if from = last.To; from == now.To {
			from = last.From
		}
		if !last.Over() {
			last.Until = r.now
		}
	}
	r.Zones = append(r.Zones, plan.RolledZone{
		Name: u.Name, UID: u.UID, From: from, To: now.To, Budget: now.Budget, Since: since,
	})
}

// last returns the latest entry of a zone, or nil if it has none.
func (r *rollout) last(u plan.Unit) *plan.RolledZone {
	for i := range slices.Backward(r.Zones) {
		if r.Zones[i].Name == u.Name && r.Zones[i].UID == u.UID {
			return &r.Zones[i]
		}
	}
	return nil
}

// replace records the pods whose intents have left the record because their successors exist, because they were updated in
// place, or because they have ended and have no successor of their name.
func (r *rollout) replace() {
	for _, i := range r.held.Intents {
		z := r.of(i)
		if !takenDown(i) || stands(r.record, i) || z == nil {
			continue
		}
		p, happened := r.outcome(i, z.Since)
		if !happened {
			continue
		}
		z.Replaced++
		if r.Traced() {
			z.Pods = append(slices.Clip(z.Pods), p)
		}
	}
}

// ofStatefulClusters are the causes of intents by which a StatefulCluster updates pods.
var ofStatefulClusters = []reason.Code{reason.UpdatedByNewIdentity, reason.IdentityHandover, reason.UpdatedInPlace}

// takenDown reports whether a rollout wrote the intent. While a StatefulCluster is updated, this includes the hand-over of
// an identity for another cause.
func takenDown(i plan.Intent) bool {
	return i.Cause == reason.OutdatedRevision || i.Cause == reason.OutdatedAndUnavailable || slices.Contains(ofStatefulClusters, i.Cause)
}

// stands reports whether the next record still has the intent.
func stands(record plan.Record, i plan.Intent) bool {
	return slices.ContainsFunc(record.Intents, func(next plan.Intent) bool { return next.Pod == i.Pod && next.UID == i.UID })
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

// endZones ends the zones that were deleted, and the zones that are done and not under the hold of a rollout
// any more.
func (r *rollout) endZones(rolling string) {
	for i := range r.Zones {
		z := &r.Zones[i]
		now, exists := plan.UnitOf(r.seen, z.Name)
		gone := !exists || now.UID != z.UID
		if !z.Over() && (gone || z.Name != rolling && r.done(z.Name)) {
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

// done reports whether the rollout of a unit is done, and none of its pods has an intent.
func (r *rollout) done(unit string) bool {
	recorded := slices.ContainsFunc(r.record.Intents, func(i plan.Intent) bool { return i.Zone == unit })
	return !recorded && r.seen.Rollout(unit).Done
}

// complete reports whether no pod is left to replace, and no intent of a rollout. A StatefulCluster has no intent while it
// waits for the pod of a new identity, so its entry must have ended as well.
func (r *rollout) complete() bool {
	if slices.ContainsFunc(r.record.Intents, takenDown) || !r.seen.RolledOut() {
		return false
	}
	waits := r.seen.View().Operation == plan.StatefulClusterOperation && slices.ContainsFunc(r.Zones, func(z plan.RolledZone) bool { return !z.Over() })
	return !waits
}

func (r *rollout) end() {
	r.Until = r.now
	for i := range r.Zones {
		z := &r.Zones[i]
		if !z.Over() {
			z.Until = r.endOf(*z)
		}
		z.Pods = closed(z.Pods)
		r.Until = later(r.Until, z.Until)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
