package group

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// wish is how many replicas a zone should have, and why. Without a reason, the zone keeps its
// replicas. The objection then says why a request cannot be fulfilled, if there is one.
type wish struct {
	replicas  int
	immediate int // replicas, if no pod had to wait before it leaves
	because   reason.Code
	objection plan.Refusal
}

func (w wish) none() bool { return w.because == "" }

// wishesFor reports whether the zone should have at most the replicas that a downscale leaves.
func (z *zoneState) wishesFor(d Downscale) bool { return !z.wish.none() && z.wish.replicas <= d.To }

// scale determines how many replicas each zone should have, and which zone may be scaled down
// now. It runs after all zones are surveyed.
func (b *groupState) scale() {
	if !b.Key.Rolled() {
		return
	}
	for _, z := range b.zoneStates {
		b.resolveWish(z)
	}
	rolling := b.rolling()
	for _, z := range b.shrinkingFirst() {
		if z.wish.none() || z.wish.replicas >= z.Replicas {
			continue
		}
		d, because := b.downscaleFor(z)
		switch z.scaleObjection = because; {
		case !because.None():
		case b.lowering.None() && (rolling == "" || rolling == z.Name):
			b.lowering = d
		case b.lowering.None():
			z.scaleObjection = b.refusedByHolder(rolling, "")
		default:
			z.scaleObjection = plan.Refusal{Code: reason.NotItsTurn, Zone: b.lowering.Zone}
		}
	}
}

// rolling returns the zone whose rollout has the hold and can continue now, if any. A downscale
// of another zone waits for it. It does not wait for a rollout that is stuck.
func (b *groupState) rolling() string {
	for _, z := range b.zoneStates {
		if b.Hold.Holder != plan.RolloutOperation.For(z.Name) {
			continue
		}
		for i := range z.candidates {
			c := &z.candidates[i]
			if c.Up() && b.mayReplace(disruption{zone: z, pod: c}).None() {
				return z.Name
			}
		}
	}
	return ""
}

// resolution is the progress of determining the wish of a zone.
type resolution uint8

const (
	unresolved resolution = iota
	resolving
	resolved
)

// resolveWish determines the wish of a zone, after the wish of its leader. So the followers of
// a zone that is scaled up do not have to wait for the next plan.
func (b *groupState) resolveWish(z *zoneState) {
	if z.resolution != unresolved {
		return
	}
	z.resolution = resolving
	z.wish = b.delayed(z.Zone, b.wishOf(z.Zone))
	z.contest = z.Contest.seen(z.Zone, z.wish, b.Now)
	_, z.scaleObjection = b.scaleUp(z)
	z.resolution = resolved
}

// MaxReplicas is the most replicas that lockstep gives a zone: more pods than a cluster can
// run. A greater number is a mistake, and lockstep reports it.
const MaxReplicas = 100_000

// wishOf returns how many replicas a zone should have: the number that a person forces, else
// the replicas of the resource that it mirrors, else the replicas that its leader has or is
// about to be scaled up to.
func (b *groupState) wishOf(z *Zone) wish {
	switch {
	case z.Deleting:
		return wish{}
	case z.Forced.Given:
		return plausible(wish{replicas: z.Forced.Replicas, because: reason.ReplicasForced})
	case z.Mirror.Configured():
		return plausible(mirrored(z.Mirror))
	case z.Leader != "":
		return plausible(b.following(z))
	}
	return wish{}
}

// plausible objects to more than MaxReplicas.
func plausible(w wish) wish {
	if w.replicas <= MaxReplicas {
		return w
	}
	return wish{objection: plan.Refusal{Code: reason.ReplicasOutOfRange, Detail: strconv.Itoa(w.replicas)}}
}

func (b *groupState) following(z *Zone) wish {
	leader, exists := b.zoneState(z.Leader)
	if !exists {
		return wish{objection: plan.Refusal{Code: reason.LeaderUnknown, Detail: fmt.Sprintf("%+.63q", z.Leader)}}
	}
	b.resolveWish(leader)
	if leader.resolution == resolving || leader.wish.objection.Code == reason.LeaderInCycle {
		return wish{objection: plan.Refusal{Code: reason.LeaderInCycle, Zone: leader.Name}}
	}
	return wish{replicas: b.replicasAfterScaleUp(leader), because: reason.LeaderFollowed}
}

// replicasAfterScaleUp returns how many replicas a zone has once it is scaled up. While lockstep waits before
// it overwrites another writer of a zone, followers use the replicas that the zone should have.
func (b *groupState) replicasAfterScaleUp(z *zoneState) int {
	if !z.contest.objection(b.Now).None() {
		return z.wish.replicas
	}
	if a, _ := b.scaleUp(z); a.To > z.Replicas {
		return a.To
	}
	return z.Replicas
}

// scaleUp returns the action that scales up a zone, or why the zone is not scaled up now. The
// action requires no hold, and no guard of downscales objects to it. An answer to another
// writer may have to wait; a new request of the leader never waits.
func (b *groupState) scaleUp(z *zoneState) (SetReplicas, plan.Refusal) {
	w := z.wish
	if w.none() || w.replicas <= z.Replicas {
		return SetReplicas{}, w.objection
	}
	if leader, _ := b.zoneState(z.Leader); w.because == reason.LeaderFollowed && z.AfterLeader {
		if r := unready(leader, w.replicas); !r.None() {
			return SetReplicas{}, r
		}
	}
	if r := z.contest.objection(b.Now); !r.None() {
		return SetReplicas{}, r
	}
	return SetReplicas{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: w.replicas, Because: w.because}, plan.Refusal{}
}

// unready objects unless a leader has exactly this many replicas and all of them are available.
func unready(leader *zoneState, replicas int) plan.Refusal {
	because := firstOf(lifecycle(leader.Zone), leader.culprit)
	if because.None() && leader.Replicas == replicas {
		return plan.Refusal{}
	}
	return plan.Refusal{Code: reason.LeaderNotReady, Zone: leader.Name, Pod: because.Pod, Detail: string(because.Code), Until: leader.stableAt}
}

// shrinkingFirst returns the zones. The zone of a recorded downscale comes first.
func (b *groupState) shrinkingFirst() []*zoneState {
	i := slices.IndexFunc(b.zoneStates, func(z *zoneState) bool { return z.Name == b.Hold.Downscale.Zone })
	if i <= 0 {
		return b.zoneStates
	}
	return slices.Concat(b.zoneStates[i:i+1], b.zoneStates[:i], b.zoneStates[i+1:])
}

// downscaleFor returns the downscale to the replicas that a zone should have, or why it is not
// admitted now. The same guards apply as for a downscale that a user requests.
func (b *groupState) downscaleFor(z *zoneState) (Downscale, plan.Refusal) {
	d := b.departure(z, DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: z.wish.replicas})
	if r := firstOf(z.contest.objection(b.Now), barred(z), b.gaveUp(z), b.overdue(z), b.mayShrink(d)); !r.None() {
		return Downscale{}, r
	}
	return b.ours(d), plan.Refusal{}
}

// ours returns the record of a downscale of lockstep's own. If it replaces a downscale whose
// StatefulSet was changed meanwhile, it gets no more time. It also calls no pod that has agreed
// to the replaced downscale.
func (b *groupState) ours(d departure) Downscale {
	record := b.recordOf(d)
	record.Ours = true
	former := b.Hold.Downscale
	if !former.Ours || former.Zone != d.Zone || b.DownscaleStatus(former) != Overtaken {
		return record
	}
	if record.Call == former.Call && former.Stage == Admitted && former.Called == Fingerprint(d.ask) {
		record.Stage, record.Called = Admitted, former.Called
	}
	if asksNoMore := former.Stage == Preparing && record.Stage == Admitted; !asksNoMore {
		record.Since = former.Since
	}
	return record
}

func barred(z *zoneState) plan.Refusal {
	if z.Barred {
		return plan.Refusal{Code: reason.DownscaleNotAllowed}
	}
	return plan.Refusal{}
}

// gaveUp objects while a failed downscale is not tried again.
func (b *groupState) gaveUp(z *zoneState) plan.Refusal {
	at := b.Hold.GivenUp[z.Name]
	if stillGivenUp(at, b.Now) {
		return plan.Refusal{Code: reason.PreparationFailed, Until: at.Add(RetryDownscaleAfter)}
	}
	return plan.Refusal{}
}

// overdue objects while the hold records a downscale of the zone that took too long. That
// downscale ends before the next one begins.
func (b *groupState) overdue(z *zoneState) plan.Refusal {
	d := b.Hold.Downscale
	if d.Zone == z.Name && !b.ended && b.DownscaleStatus(d) == Overtaken && !b.Now.Before(b.stageDeadline(d)) {
		return plan.Refusal{Code: reason.ZoneShrinking, Detail: d.String()}
	}
	return plan.Refusal{}
}

// scaleUps returns the actions that scale up zones. If a downscale did not take effect in time
// and must be made impossible, its zone is scaled up after that.
func (b *groupState) scaleUps(actions []plan.Action) []plan.Action {
	overdue := ""
	if d := b.Hold.Downscale; !b.Now.Before(b.stageDeadline(d)) && plan.Has[CancelDownscale](actions) {
		overdue = d.Zone
	}
	var steps []plan.Action
	for _, z := range b.zoneStates {
		if a, _ := b.scaleUp(z); a.To > z.Replicas && z.Name != overdue {
			steps = append(steps, a)
		}
	}
	return steps
}

// dropWritesThatCancel drops writes to the StatefulSet of a zone whose downscale the plan
// records. They would make the record obsolete.
func (b *groupState) dropWritesThatCancel(after, actions []plan.Action) []plan.Action {
	recorded := ""
	for _, step := range actions {
		if a, is := step.(RecordDownscale); is && a.Downscale.Ours && a.Downscale.Stage != Undoing {
			recorded = a.Downscale.Zone
		}
	}
	return slices.DeleteFunc(after, func(step plan.Action) bool {
		adopts, _ := step.(AdoptRevision)
		stamps, _ := step.(StampDownscale)
		return recorded != "" && (adopts.Zone == recorded || stamps.Zone == recorded)
	})
}

// dropWritesToRaised drops other writes to a zone that is scaled up, because one write would
// make the other fail.
func dropWritesToRaised(steps, raises []plan.Action) []plan.Action {
	rises := map[string]bool{}
	for _, step := range raises {
		if a, ok := step.(SetReplicas); ok {
			rises[a.Zone] = true
		}
	}
	return slices.DeleteFunc(steps, func(step plan.Action) bool {
		switch a := step.(type) {
		case AdoptRevision:
			return rises[a.Zone]
		case CancelDownscale:
			return rises[a.Downscale.Zone]
		case StampDownscale:
			return rises[a.Zone]
		}
		return false
	})
}

// downscaleFirst objects to disruptions while a downscale of lockstep's own is due.
func downscaleFirst(b *groupState, d disruption) plan.Refusal {
	switch due := b.lowering; {
	case due.None():
		return plan.Refusal{}
	case due.Zone == d.zone.Name:
		return plan.Refusal{Code: reason.ZoneShrinking, Detail: due.String()}
	}
	return plan.Refusal{Code: reason.QueuedBehindOtherZone, Zone: b.lowering.Zone, Detail: string(plan.DownscaleOperation)}
}
