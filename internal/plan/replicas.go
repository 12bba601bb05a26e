package plan

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// wish is how many replicas a zone should have, and why. Without a reason the
// zone keeps what it has, and the objection says so where somebody wishes for
// what cannot be.
type wish struct {
	replicas  int
	asked     int // replicas, had nobody to wait who leaves
	because   reason.Code
	objection Refusal
}

func (w wish) none() bool { return w.because == "" }

// wishesFor reports whether the zone should have as few replicas as a downscale leaves.
func (z *zoneState) wishesFor(d Downscale) bool { return !z.wish.none() && z.wish.replicas <= d.To }

// scale finds out how many replicas each zone should have, and which one may shrink now.
// It runs after all zones are surveyed.
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
		d, because := b.lower(z)
		switch z.scaleObjection = because; {
		case !because.None():
		case b.lowering.None() && (rolling == "" || rolling == z.Name):
			b.lowering = d
		case b.lowering.None():
			z.scaleObjection = b.held(rolling, "")
		default:
			z.scaleObjection = Refusal{Code: reason.NotItsTurn, Zone: b.lowering.Zone}
		}
	}
}

// rolling returns the zone whose rollout has the hold and goes on now, if any: a
// downscale of another zone waits for it. One that is stuck makes way.
func (b *groupState) rolling() string {
	for _, z := range b.zoneStates {
		if b.Hold.Holder != RolloutOperation.For(z.Name) {
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

// wishing is how far a zone is with its wish.
type wishing uint8

const (
	unasked wishing = iota
	onTheWay
	settled
)

// resolveWish gives a zone its wish, after its leader: those who follow a zone that
// is raised need not wait for the next plan.
func (b *groupState) resolveWish(z *zoneState) {
	if z.wishing != unasked {
		return
	}
	z.wishing = onTheWay
	z.wish = b.delayed(z.Zone, b.wishOf(z.Zone))
	z.contest = z.Contest.seen(z.Zone, z.wish, b.Now)
	_, z.scaleObjection = b.raise(z)
	z.wishing = settled
}

// MaxReplicas is the most that lockstep gives a zone: more pods than a cluster
// carries. A number beyond it is a mistake, and whoever made it is told.
const MaxReplicas = 100_000

// wishOf returns how many replicas a zone should have: what a person forces, else
// what the resource asks for that it mirrors, else what its leader has or is about
// to be raised to.
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

// plausible objects to a number that cannot be meant.
func plausible(w wish) wish {
	if w.replicas <= MaxReplicas {
		return w
	}
	return wish{objection: Refusal{Code: reason.ReplicasOutOfRange, Detail: strconv.Itoa(w.replicas)}}
}

func (b *groupState) following(z *Zone) wish {
	leader, exists := b.zoneState(z.Leader)
	if !exists {
		return wish{objection: Refusal{Code: reason.LeaderUnknown, Detail: fmt.Sprintf("%+.63q", z.Leader)}}
	}
	b.resolveWish(leader)
	if leader.wishing == onTheWay || leader.wish.objection.Code == reason.LeaderInCycle {
		return wish{objection: Refusal{Code: reason.LeaderInCycle, Zone: leader.Name}}
	}
	return wish{replicas: b.height(leader), because: reason.LeaderFollowed}
}

// height returns how many replicas a zone asks for once it is raised. While lockstep waits
// before it answers another writer of a zone, those who follow that zone go by what it
// should have.
func (b *groupState) height(z *zoneState) int {
	if !z.contest.objection(b.Now).None() {
		return z.wish.replicas
	}
	if a, _ := b.raise(z); a.To > z.Replicas {
		return a.To
	}
	return z.Replicas
}

// raise returns what gives a zone more replicas, or why it does not get them
// now. It needs no hold, and nothing that concerns downscales stands in its way. An answer
// to another writer may have to wait; what the leader asks for anew never does.
func (b *groupState) raise(z *zoneState) (SetReplicas, Refusal) {
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
	return SetReplicas{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: w.replicas, Because: w.because}, Refusal{}
}

// unready objects unless a leader has exactly so many replicas, all of them
// there and available.
func unready(leader *zoneState, replicas int) Refusal {
	because := firstOf(lifecycle(leader.Zone), leader.culprit)
	if because.None() && leader.Replicas == replicas {
		return Refusal{}
	}
	return Refusal{Code: reason.LeaderNotReady, Zone: leader.Name, Pod: because.Pod, Detail: string(because.Code), Until: leader.stableAt}
}

// shrinkingFirst returns the zones with the one first in which a downscale is noted.
func (b *groupState) shrinkingFirst() []*zoneState {
	i := slices.IndexFunc(b.zoneStates, func(z *zoneState) bool { return z.Name == b.Hold.Downscale.Zone })
	if i <= 0 {
		return b.zoneStates
	}
	return slices.Concat(b.zoneStates[i:i+1], b.zoneStates[:i], b.zoneStates[i+1:])
}

// lower returns the downscale that gives a zone the replicas it should have, or
// why it does not get them now. It is judged like one that anybody asks for.
func (b *groupState) lower(z *zoneState) (Downscale, Refusal) {
	d := b.departure(z, DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: z.wish.replicas})
	if r := firstOf(z.contest.objection(b.Now), barred(z), b.gaveUp(z), b.overdue(z), b.mayShrink(d)); !r.None() {
		return Downscale{}, r
	}
	return b.ours(d), Refusal{}
}

// ours is how the hold notes a downscale of lockstep's own. One that replaces
// another whose StatefulSet was written to meanwhile is given no more time, and
// asks nobody who has agreed to that one.
func (b *groupState) ours(d departure) Downscale {
	note := b.note(d)
	note.Ours = true
	former := b.Hold.Downscale
	if !former.Ours || former.Zone != d.Zone || b.DownscaleStatus(former) != Overtaken {
		return note
	}
	if note.Call == former.Call && former.Stage == Admitted && former.Asked == Fingerprint(d.ask) {
		note.Stage, note.Asked = Admitted, former.Asked
	}
	if asksNoMore := former.Stage == Preparing && note.Stage == Admitted; !asksNoMore {
		note.Since = former.Since
	}
	return note
}

func barred(z *zoneState) Refusal {
	if z.Barred {
		return Refusal{Code: reason.DownscaleNotAllowed}
	}
	return Refusal{}
}

// gaveUp objects while a downscale that failed is not tried again.
func (b *groupState) gaveUp(z *zoneState) Refusal {
	at := b.Hold.GivenUp[z.Name]
	if StillGivenUp(at, b.Now) {
		return Refusal{Code: reason.PreparationFailed, Until: at.Add(RetryAfter)}
	}
	return Refusal{}
}

// overdue objects while a downscale of the zone stands that took too long: it is
// ended before the next one begins.
func (b *groupState) overdue(z *zoneState) Refusal {
	d := b.Hold.Downscale
	if d.Zone == z.Name && !b.ended && b.DownscaleStatus(d) == Overtaken && !b.Now.Before(b.patience(d)) {
		return Refusal{Code: reason.ZoneShrinking, Detail: d.String()}
	}
	return Refusal{}
}

// raises returns what gives zones more replicas. One whose downscale has to be made
// impossible, since it did not come in time, is raised after that.
func (b *groupState) raises(deeds []Action) []Action {
	overdue := ""
	if d := b.Hold.Downscale; !b.Now.Before(b.patience(d)) && Has[CancelDownscale](deeds) {
		overdue = d.Zone
	}
	var steps []Action
	for _, z := range b.zoneStates {
		if a, _ := b.raise(z); a.To > z.Replicas && z.Name != overdue {
			steps = append(steps, a)
		}
	}
	return steps
}

// dropWritesThatVoid leaves out what would be written on a zone whose downscale the plan notes:
// it would void the note.
func (b *groupState) dropWritesThatVoid(after, deeds []Action) []Action {
	noted := ""
	for _, step := range deeds {
		if a, is := step.(RecordDownscale); is && a.Downscale.Ours && a.Downscale.Stage != Undoing {
			noted = a.Downscale.Zone
		}
	}
	return slices.DeleteFunc(after, func(step Action) bool {
		adopts, _ := step.(AdoptRevision)
		stamps, _ := step.(StampDownscale)
		return noted != "" && (adopts.Zone == noted || stamps.Zone == noted)
	})
}

// dropWritesToRaised leaves out what else would be written on a zone that is raised: the
// one would void the other.
func dropWritesToRaised(steps, raises []Action) []Action {
	rises := map[string]bool{}
	for _, step := range raises {
		if a, ok := step.(SetReplicas); ok {
			rises[a.Zone] = true
		}
	}
	return slices.DeleteFunc(steps, func(step Action) bool {
		switch a := step.(type) {
		case AdoptRevision:
			return rises[a.Zone]
		case CancelDownscale:
			return rises[a.Downscale.Zone]
		case StampDownscale:
			return rises[a.Zone]
		case DeletePod, CancelDeletion, RecordDownscale, PreparePods, CancelPreparation, EndDownscale, SetReplicas,
			ReportReplicas, NotifyPods, RecordAcknowledged, EndIntent, RecordMembers, Enqueue, Release, Wait:
		}
		return false
	})
}

// downscaleFirst objects to takedowns beside a downscale of lockstep's own that
// is due.
func downscaleFirst(b *groupState, d disruption) Refusal {
	switch due := b.lowering; {
	case due.None():
		return Refusal{}
	case due.Zone == d.zone.Name:
		return Refusal{Code: reason.ZoneShrinking, Detail: due.String()}
	}
	return Refusal{Code: reason.QueuedBehindOtherZone, Zone: b.lowering.Zone, Detail: string(DownscaleOperation)}
}
