package report

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/telemetry"
)

// measure brings the group's metrics to what the snapshot and its plan show.
func (r *Reporter) measure(s plan.Snapshot, steps []plan.Action, done []plan.Receipt) {
	metrics := r.metrics.Group(s.Key.Namespace, s.Key.Group)
	metrics.Show(state(s, steps))
	for _, receipt := range done {
		if d, ok := receipt.Step.(plan.DeletePod); ok && receipt.Err == nil {
			metrics.PodDeleted(d.Zone, string(d.Because))
		}
	}
}

func state(s plan.Snapshot, steps []plan.Action) telemetry.GroupState {
	status := plan.Describe(s, steps)
	shown := telemetry.GroupState{Hold: heldBy(s)}
	for _, z := range status.Zones {
		shown.Zones = append(shown.Zones, telemetry.ZoneState{
			Name: z.Name, Desired: z.Replicas, Ready: z.Ready, Outdated: z.Outdated,
			Down: z.Down, Noted: z.Noted, Budget: z.Budget, Waiting: reasons(z.Name, status.Waits), Remarks: reasons(z.Name, status.Remarks),
		})
	}
	for _, w := range status.Waits {
		if !isZone(s, w.Zone) {
			shown.Waiting = append(shown.Waiting, string(w.Because.Code))
		}
	}
	return shown
}

// heldBy names the holder in words of ours: a tenant can write anything there.
func heldBy(s plan.Snapshot) telemetry.HoldState {
	holder := s.Hold.Holder
	switch {
	case holder.Free():
		return telemetry.HoldState{}
	case holder.Foreign():
		return telemetry.HoldState{Operation: "other"}
	case !isZone(s, holder.Zone()):
		return telemetry.HoldState{Operation: string(holder.Operation())}
	}
	return telemetry.HoldState{Operation: string(holder.Operation()), Zone: holder.Zone()}
}

func isZone(s plan.Snapshot, name string) bool {
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
