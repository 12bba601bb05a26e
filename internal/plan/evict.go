package plan

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// EvictionRequest is a pod that somebody wants to evict.
type EvictionRequest struct {
	Pod string
	UID string // of the pod that will go
}

// EvictionAnswer is the answer to an EvictionRequest.
type EvictionAnswer struct {
	Because Refusal // none: it is allowed
	Zone    string  // of the pod
	Place   Waiting // to be kept in the queue where others come first; none where nobody should wait for it
	Tally   Tally   // what is down, where that is why
	Note    Intent  // what the hold must say before the yes; none where nothing has to
	Version Version // not 0: the yes counts for the pod at this version alone
	Budget  string  // the budget that covers the pod, if one does
}

// Allowed reports whether the answer is yes, once what it asks for is done.
func (p EvictionAnswer) Allowed() bool { return p.Because.None() }

// NeedsNote reports whether the hold has to say something before the yes.
func (p EvictionAnswer) NeedsNote() bool { return p.Note.Pod != "" }

// eviction is a pod that somebody wants to evict, with what decides about it.
type eviction struct {
	zone        *zoneState
	pod         Pod
	budget      DisruptionBudget
	covered     bool
	unclear     Refusal // why nobody can say which budget counts
	partition   string
	limit       int // pods that may be down
	intent      Intent
	hasIntent   bool
	orphan      bool            // the StatefulSet does not own the pod
	alreadyDown bool            // among those that are down already
	elsewhere   *partitionTally // what is down of the partition in other zones; nil: to be counted
}

// evictGuards bind every eviction of a pod that serves; the first objection is the
// one told.
var evictGuards = []guard[eviction]{
	budgetUnknown,    // which budget counts is known
	evictionsBarred,  // and it allows evictions
	alreadyNoted,     // it is about to leave already
	lowerOrphanFirst, // another pod can come in its place
}

// zoneGuards bind one where zones count, beyond the above.
var zoneGuards = []guard[eviction]{
	evictionHeldElsewhere,             // guarantee 1: one operation in one zone at a time
	othersBeforeEviction,              // first come, first served
	forEviction(otherZoneUnavailable), // guarantee 2: the rest of the group serves
	forEviction(budgetSpent),          // guarantee 4: at most so many pods of a zone
	forEviction(tooManyIntents),       // it is noted, and the hold can only carry so many
}

// partitionGuards bind one where partitions count.
var partitionGuards = []guard[eviction]{
	partitionHeldElsewhere, // rollouts and downscales exclude evictions by partitions
	othersBeforeEviction,
	partitionNotWhole,
	onlyZoneSpent, // guarantee 4, where no other zone could have the partition
	forEviction(tooManyIntents),
}

// forEviction asks about an eviction what a rollout is asked about a pod, with the
// limit of evictions as the budget.
func forEviction(object guard[disruption]) guard[eviction] {
	return func(b *groupState, e eviction) Refusal {
		z := *e.zone
		z.budget = e.limit
		if e.orphan {
			z = b.withStandIns(z) // what is missing for their sake is not down before they are
		}
		return object(b, disruption{zone: &z, pod: &candidate{Pod: e.pod, alreadyDown: e.alreadyDown, hasIntent: e.hasIntent}, inTheWay: e.inTheWay()})
	}
}

// Evict decides about the eviction of a pod of the group. It shares its rules with
// Group and Admit, and the account of what is down. A pod that is down may go
// whoever has the hold: so no repair ever waits for what waits for it.
func Evict(s Snapshot, r EvictionRequest) EvictionAnswer { return OutlookOf(s).Evict(r) }

// Outlook is a snapshot with everything counted, to answer many at a time.
type Outlook struct {
	groupState *groupState
}

// OutlookOf counts a snapshot. Goroutines may share it.
func OutlookOf(s Snapshot) Outlook {
	b := newGroupState(s)
	b.expectEvictions()
	return Outlook{b}
}

// Evict is Evict on the snapshot that was counted.
func (o Outlook) Evict(r EvictionRequest) EvictionAnswer {
	b := o.groupState
	z, pod, exists := b.evictee(r.Pod)
	if !exists {
		return b.evictLeft(r)
	}
	if pod.UID != r.UID {
		return EvictionAnswer{Because: Refusal{Code: reason.CacheStale, Pod: r.Pod}}
	}
	e := b.eviction(z, pod)
	p := EvictionAnswer{Zone: z.Name, Budget: e.budget.Name}
	if e.down() {
		p.Version = pod.mayServe()
		return p
	}
	p.Because = b.mayEvict(e)
	switch {
	case !p.Because.None():
		p.Tally = b.tally(e, p.Because)
		if b.couldHaveItsTurn(e) {
			p.Place = b.placeOf(e)
		}
	case pod.Up():
		p.Note = Intent{
			Zone: z.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Cause: reason.EvictionGranted, Partition: e.partition, Since: b.Now,
			Overtook: !b.beforeEviction(e).None(),
		}
	default:
		p.Version = pod.mayServe()
	}
	return p
}

// evictLeft decides about a pod of a zone that left the group. One that serves stays: its
// zone may be back any moment, with one more pod down than the group allows. What a budget says
// about pods that are not ready counts as in the group, unless the zone is ignored.
func (b *groupState) evictLeft(r EvictionRequest) EvictionAnswer {
	z, pod, exists := b.leftPod(r.Pod)
	if !exists || pod.UID != r.UID || z.Uncovered {
		return EvictionAnswer{Because: Refusal{Code: reason.CacheStale, Pod: r.Pod}}
	}
	e := b.eviction(b.survey(&z.Zone), pod)
	p := EvictionAnswer{Zone: z.Name, Budget: e.budget.Name}
	switch {
	case !pod.Up() && (z.Ignored || e.down()):
		p.Version = pod.mayServe()
	case b.Hold.Unreadable != "":
		p.Because = Refusal{Code: reason.HoldUnreadable}
	case z.Ignored:
		p.Because = b.away(z)
	default:
		p.Because = firstOf(budgetUnknown(b, e), evictionsBarred(b, e), b.away(z))
	}
	return p
}

// mayServe returns the version at which a pod that is down has to stay for an eviction
// to cost nothing; 0 for one that is leaving and never serves again.
func (p Pod) mayServe() Version {
	if p.Phase == Leaving {
		return 0
	}
	return p.Version
}

func (b *groupState) evictee(name string) (*zoneState, Pod, bool) {
	for _, z := range b.zoneStates {
		if pod, exists := z.podOrOrphan(name); exists {
			return z, pod, true
		}
	}
	return nil, Pod{}, false
}

func (b *groupState) eviction(z *zoneState, pod Pod) eviction {
	replicas := b.leastReplicas(z.Zone)
	e := eviction{zone: z, pod: pod, limit: z.MaxUnavailable.Of(replicas)}
	e.budget, e.covered, e.unclear = b.disruptionBudget(pod)
	if b.Unread {
		e.unclear = Refusal{Code: reason.CacheNotSynced}
	}
	if e.covered && e.unclear.None() {
		e.limit = e.budget.Of(replicas)
	}
	if e.budget.ByPartition() {
		e.partition, _ = e.budget.PartitionOf(pod.Name)
	}
	e.intent, e.hasIntent = b.activeIntents[pod.Name]
	if _, e.orphan = z.orphan(pod.Name); e.orphan {
		e.alreadyDown = e.hasIntent || e.inTheWay() && !pod.Up()
	} else {
		e.alreadyDown = b.isDown(z, pod)
	}
	return e
}

// leastReplicas returns the replicas that percentages of a budget refer to. While the hold
// notes a downscale of the zone, these are the ones that remain: the zone as cached may not
// show the downscale yet.
func (b *groupState) leastReplicas(z *Zone) int {
	if d := b.Hold.Downscale; d.Zone == z.Name && d.UID == z.UID {
		return min(z.Replicas, d.To)
	}
	return z.Replicas
}

// down reports whether nothing is lost by the eviction, so that nobody is asked. What a
// budget says about pods that are not Ready counts for those that run.
func (e eviction) down() bool {
	switch {
	case e.pod.Up():
		return false
	case !e.pod.Callable():
		return true
	case !e.unclear.None() || e.budget.Unhealthy == IfHealthyBudget:
		return false
	}
	return e.limit > 0 || e.budget.Unhealthy == AlwaysAllow
}

func (b *groupState) mayEvict(e eviction) Refusal {
	if e.budget.ByPartition() {
		return firstObjection(b, e, evictGuards, partitionGuards)
	}
	return firstObjection(b, e, evictGuards, zoneGuards)
}

// inTheWay reports whether the pod is an orphan that has the name of a pod which the spec asks for.
func (e eviction) inTheWay() bool { return e.orphan && e.zone.Owns(e.pod.Ordinal) }

func budgetUnknown(_ *groupState, e eviction) Refusal { return e.unclear }

func evictionsBarred(_ *groupState, e eviction) Refusal {
	switch {
	case e.limit == 0:
		return Refusal{Code: reason.EvictionsNotAllowed, Detail: e.budget.Name}
	case e.budget.ByPartition() && e.partition == "":
		return Refusal{Code: reason.PartitionUnknown, Pod: e.pod.Name, Detail: e.budget.Name}
	}
	return Refusal{}
}

// alreadyNoted objects to a pod that lockstep itself takes down, and to one whose
// eviction was granted: it may be under way. So may an unbound one, whichever pod has the
// name by now. Once the grant has lapsed others have their turn, and then it is granted
// again.
func alreadyNoted(b *groupState, e eviction) Refusal {
	switch {
	case !e.hasIntent:
		return Refusal{}
	case e.intent.Unbound:
	case e.intent.Succeeded(e.pod.UID, e.pod.Version):
		return Refusal{}
	case !e.intent.Granted() || e.intent.UID != e.pod.UID:
		return Refusal{Code: reason.PodDisruptionPending, Pod: e.pod.Name}
	}
	return Refusal{Code: reason.EvictionInProgress, Pod: e.pod.Name, Until: b.grantEnds(e.intent)}
}

func evictionHeldElsewhere(b *groupState, e eviction) Refusal {
	return firstOf(b.downscaleElsewhere(e.zone.Name), forEviction(heldElsewhere)(b, e))
}

// othersBeforeEviction objects while an operation waits that comes before the eviction,
// unless the eviction may overtake it.
func othersBeforeEviction(b *groupState, e eviction) Refusal {
	place := b.placeOf(e)
	if b.mayOvertake[place.Zone] && b.couldHaveItsTurn(e) {
		return Refusal{}
	}
	return b.waitingBefore(earlier(place.Since, b.longAway[EvictionOperation.For(place.Zone)]), place.Zone)
}

// beforeEviction returns which operation of another zone waits that came before the
// eviction.
func (b *groupState) beforeEviction(e eviction) Refusal {
	place := b.placeOf(e)
	return b.waitingBefore(place.Since, place.Zone)
}

// awayForLong is from when on a pod may be waiting for the rest of its node's drain, since
// it can start nowhere else.
const awayForLong = 2 * time.Minute

// podsLongAway returns, for the evictions that join a pod that is noted and does not come
// back, since when somebody must have waited to go before them: nobody else goes on before
// that pod is back, and it may wait for them, also where it overtook. The longer it is away, the longer that is:
// twice as long. Each pod that leaves begins anew, so whoever waits for longer than pods
// stay away has its turn between them, and chains of drains keep nobody away for ever.
func (b *groupState) podsLongAway() map[Holder]time.Time {
	var before map[Holder]time.Time
	for _, intent := range b.activeIntents {
		away := b.Now.Sub(intent.Since)
		if away < awayForLong {
			continue
		}
		if pod, present := b.Pod(intent.Pod); present && pod.Up() {
			continue
		}
		if before == nil {
			before = map[Holder]time.Time{}
		}
		joining := intent.Evicts()
		before[joining] = earlier(before[joining], intent.Since.Add(-away))
	}
	return before
}

// couldHaveItsTurn reports whether an eviction would be granted if it had its turn, as
// far as its own zone or partition is concerned: nobody waits for one that would not.
func (b *groupState) couldHaveItsTurn(e eviction) bool {
	if !lowerOrphanFirst(b, e).None() {
		return false
	}
	if e.budget.ByPartition() {
		return firstOf(partitionNotWhole(b, e), onlyZoneSpent(b, e)).None()
	}
	return forEviction(budgetSpent)(b, e).None()
}

// placeOf returns the place of an eviction in the queue, or the one it would get.
func (b *groupState) placeOf(e eviction) Waiting {
	zone := e.zone.Name
	if e.budget.ByPartition() {
		zone = Partitions
	}
	return Waiting{Operation: EvictionOperation, Zone: zone, Since: b.since(EvictionOperation, zone), LastSeen: b.Now}
}
