package report

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Group is Report for a rollout group. It updates the metrics of the group as well.
func (r *Reporter) Group(s group.Snapshot, steps []plan.Action, done []plan.Receipt) (news bool, due time.Duration) {
	r.measure(&s, steps, done)
	return r.Report(&s, steps, done)
}

// measure updates the group's metrics from the snapshot and its plan. A StatefulSet or a budget
// that only has a hold has no metrics, because it may have the name of a group.
func (r *Reporter) measure(s *group.Snapshot, steps []plan.Action, done []plan.Receipt) {
	if !s.Key.Rolled() {
		return
	}
	metrics := r.metrics.Group(s.Key.Namespace, s.Key.Name)
	metrics.Show(state(s, steps))
	r.durations.of(s.Key).follow(s, metrics)
	if slices.ContainsFunc(done, dropsRestored) {
		r.metrics.RestoreSeen(telemetry.OfHold)
	}
	for _, receipt := range done {
		if d, ok := receipt.Step.(plan.DeletePod); ok && receipt.Err == nil {
			metrics.PodDeleted(d.Zone, string(d.Because))
		}
		if a, ok := receipt.Step.(group.SetReplicas); ok && receipt.Err == nil {
			metrics.ReplicasSet(a.Zone)
		}
	}
}

// ReplicasOverwritten counts that another writer has overwritten the replicas of a zone that
// lockstep had set.
func (r *Reporter) ReplicasOverwritten(key plan.Key, zone string) {
	if key.Rolled() {
		r.metrics.Group(key.Namespace, key.Name).ReplicasOverwritten(zone)
	}
}

// dropsRestored reports whether a step was carried out because an intent or a hold was restored
// from a backup.
func dropsRestored(receipt plan.Receipt) bool {
	return receipt.Err == nil && receipt.Step.Reason() == reason.HoldRestored
}

// causes are the reasons for deleting pods.
var causes = []string{string(reason.OutdatedRevision), string(reason.OutdatedAndUnavailable)}

func state(s *group.Snapshot, steps []plan.Action) telemetry.GroupState {
	status := group.Describe(*s, steps)
	shown := telemetry.GroupState{At: s.Now, Hold: heldBy(s, status), Causes: causes}
	for _, z := range status.Zones {
		zone := telemetry.ZoneState{
			Name: z.Name, Desired: z.Replicas, Ready: z.Ready, Updated: z.Updated, Outdated: z.Outdated,
			Down: z.Down, Noted: z.Recorded, Budget: z.Budget, Waiting: reasons(z.Name, status.Waits), Remarks: reasons(z.Name, status.Remarks),
			Activity: string(z.Activity),
		}
		if holds(s.Hold.Holder, z.Name) {
			zone.Since = s.Hold.Since
		}
		shown.Zones = append(shown.Zones, zone)
	}
	for _, w := range status.Waits {
		if !isZone(s, w.Zone) {
			shown.Waiting = append(shown.Waiting, string(w.Because.Code))
		}
	}
	return shown
}

// heldBy returns the holder in words of lockstep, because a tenant can write any text into the
// Lease.
func heldBy(s *group.Snapshot, status group.Status) telemetry.HoldState {
	holder := status.Holder
	shown := telemetry.HoldState{Transitions: s.Hold.Transitions}
	if holder.Free() {
		return shown
	}
	shown.Operation, shown.Acquired, shown.Expires = "other", status.Since, s.Hold.ExpiresAt()
	if !holder.Foreign() {
		shown.Operation = string(holder.Operation())
	}
	if isZone(s, holder.Zone()) && !holder.Foreign() {
		shown.Zone = holder.Zone()
	}
	return shown
}

// holds reports whether an operation of lockstep in this zone has the hold.
func holds(holder plan.Holder, zone string) bool { return !holder.Foreign() && holder.Zone() == zone }

func isZone(s *group.Snapshot, name string) bool {
	_, exists := s.Zone(name)
	return exists
}

func reasons(zone string, waits []plan.Wait) []string {
	var codes []string
	for _, w := range waits {
		if w.Zone == zone {
			codes = append(codes, string(w.Because.Code))
		}
	}
	return codes
}
