package group

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Status describes a group to users: the state that Plan decides by, and the waits of
// its actions. Metrics, conditions and the command line agree, because all of them show a
// Status.
type Status struct {
	Activity Activity
	Holder   plan.Holder // the operation that blocks others
	Since    time.Time   // when the holder acquired the hold; zero: the hold is free, or the Lease does not say
	Zones    []ZoneStatus
	Waits    []plan.Wait // the wait that causes the others comes first; none: no zone waits
	Remarks  []plan.Wait // problems that a person should know although no zone waits for them
}

// Activity is what happens in a group, or in a zone of it.
type Activity string

// Activities.
const (
	Settled    Activity = "Settled"    // available, no change is due, and the hold is free
	Rolling    Activity = "Rolling"    // a rollout has the hold
	Shrinking  Activity = "Shrinking"  // a downscale has the hold
	Evicting   Activity = "Evicting"   // evictions have the hold
	Held       Activity = "Held"       // a foreign holder has the hold
	Recovering Activity = "Recovering" // pods are down, and the hold is free
	Blocked    Activity = "Blocked"    // a change is due, and the hold is free
)

// ZoneStatus describes a zone to users.
type ZoneStatus struct {
	Name     string
	UID      string
	Activity Activity
	Replicas int // pods that the spec requires
	Ready    int // of those, pods that are up
	Updated  int // of those, pods at the update revision
	Done     int // of those, pods that are up and at the update revision
	Outdated int // of the existing ones, pods at another revision
	Down     int // missing, not available, or with an intent
	Recorded int // with an intent that still counts
	Budget   int
	Revision string // the update revision
	Waits    plan.Refusal
}

// Describe returns the status of a group, from the actions that Plan returned for it and
// the waits that others have added.
func Describe(s Snapshot, steps []plan.Action) Status {
	b := newGroupState(s)
	status := Status{Waits: b.ordered(steps), Remarks: Remarks(s)}
	if !b.forgotten() {
		status.Holder, status.Since = s.Hold.Holder, s.Hold.Since
	}
	for _, z := range b.zoneStates {
		status.Zones = append(status.Zones, b.describe(z, waitOf(z.Name, steps)))
	}
	status.Activity = b.activity(status)
	return status
}

// forgotten reports whether the holder has lapsed and nothing that the hold records
// counts. Then the hold is as good as free.
func (b *groupState) forgotten() bool {
	recorded := b.intentCount > 0 || (!b.Hold.Downscale.None() && !b.ended) || b.Hold.Unreadable != ""
	return b.Hold.Lapsed(b.Now) && !recorded
}

// Stalled returns the first wait that only a person can end and that is not a pause.
func (s Status) Stalled() (plan.Wait, bool) {
	i := slices.IndexFunc(s.Waits, func(w plan.Wait) bool { return needsPerson(w.Because) && w.Because.Code != reason.Paused })
	if i < 0 {
		return plan.Wait{}, false
	}
	return s.Waits[i], true
}

func (b *groupState) describe(z *zoneState, waits plan.Refusal) ZoneStatus {
	shown := ZoneStatus{
		Name: z.Name, UID: z.UID, Replicas: z.Replicas, Down: z.down, Budget: z.budget, Revision: z.UpdateRevision, Waits: waits,
		Activity: Settled,
	}
	for _, pod := range z.Pods {
		if z.Owns(pod.Ordinal) {
			shown.count(pod, z.Outdated(pod))
		}
	}
	for _, intent := range b.activeIntents {
		if intent.Zone == z.Name {
			shown.Recorded++
		}
	}
	switch {
	case b.worksIn(z.Name):
		shown.Activity = activityOf(b.Hold.Holder)
	case !z.available():
		shown.Activity = Recovering
	case !waits.None(), shown.Outdated > 0:
		shown.Activity = Blocked
	}
	return shown
}

func (z *ZoneStatus) count(pod plan.Pod, outdated bool) {
	if pod.Up() {
		z.Ready++
	}
	if outdated {
		z.Outdated++
		return
	}
	z.Updated++
	if pod.Up() {
		z.Done++
	}
}

// worksIn reports whether an operation of lockstep has the hold in a zone.
func (b *groupState) worksIn(zone string) bool {
	return !b.Hold.Holder.Free() && !b.Hold.Holder.Foreign() && b.Hold.Holder.Zone() == zone
}

// activity returns the activity of the holder. If the hold is free, it returns the
// activity of the zone that is furthest from settled.
func (b *groupState) activity(status Status) Activity {
	if !status.Holder.Free() {
		return activityOf(status.Holder)
	}
	activity := Settled
	if len(status.Waits) > 0 {
		activity = Blocked
	}
	for _, z := range status.Zones {
		if z.Activity == Recovering || activity == Settled {
			activity = z.Activity
		}
	}
	return activity
}

func activityOf(h plan.Holder) Activity {
	switch h.Operation() {
	case plan.RolloutOperation:
		return Rolling
	case plan.DownscaleOperation:
		return Shrinking
	case plan.EvictionOperation:
		return Evicting
	case plan.StatefulClusterOperation: // of no group
	}
	return Held
}

func waitOf(zone string, steps []plan.Action) plan.Refusal {
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok && w.Zone == zone {
			return w.Because
		}
	}
	return plan.Refusal{}
}

// ordered returns the waits among steps in this order: the holder's zone, waits that need
// a person, other waits, waits with their cause in another zone, and pauses.
func (b *groupState) ordered(steps []plan.Action) []plan.Wait {
	var waits []plan.Wait
	for _, step := range steps {
		if w, ok := step.(plan.Wait); ok {
			waits = append(waits, w)
		}
	}
	slices.SortStableFunc(waits, func(a, c plan.Wait) int { return b.rank(a) - b.rank(c) })
	return waits
}

func (b *groupState) rank(w plan.Wait) int {
	switch {
	case slices.Contains(derived, w.Because.Code):
		return 3
	case b.worksIn(w.Zone):
		return 0
	case w.Because.Code == reason.Paused:
		return 4
	case needsPerson(w.Because):
		return 1
	}
	return 2
}

// derived are the reasons whose cause is in another zone.
var derived = []reason.Code{reason.NotItsTurn, reason.OtherZoneUnavailable, reason.GroupHeld, reason.QueuedBehindOtherZone}
