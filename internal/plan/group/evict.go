package group

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// eviction is a pod that a client wants to evict, with everything that decides about it.
type eviction struct {
	zone        *zoneState
	pod         plan.Pod
	budget      DisruptionBudget
	covered     bool
	unclear     plan.Refusal // why it is unknown which budget applies
	partition   string
	limit       int // how many pods may be down
	intent      plan.Intent
	hasIntent   bool
	orphan      bool            // the StatefulSet does not own the pod
	alreadyDown bool            // it counts as down already
	elsewhere   *partitionTally // pods of the partition that are down in other zones; nil: not counted yet
}

// evictGuards apply to every eviction of a pod for which eviction.down is false. The first
// objection is reported.
var evictGuards = []guard[eviction]{
	budgetUnknown,    // it is known which budget applies
	evictionsBarred,  // the budget allows evictions
	alreadyRecorded,  // the pod is not about to be deleted already
	lowerOrphanFirst, // another pod can come in its place
}

// zoneGuards apply after the guards above if the budget counts by zones.
var zoneGuards = []guard[eviction]{
	evictionHeldElsewhere,             // guarantee 1: one operation in one zone at a time
	othersBeforeEviction,              // the operation that was refused first goes first
	forEviction(otherZoneUnavailable), // guarantee 2: the other zones are available
	forEviction(budgetSpent),          // guarantee 4: at most so many pods of a zone are down
	forEviction(tooManyIntents),       // the eviction is recorded, and the hold has limited room
}

// partitionGuards apply instead of zoneGuards if the budget counts by partitions.
var partitionGuards = []guard[eviction]{
	partitionHeldElsewhere, // rollouts and downscales exclude evictions by partitions
	othersBeforeEviction,
	partitionUnavailable,
	onlyZoneSpent, // guarantee 4, if no other zone can have the partition
	forEviction(tooManyIntents),
}

// forEviction applies a guard of rollouts to an eviction, with the limit of evictions as the
// budget.
func forEviction(object guard[disruption]) guard[eviction] {
	return func(b *groupState, e eviction) plan.Refusal {
		z := *e.zone
		z.budget = e.limit
		if e.orphan {
			z = b.withStandIns(z) // a pod that is missing because of an orphan is not down before the orphan is
		}
		return object(b, disruption{zone: &z, pod: &candidate{Pod: e.pod, alreadyDown: e.alreadyDown, hasIntent: e.hasIntent}, inTheWay: e.inTheWay()})
	}
}

// Evict decides about the eviction of a pod of the group. It shares its rules, and the count of
// pods that are down, with Plan and Admit. A pod that is down may be evicted whichever
// operation has the hold. So a repair never waits for an operation that waits for the repair.
func Evict(s Snapshot, r plan.EvictionRequest) plan.EvictionAnswer { return OutlookOf(s).Evict(r) }

// Outlook is a snapshot that is counted once, to answer many requests.
type Outlook struct {
	groupState *groupState
}

// OutlookOf counts a snapshot. Goroutines may share the result.
func OutlookOf(s Snapshot) Outlook {
	b := newGroupState(s)
	b.expectEvictions()
	return Outlook{b}
}

// Evict answers a request on the counted snapshot.
func (o Outlook) Evict(r plan.EvictionRequest) plan.EvictionAnswer {
	b := o.groupState
	z, pod, exists := b.evictee(r.Pod)
	if !exists {
		return b.evictLeft(r)
	}
	if pod.UID != r.UID {
		return plan.EvictionAnswer{Because: plan.Refusal{Code: reason.CacheStale, Pod: r.Pod}}
	}
	e := b.eviction(z, pod)
	p := plan.EvictionAnswer{Zone: z.Name, Budget: e.budget.Name}
	if e.down() {
		p.Version = requiredVersion(pod)
		return p
	}
	p.Because = b.mayEvict(e)
	switch {
	case !p.Because.None():
		p.Tally = b.tally(e, p.Because)
		if KeepsPlace(p.Because.Code) && b.couldHaveItsTurn(e) {
			p.Place = b.placeOf(e)
		}
	case pod.Up():
		p.Version = e.versionOfOrphan()
		p.Record = plan.Intent{
			Zone: z.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Cause: reason.EvictionGranted, Partition: e.partition, Since: b.Now,
			Overtook: !b.beforeEviction(e).None(),
		}
	default:
		p.Version = requiredVersion(pod)
	}
	return p
}

// evictLeft decides about a pod of a zone that left the group. It refuses the eviction of a pod
// that is up: the zone may come back at any moment, with one more pod down than the group
// allows. The policy of a budget for pods that are not Ready counts as in the group, unless the
// zone is ignored.
func (b *groupState) evictLeft(r plan.EvictionRequest) plan.EvictionAnswer {
	z, pod, exists := b.leftPod(r.Pod)
	if !exists || pod.UID != r.UID || z.Uncovered {
		return plan.EvictionAnswer{Because: plan.Refusal{Code: reason.CacheStale, Pod: r.Pod}}
	}
	e := b.eviction(b.zoneStateOf(&z.Zone), pod)
	p := plan.EvictionAnswer{Zone: z.Name, Budget: e.budget.Name}
	switch {
	case !pod.Up() && (z.Ignored || e.down()):
		p.Version = requiredVersion(pod)
	case b.Hold.Unreadable != "":
		p.Because = plan.Refusal{Code: reason.HoldUnreadable}
	case z.Ignored:
		p.Because = b.leftGroup(z)
	default:
		p.Because = firstOf(budgetUnknown(b, e), evictionsBarred(b, e), b.leftGroup(z))
	}
	return p
}

// requiredVersion returns the version that a pod that is down must still have, so that its eviction
// disrupts nothing. It returns 0 for a terminating pod, which never becomes up again.
func requiredVersion(p plan.Pod) plan.Version {
	if p.Phase == plan.Terminating {
		return 0
	}
	return p.Version
}

// versionOfOrphan returns the version that an orphan must still have when it is evicted; 0 for a pod that the StatefulSet
// owns. Its labels may change, and the StatefulSet adopts it: then it counts as a pod of its zone.
func (e eviction) versionOfOrphan() plan.Version {
	if e.orphan {
		return e.pod.Version
	}
	return 0
}

func (b *groupState) evictee(name string) (*zoneState, plan.Pod, bool) {
	for _, z := range b.zoneStates {
		if pod, exists := z.podOrOrphan(name); exists {
			return z, pod, true
		}
	}
	return nil, plan.Pod{}, false
}

func (b *groupState) eviction(z *zoneState, pod plan.Pod) eviction {
	replicas := b.leastReplicas(z.Zone)
	e := eviction{zone: z, pod: pod, limit: z.MaxUnavailable.Of(replicas)}
	e.budget, e.covered, e.unclear = b.disruptionBudget(pod)
	if b.Unread {
		e.unclear = plan.Refusal{Code: reason.CacheNotSynced}
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

// leastReplicas returns the replicas that percentages of a budget refer to. If the hold records
// a downscale of the zone, these are the replicas that remain: the cached zone may not show the
// downscale yet.
func (b *groupState) leastReplicas(z *Zone) int {
	if d := b.Hold.Downscale; d.Zone == z.Name && d.UID == z.UID {
		return min(z.Replicas, d.To)
	}
	return z.Replicas
}

// down reports whether the eviction disrupts nothing, so that no guard applies. For pods that
// run and are not Ready, the policy of the budget decides.
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

func (b *groupState) mayEvict(e eviction) plan.Refusal {
	if e.budget.ByPartition() {
		return firstObjection(b, e, evictGuards, partitionGuards)
	}
	return firstObjection(b, e, evictGuards, zoneGuards)
}

// inTheWay reports whether the pod is an orphan that has the name of a pod which the spec asks for.
func (e eviction) inTheWay() bool { return e.orphan && e.zone.Owns(e.pod.Ordinal) }

func budgetUnknown(_ *groupState, e eviction) plan.Refusal { return e.unclear }

func evictionsBarred(_ *groupState, e eviction) plan.Refusal {
	switch {
	case e.limit == 0:
		return plan.Refusal{Code: reason.EvictionsNotAllowed, Detail: e.budget.Name}
	case e.budget.ByPartition() && e.partition == "":
		return plan.Refusal{Code: reason.PartitionUnknown, Pod: e.pod.Name, Detail: e.budget.Name}
	}
	return plan.Refusal{}
}

// alreadyRecorded objects to a pod that lockstep itself deletes, and to a pod whose eviction was
// granted, because the eviction may be under way. An unbound eviction may be under way for any
// pod that has the name by now. Once the grant has lapsed, other operations have their turn,
// and then the eviction can be granted again.
func alreadyRecorded(b *groupState, e eviction) plan.Refusal {
	switch {
	case !e.hasIntent:
		return plan.Refusal{}
	case e.intent.Unbound:
	case e.intent.Succeeded(e.pod.UID, e.pod.Version):
		return plan.Refusal{}
	case !e.intent.Granted() || e.intent.UID != e.pod.UID:
		return plan.Refusal{Code: reason.PodDisruptionPending, Pod: e.pod.Name}
	}
	return plan.Refusal{Code: reason.EvictionInProgress, Pod: e.pod.Name, Until: b.grantEnds(e.intent)}
}

func evictionHeldElsewhere(b *groupState, e eviction) plan.Refusal {
	return firstOf(b.downscaleElsewhere(e.zone.Name), forEviction(heldElsewhere)(b, e))
}

// othersBeforeEviction objects while an operation waits that comes before the eviction,
// unless the eviction may overtake it.
func othersBeforeEviction(b *groupState, e eviction) plan.Refusal {
	place := b.placeOf(e)
	if b.mayOvertake[place.Zone] && b.couldHaveItsTurn(e) {
		return plan.Refusal{}
	}
	return b.waitingBefore(earlier(place.Since, b.longAway[plan.EvictionOperation.For(place.Zone)]), place.Zone)
}

// beforeEviction returns which operation of another zone has waited longer than the eviction.
func (b *groupState) beforeEviction(e eviction) plan.Refusal {
	place := b.placeOf(e)
	return b.waitingBefore(place.Since, place.Zone)
}

// longAbsence is how long a pod is away before it may be waiting for the rest of its node's
// drain, because it can start nowhere else.
const longAbsence = 2 * time.Minute

// podsAbsentForLong is about evictions that join a recorded pod that does not come back. It returns
// since when another operation must have waited to go before them. No other operation can
// continue before that pod is back, and the pod may wait for these evictions, even if it
// overtook. The result is as long before the eviction of the pod as the pod is away by now, so
// that an operation must have waited twice as long. Each pod that leaves starts from zero. So
// an operation that waits longer than pods stay away has its turn between them, and chains of
// drains never block it forever.
func (b *groupState) podsAbsentForLong() map[plan.Holder]time.Time {
	var before map[plan.Holder]time.Time
	for _, intent := range b.activeIntents {
		away := b.Now.Sub(intent.Since)
		if away < longAbsence {
			continue
		}
		if pod, present := b.Pod(intent.Pod); present && pod.Up() {
			continue
		}
		if before == nil {
			before = map[plan.Holder]time.Time{}
		}
		joining := intent.Evicts()
		before[joining] = earlier(before[joining], intent.Since.Add(-away))
	}
	return before
}

// couldHaveItsTurn reports whether an eviction would be granted at its turn, as far as its own
// zone or partition decides. No operation waits for an eviction that would be refused.
func (b *groupState) couldHaveItsTurn(e eviction) bool {
	if e.budget.ByPartition() {
		return firstOf(partitionUnavailable(b, e), onlyZoneSpent(b, e)).None()
	}
	return forEviction(budgetSpent)(b, e).None()
}

// placeOf returns the place of an eviction in the queue, or the place that it would get.
func (b *groupState) placeOf(e eviction) plan.Waiting {
	zone := e.zone.Name
	if e.budget.ByPartition() {
		zone = plan.Partitions
	}
	return plan.Waiting{Operation: plan.EvictionOperation, Zone: zone, Since: b.since(plan.EvictionOperation, zone), LastSeen: b.Now}
}
