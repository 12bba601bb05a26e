package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// groupState is a snapshot with everything counted that guards need. Zones have the order of
// the snapshot.
type groupState struct {
	Snapshot
	zoneStates    []*zoneState
	activeIntents map[string]plan.Intent    // intents that count, by pod
	intentCount   int                       // how many these are, including the ones that this plan adds
	longAway      map[plan.Holder]time.Time // see podsAbsentForLong
	mayOvertake   map[string]bool           // see zonesThatMayOvertake
	ended         bool                      // the recorded downscale has ended
	lowering      Downscale                 // the downscale of lockstep's own that begins now; usually none
	turn          string                    // the zone whose pods a rollout may replace now; see chooseTurn
	covers        coverage

	partitions map[string]partitionIndex // by budget, counted at the first call
}

// zoneState is everything that matters about one zone of the snapshot.
type zoneState struct {
	*Zone
	budget             int
	down               int          // pods that the spec asks for and that are missing, not available or recorded
	missing            int          // of these, the ones that do not exist
	surplusDown        int          // pods beyond the spec that are not available, or recorded whether they exist or not
	unavailableBecause plan.Refusal // why the zone is unavailable; none: it is available
	culprit            plan.Refusal // the objection to a pod that is down which says most
	surplus            plan.Refusal // a pod beyond the spec
	stableAt           time.Time    // when the next Ready pod becomes available
	candidates         []candidate
	resolution         resolution
	wish               wish         // the replicas that the zone should have
	contest            Contest      // the contest after that wish is observed
	scaleObjection     plan.Refusal // why the zone does not get these replicas now
}

// candidate is an outdated pod that could be replaced now.
type candidate struct {
	plan.Pod
	alreadyDown   bool // it counts as down: it is not available, or recorded
	hasIntent     bool // an intent for a pod of this name counts
	intentPending bool // an intent for exactly this pod at this version exists
	overtook      bool // the intent overtook another operation
}

func (z *zoneState) available() bool { return z.unavailableBecause.None() }

func byPod(a, b plan.Intent) int { return plan.CompareNatural(a.Pod, b.Pod) }

func newGroupState(s Snapshot) *groupState {
	b := &groupState{Snapshot: s, covers: coverageOf(s.Budgets, s.Zones)}
	b.covers.unread = s.Unread
	if len(s.Hold.Intents) > 0 {
		b.Hold.Intents = slices.Clone(s.Hold.Intents)
		slices.SortFunc(b.Hold.Intents, byPod)
		b.activeIntents = make(map[string]plan.Intent, len(s.Hold.Intents))
	}
	for _, intent := range b.Hold.Intents {
		if s.IntentStatus(intent).Counts() && !b.outweighed(intent) {
			b.activeIntents[intent.Pod] = intent
		}
	}
	b.intentCount = len(b.activeIntents)
	b.longAway = b.podsAbsentForLong()
	b.zoneStates = make([]*zoneState, len(s.Zones))
	for i := range s.Zones {
		b.zoneStates[i] = b.zoneStateOf(&s.Zones[i])
	}
	b.mayOvertake = b.zonesThatMayOvertake()
	b.ended = !b.Hold.Downscale.None() && b.over(b.Hold.Downscale)
	for _, z := range b.zoneStates {
		shrinks := b.shrinkage(z.Zone)
		z.unavailableBecause, z.stableAt = firstOf(z.unavailableBecause, shrinks), earlier(z.stableAt, shrinks.Until)
	}
	b.turn = b.chooseTurn()
	b.scale()
	return b
}

func (b *groupState) zoneState(name string) (*zoneState, bool) {
	for _, z := range b.zoneStates {
		if z.Name == name {
			return z, true
		}
	}
	return &zoneState{Zone: &Zone{}}, false
}

// outweighed reports whether another intent for the same name takes precedence: an intent for
// the UID of the existing pod, and among equals a granted eviction, which another client may
// carry out.
func (b *groupState) outweighed(i plan.Intent) bool {
	other, recorded := b.activeIntents[i.Pod]
	if !recorded {
		return false
	}
	pod, _ := b.Pod(i.Pod)
	if same := other.UID == pod.UID; same != (i.UID == pod.UID) {
		return same
	}
	return other.Granted()
}

// zoneStateOf counts one zone. A pod that is down and recorded counts once. The cost is proportional
// to the pods that exist.
func (b *groupState) zoneStateOf(zone *Zone) *zoneState {
	z := &zoneState{Zone: zone, budget: b.covers.budgetOf(zone)}
	present, firstGap := 0, zone.Start
	for _, pod := range zone.Pods {
		intent, recorded := b.activeIntents[pod.Name]
		objection := b.unavailable(zone, pod, intent, recorded)
		if !zone.Owns(pod.Ordinal) {
			z.surplus = plan.Refusal{Code: reason.SurplusPods, Pod: pod.Name}
			if !objection.None() {
				z.surplusDown++
			}
			continue
		}
		present++
		if pod.Ordinal == firstGap {
			firstGap++
		}
		if !objection.None() {
			z.down++
			z.blame(objection)
		}
		if c, ok := b.candidate(zone, pod, intent, recorded); ok {
			c.alreadyDown = !objection.None()
			z.candidates = append(z.candidates, c)
		}
	}
	if z.missing = max(0, zone.Replicas-present); z.missing > 0 {
		z.down += z.missing
		name := plan.PodName(zone.Name, firstGap)
		z.blame(plan.Refusal{Code: reason.PodMissing, Pod: name, Detail: zone.inTheWay(name)})
	}
	z.surplusDown += len(b.absentSurplus(zone))
	z.unavailableBecause = firstOf(lifecycle(zone), z.culprit, z.surplus, b.leftover(zone))
	slices.SortStableFunc(z.candidates, cheapestFirst)
	return z
}

// absentSurplus returns the recorded pods beyond the spec of a zone that the snapshot does not
// show. The spec may be older than their absence, so they count as down until their intents
// end.
func (b *groupState) absentSurplus(zone *Zone) []string {
	var names []string
	for name, intent := range b.activeIntents {
		if _, present := zone.pod(name); intent.Zone == zone.Name && !present && !zone.Wants(name) {
			names = append(names, name)
		}
	}
	return names
}

// blame keeps the objection that says most: the first one to a failing pod, otherwise the first
// one.
func (z *zoneState) blame(r plan.Refusal) {
	z.stableAt = earlier(z.stableAt, r.Until)
	if z.culprit.None() || (r.Code == reason.PodFailing && z.culprit.Code != reason.PodFailing) {
		z.culprit = r
	}
}

// unavailable returns why a pod counts as down.
func (b *groupState) unavailable(zone *Zone, pod plan.Pod, intent plan.Intent, recorded bool) plan.Refusal {
	switch pod.Phase {
	case plan.Terminating:
		return plan.Refusal{Code: reason.PodTerminating, Pod: pod.Name}
	case plan.Failing:
		return plan.Refusal{Code: reason.PodFailing, Pod: pod.Name, Detail: pod.Why}
	case plan.Starting:
		return plan.Refusal{Code: reason.PodStarting, Pod: pod.Name}
	case plan.Ready:
	}
	if !pod.Available(zone.MinReady, b.Now) {
		return plan.Refusal{Code: reason.PodNotYetAvailable, Pod: pod.Name, Until: pod.StableAt(zone.MinReady)}
	}
	if recorded {
		return plan.Refusal{Code: reason.PodDisruptionPending, Pod: pod.Name, Until: b.grantEnds(intent)}
	}
	return plan.Refusal{}
}

// candidate reports whether a pod could be replaced now: it is outdated and not terminating,
// and this view of it is not older than its intent. A pod that is up and whose eviction was
// granted is no candidate: the eviction deletes it, or it stays until the grant has ended.
func (b *groupState) candidate(zone *Zone, pod plan.Pod, intent plan.Intent, recorded bool) (candidate, bool) {
	if !zone.Outdated(pod) || pod.Phase == plan.Terminating || !b.Key.Rolled() {
		return candidate{}, false
	}
	granted := recorded && intent.MayTake(pod.UID, pod.Version)
	if recorded && pod.Version < intent.Version || granted && pod.Up() {
		return candidate{}, false
	}
	pending := recorded && b.IntentStatus(intent) == plan.Pending
	return candidate{Pod: pod, hasIntent: recorded, intentPending: pending, overtook: recorded && intent.Overtook}, true
}

// cheapestFirst orders candidates: failing pods, other pods that are not up, pods that count as
// down, then the rest; equals by ascending ordinal.
func cheapestFirst(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Ordinal, b.Ordinal))
}

func (c candidate) rank() int {
	switch {
	case c.Phase == plan.Failing:
		return 0
	case !c.Up():
		return 1
	case c.alreadyDown:
		return 2
	}
	return 3
}

// lifecycle returns why a zone cannot be judged at all.
func lifecycle(z *Zone) plan.Refusal {
	switch {
	case z.Deleting:
		return plan.Refusal{Code: reason.ZoneDeleting}
	case !z.Observed:
		return plan.Refusal{Code: reason.StatusBehind}
	}
	return plan.Refusal{}
}

// leftover returns an intent of the zone that counts. It matters if no pod of the spec has that
// intent: a pod beyond a lowered spec.replicas may still exist.
func (b *groupState) leftover(zone *Zone) plan.Refusal {
	for _, intent := range b.Hold.Intents {
		if _, counts := b.activeIntents[intent.Pod]; counts && intent.Zone == zone.Name {
			return plan.Refusal{Code: reason.PodDisruptionPending, Pod: intent.Pod}
		}
	}
	return plan.Refusal{}
}

// earlier returns the earlier of two times; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// ahead returns a time in the future as it is, and otherwise the zero time.
func (b *groupState) ahead(t time.Time) time.Time {
	if t.After(b.Now) {
		return t
	}
	return time.Time{}
}

func firstOf(refusals ...plan.Refusal) plan.Refusal {
	for _, r := range refusals {
		if !r.None() {
			return r
		}
	}
	return plan.Refusal{}
}

// chooseTurn returns the one zone whose pods a rollout may replace: the zone whose unfinished
// rollout has the hold; otherwise the first zone that has outdated pods and is unavailable,
// unless evictions hold it; otherwise the first zone with outdated pods. Evictions give a zone
// no priority: the zone that has the turn keeps the place of the rollout in the queue.
// Otherwise, drains of two other zones would take the turn from each other.
func (b *groupState) chooseTurn() string {
	first := ""
	for _, z := range b.zoneStates {
		if !b.canRoll(z.Zone) {
			continue
		}
		unfinished := len(z.candidates) > 0 || !z.available()
		if unfinished && b.Hold.Holder == plan.RolloutOperation.For(z.Name) {
			return z.Name
		}
		if len(z.candidates) > 0 && first == "" {
			first = z.Name
		}
	}
	for _, z := range b.zoneStates {
		evicted := b.Hold.Holder == plan.EvictionOperation.For(z.Name) || b.Hold.Holder == plan.EvictionOperation.For(plan.Partitions)
		if len(z.candidates) > 0 && b.canRoll(z.Zone) && !z.available() && !evicted {
			return z.Name
		}
	}
	return first
}

// canRoll reports whether a rollout of the zone can continue at all.
func (b *groupState) canRoll(z *Zone) bool { return z.OnDelete && !z.PausedAt(b.Now) && !z.Deleting }
