package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// board is a snapshot with everything counted that guards ask about. Zones
// stand in the order of the snapshot.
type groupState struct {
	Snapshot
	zoneStates    []*zoneState
	activeIntents map[string]Intent    // intents that still count, by pod
	intentCount   int                  // how many those are, with the ones this plan adds
	longAway      map[Holder]time.Time // see podsLongAway
	mayOvertake   map[string]bool      // see zonesThatMayOvertake
	ended         bool                 // the downscale that the hold notes has come to its end
	lowering      Downscale            // of its own that lockstep begins now; usually none
	turn          string               // the zone whose pods may be taken down; see chooseTurn
	covers        coverage

	partitions map[string]partitionIndex // by budget, as far as somebody asked
}

// standing is what matters about one zone of the snapshot.
type zoneState struct {
	*Zone
	budget             int
	down               int       // pods the spec asks for that are missing, not available or noted
	missing            int       // of those, the ones that do not exist
	surplusDown        int       // pods beyond the spec that are not available, or noted whether they exist or not
	unavailableBecause Refusal   // what keeps the zone from being whole; none: it is whole
	culprit            Refusal   // the pod that is down and says most
	surplus            Refusal   // a pod beyond what the spec asks for
	stableAt           time.Time // when the next pod that is Ready becomes available
	candidates         []candidate
	wishing            wishing
	wish               wish    // the replicas it should have
	contest            Contest // as it is with that wish
	scaleObjection     Refusal // why it does not get them now
}

// candidate is an outdated pod that could be replaced now.
type candidate struct {
	Pod
	alreadyDown   bool // among those that are down: not available, or noted
	hasIntent     bool // an intent for a pod of this name counts
	intentPending bool // an intent for exactly this pod at this version exists
	overtook      bool // so says that intent
}

func (z *zoneState) available() bool { return z.unavailableBecause.None() }

func byPod(a, b Intent) int { return CompareNatural(a.Pod, b.Pod) }

func newGroupState(s Snapshot) *groupState {
	b := &groupState{Snapshot: s, covers: coverageOf(s.Budgets, s.Zones)}
	b.covers.unread = s.Unread
	if len(s.Hold.Intents) > 0 {
		b.Hold.Intents = slices.Clone(s.Hold.Intents)
		slices.SortFunc(b.Hold.Intents, byPod)
		b.activeIntents = make(map[string]Intent, len(s.Hold.Intents))
	}
	for _, intent := range b.Hold.Intents {
		if s.IntentStatus(intent).Counts() && !b.outweighed(intent) {
			b.activeIntents[intent.Pod] = intent
		}
	}
	b.intentCount = len(b.activeIntents)
	b.longAway = b.podsLongAway()
	b.zoneStates = make([]*zoneState, len(s.Zones))
	for i := range s.Zones {
		b.zoneStates[i] = b.survey(&s.Zones[i])
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

// outweighed reports whether another intent for the same name says more: one for the very
// pod that is there, and of these a granted one, which somebody else may carry out.
func (b *groupState) outweighed(i Intent) bool {
	other, noted := b.activeIntents[i.Pod]
	if !noted {
		return false
	}
	pod, _ := b.Pod(i.Pod)
	if same := other.UID == pod.UID; same != (i.UID == pod.UID) {
		return same
	}
	return other.Granted()
}

// survey counts one zone. Pods that are down and pods that are noted are
// counted once per ordinal; the work is proportional to pods that exist.
func (b *groupState) survey(zone *Zone) *zoneState {
	z := &zoneState{Zone: zone, budget: b.covers.budgetOf(zone)}
	present, firstGap := 0, zone.Start
	for _, pod := range zone.Pods {
		intent, noted := b.activeIntents[pod.Name]
		objection := b.unavailable(zone, pod, intent, noted)
		if !zone.Owns(pod.Ordinal) {
			z.surplus = Refusal{Code: reason.SurplusPods, Pod: pod.Name}
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
		if c, ok := b.candidate(zone, pod, intent, noted); ok {
			c.alreadyDown = !objection.None()
			z.candidates = append(z.candidates, c)
		}
	}
	if z.missing = max(0, zone.Replicas-present); z.missing > 0 {
		z.down += z.missing
		name := PodName(zone.Name, firstGap)
		z.blame(Refusal{Code: reason.PodMissing, Pod: name, Detail: zone.inTheWay(name)})
	}
	z.surplusDown += len(b.absentSurplus(zone))
	z.unavailableBecause = firstOf(lifecycle(zone), z.culprit, z.surplus, b.leftover(zone))
	slices.SortStableFunc(z.candidates, cheapestFirst)
	return z
}

// absentSurplus returns the noted pods beyond the spec of a zone that it does not show. The
// spec may be older than their absence, so they count as down until their intents end.
func (b *groupState) absentSurplus(zone *Zone) []string {
	var names []string
	for name, intent := range b.activeIntents {
		if _, present := zone.pod(name); intent.Zone == zone.Name && !present && !zone.Wants(name) {
			names = append(names, name)
		}
	}
	return names
}

// blame keeps the objection that says most: a failing pod before all others,
// then the first one found.
func (z *zoneState) blame(r Refusal) {
	z.stableAt = earlier(z.stableAt, r.Until)
	if z.culprit.None() || (r.Code == reason.PodFailing && z.culprit.Code != reason.PodFailing) {
		z.culprit = r
	}
}

// unavailable says why a pod must be counted as down.
func (b *groupState) unavailable(zone *Zone, pod Pod, intent Intent, noted bool) Refusal {
	switch pod.Phase {
	case Leaving:
		return Refusal{Code: reason.PodTerminating, Pod: pod.Name}
	case Failing:
		return Refusal{Code: reason.PodFailing, Pod: pod.Name, Detail: pod.Why}
	case Starting:
		return Refusal{Code: reason.PodStarting, Pod: pod.Name}
	case Ready:
	}
	if !pod.Available(zone.MinReady, b.Now) {
		return Refusal{Code: reason.PodNotYetAvailable, Pod: pod.Name, Until: pod.StableAt(zone.MinReady)}
	}
	if noted {
		return Refusal{Code: reason.PodDisruptionPending, Pod: pod.Name, Until: b.grantEnds(intent)}
	}
	return Refusal{}
}

// candidate reports whether a pod could be replaced now: outdated, not leaving,
// and not older in this view than what is noted about it. One that serves and whose
// eviction was granted goes by that, or stays until nobody is coming any more.
func (b *groupState) candidate(zone *Zone, pod Pod, intent Intent, noted bool) (candidate, bool) {
	if !zone.Outdated(pod) || pod.Phase == Leaving || !b.Key.Rolled() {
		return candidate{}, false
	}
	granted := noted && intent.MayTake(pod.UID, pod.Version)
	if noted && pod.Version < intent.Version || granted && pod.Up() {
		return candidate{}, false
	}
	pending := noted && b.IntentStatus(intent) == Pending
	return candidate{Pod: pod, hasIntent: noted, intentPending: pending, overtook: noted && intent.Overtook}, true
}

// cheapestFirst orders candidates: what is down already, then what does not
// count as available, then the rest; equals by ascending ordinal.
func cheapestFirst(a, b candidate) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Ordinal, b.Ordinal))
}

func (c candidate) rank() int {
	switch {
	case c.Phase == Failing:
		return 0
	case !c.Up():
		return 1
	case c.alreadyDown:
		return 2
	}
	return 3
}

// lifecycle says what keeps a zone from being judged at all.
func lifecycle(z *Zone) Refusal {
	switch {
	case z.Deleting:
		return Refusal{Code: reason.ZoneDeleting}
	case !z.Observed:
		return Refusal{Code: reason.StatusBehind}
	}
	return Refusal{}
}

// leftover finds an intent of this zone that no pod of the spec answers for,
// such as that of a pod beyond a reduced spec.replicas which is not gone yet.
func (b *groupState) leftover(zone *Zone) Refusal {
	for _, intent := range b.Hold.Intents {
		if _, counts := b.activeIntents[intent.Pod]; counts && intent.Zone == zone.Name {
			return Refusal{Code: reason.PodDisruptionPending, Pod: intent.Pod}
		}
	}
	return Refusal{}
}

// earlier returns the earlier of two times; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// ahead returns a time that has not come yet, or else the zero time.
func (b *groupState) ahead(t time.Time) time.Time {
	if t.After(b.Now) {
		return t
	}
	return time.Time{}
}

func firstOf(refusals ...Refusal) Refusal {
	for _, r := range refusals {
		if !r.None() {
			return r
		}
	}
	return Refusal{}
}

// chooseTurn names the one zone whose pods may be taken down: the one whose unfinished
// rollout has the hold; else the first that has outdated pods and is not whole, unless
// evictions hold it; else the first with outdated pods. Evictions give no priority: the
// zone at turn keeps the place of the rollout in the queue, and drains of two others would
// take it from each other.
func (b *groupState) chooseTurn() string {
	first := ""
	for _, z := range b.zoneStates {
		if !b.canRoll(z.Zone) {
			continue
		}
		unfinished := len(z.candidates) > 0 || !z.available()
		if unfinished && b.Hold.Holder == RolloutOperation.For(z.Name) {
			return z.Name
		}
		if len(z.candidates) > 0 && first == "" {
			first = z.Name
		}
	}
	for _, z := range b.zoneStates {
		evicted := b.Hold.Holder == EvictionOperation.For(z.Name) || b.Hold.Holder == EvictionOperation.For(Partitions)
		if len(z.candidates) > 0 && b.canRoll(z.Zone) && !z.available() && !evicted {
			return z.Name
		}
	}
	return first
}

// canRoll reports whether a rollout of the zone can go on at all.
func (b *groupState) canRoll(z *Zone) bool { return z.OnDelete && !z.PausedAt(b.Now) && !z.Deleting }
