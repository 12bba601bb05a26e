package plan

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Status is what people are shown of a group: the account that Group decides by, and
// what its steps wait for. Metrics, conditions and the command line all say the same,
// since they all say this.
type Status struct {
	Activity Activity
	Holder   Holder    // who keeps others from the group
	Since    time.Time // when the holder took it; zero: nobody holds, or the Lease does not say
	Zones    []ZoneStatus
	Waits    []Wait // the one first that the others come from; none: nothing is waited for
	Remarks  []Wait // what a person should know although nothing waits for it
}

// Activity is what goes on in a group, or in a zone of it.
type Activity string

// The activities that exist.
const (
	Settled    Activity = "Settled"    // whole, nothing is wanted, and nobody holds
	Rolling    Activity = "Rolling"    // a rollout holds
	Shrinking  Activity = "Shrinking"  // a downscale holds
	Evicting   Activity = "Evicting"   // evictions hold
	Held       Activity = "Held"       // somebody holds whose operation is none of lockstep's
	Recovering Activity = "Recovering" // pods are down, and nobody holds
	Blocked    Activity = "Blocked"    // something is wanted, and nobody holds
)

// ZoneStatus is what people are shown of a zone.
type ZoneStatus struct {
	Name     string
	UID      string
	Activity Activity
	Replicas int // pods the spec asks for
	Ready    int // of those, serving
	Updated  int // of those, on the update revision
	Done     int // of those, both
	Outdated int // of those that exist, on another revision
	Down     int // missing, not available or noted
	Noted    int // with an intent that still counts
	Budget   int
	Revision string // that every pod should have
	Waits    Refusal
}

// Describe says how a group stands, by the steps that Group returned for it and by
// waits that others have added.
func Describe(s Snapshot, steps []Action) Status {
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

// forgotten reports whether the holder has lapsed, and nothing that the hold notes counts
// either: then it is as good as free.
func (b *groupState) forgotten() bool {
	noted := b.intentCount > 0 || (!b.Hold.Downscale.None() && !b.ended) || b.Hold.Unreadable != ""
	return b.Hold.Lapsed(b.Now) && !noted
}

// Stalled returns the first wait that only a person can end, and that nobody has chosen.
func (s Status) Stalled() (Wait, bool) {
	i := slices.IndexFunc(s.Waits, func(w Wait) bool { return needsPerson(w.Because) && w.Because.Code != reason.Paused })
	if i < 0 {
		return Wait{}, false
	}
	return s.Waits[i], true
}

func (b *groupState) describe(z *zoneState, waits Refusal) ZoneStatus {
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
			shown.Noted++
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

func (z *ZoneStatus) count(pod Pod, outdated bool) {
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

// worksIn reports whether an operation of lockstep's holds the group in a zone.
func (b *groupState) worksIn(zone string) bool {
	return !b.Hold.Holder.Free() && !b.Hold.Holder.Foreign() && b.Hold.Holder.Zone() == zone
}

// activity is that of the holder or, where nobody holds, the one of its zones that
// is furthest from settled.
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

func activityOf(h Holder) Activity {
	switch h.Operation() {
	case RolloutOperation:
		return Rolling
	case DownscaleOperation:
		return Shrinking
	case EvictionOperation:
		return Evicting
	}
	return Held
}

func waitOf(zone string, steps []Action) Refusal {
	for _, step := range steps {
		if w, ok := step.(Wait); ok && w.Zone == zone {
			return w.Because
		}
	}
	return Refusal{}
}

// ordered returns the waits among steps: that of the holder's zone first, then what
// needs a person, then what does not come from other zones, then what does, and what
// somebody chose last.
func (b *groupState) ordered(steps []Action) []Wait {
	var waits []Wait
	for _, step := range steps {
		if w, ok := step.(Wait); ok {
			waits = append(waits, w)
		}
	}
	slices.SortStableFunc(waits, func(a, c Wait) int { return b.rank(a) - b.rank(c) })
	return waits
}

func (b *groupState) rank(w Wait) int {
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

// derived are the reasons whose own reason is to be looked for in another zone.
var derived = []reason.Code{reason.NotItsTurn, reason.OtherZoneUnavailable, reason.GroupHeld, reason.QueuedBehindOtherZone}
