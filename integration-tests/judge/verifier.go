package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Verify replays the events and returns every violation of a guarantee. It verifies each namespace
// that events are about separately. Operators with a list of namespaces are also verified in all other
// namespaces. Requests must include all requests in the namespaces of the events.
func Verify(events []Event, requests []Request, rules Rules) Verdict {
	if rules.Grace == 0 {
		rules.Grace = DefaultGrace
	}
	eventsOf, requestsOf := map[string][]Event{}, map[string][]Request{}
	for _, e := range events {
		eventsOf[e.Namespace] = append(eventsOf[e.Namespace], e)
	}
	for _, r := range requests {
		requestsOf[r.Namespace] = append(requestsOf[r.Namespace], r)
	}
	var all Verdict
	for _, namespace := range slices.Sorted(maps.Keys(eventsOf)) {
		v := newVerifier(namespace, requestsOf[namespace], rules)
		v.verify(eventsOf[namespace])
		all.Disruptions = append(all.Disruptions, v.disruptions...)
		all.PoolDisruptions = append(all.PoolDisruptions, v.poolDisruptions...)
		all.Violations = append(all.Violations, v.violations...)
		all.Unexplained = append(all.Unexplained, v.unexplained...)
	}
	for _, namespace := range slices.Sorted(maps.Keys(requestsOf)) {
		if _, watched := eventsOf[namespace]; !watched {
			all.Violations = append(all.Violations, newVerifier(namespace, requestsOf[namespace], rules).verifyUnwatched()...)
		}
	}
	return all
}

// verifyUnwatched verifies writes to a namespace without events. It skips operators that select
// namespaces by label, because the labels are unknown.
func (v *verifier) verifyUnwatched() []Violation {
	unlisted := func(o Operator) bool { return len(o.Namespaces) == 0 }
	v.Operators = slices.DeleteFunc(slices.Clone(v.Operators), unlisted)
	v.verifyWrites()
	return v.violations
}

// verifier verifies one namespace.
type verifier struct {
	Rules
	namespace         string
	requests          []Request
	terminations      map[string][]Request      // deletions and evictions that may have succeeded, by pod name
	pods              map[string]*Pod           // by name
	zones             map[string][]zoneState    // all states of each zone, by name
	setNames          map[string]string         // names of StatefulSets, by UID
	owners            map[string]string         // UID of the current or last controlling StatefulSet, by the pod's UID
	holds             map[string]*Hold          // by group
	writes            map[uint64]Request        // writes of operators, by the resulting resourceVersion
	acquired          map[string]acquisition    // when the current holder took the hold, by group
	intentVersions    map[string]uint64         // by the pod's UID: version of the Lease that first contained its intent
	downscaleVersions map[string]uint64         // by group: version of the Lease that first contained the current downscale intent
	leaseVersions     map[string][]leaseVersion // by group
	namespaceStates   []namespaceVersion
	outages           map[podSlot]outage
	wantedSince       map[podSlot]time.Time // since when the zone should have a pod in this slot
	downscales        map[string]*downscale // the last downscale of each zone that terminated a ready pod, by zone name
	firstSeen         map[string]time.Time  // when the first event of a pod arrived, by UID
	terminated        map[string]bool       // UIDs of pods whose termination is already verified
	pools             pools
	disruptions       []Disruption
	poolDisruptions   []Disruption
	violations        []Violation

	unexplained []string
}

// acquisition is when and by which user agent a hold was taken. Zero fields are unknown.
type acquisition struct {
	at time.Time
	by string
}

// leaseVersion is the user agent that wrote a version of a Lease; empty: unknown.
type leaseVersion struct {
	version uint64
	agent   string
}

// podSlot is the position of a pod: a zone and an ordinal.
type podSlot struct {
	zone    string // its name
	ordinal int
}

// outage is a period in which a slot has no available pod.
type outage struct {
	since  time.Time
	source resource // the resource whose event began the outage
	disruptionCause
	availableAt   time.Time // when the pod will have been ready for MinReady; zero: the pod is not ready
	intentVersion uint64    // version of the Lease that first contained the pod's intent; 0: no intent

	// previous is the outage that would have ended at its availableAt if the pod had not become
	// unready again. An operator that cannot know of the new outage is still bound by the previous
	// one.
	previous *outage
}

// disruptionCause is the kind of a disruption and the group in which it was allowed.
type disruptionCause struct {
	kind  disruptionKind
	group string
}

// disruptionKind is how a pod was disrupted.
type disruptionKind int

const (
	noDisruption disruptionKind = iota
	deleted                     // by an operator
	evicted                     // by any client, if the eviction webhook is in use
)

func (k disruptionKind) String() string { return [...]string{"left", "deleted", "evicted"}[k] }

// isInterrupted reports whether the pod became unready, or ready at a later time, before it was
// available.
func (o outage) isInterrupted(availableAt time.Time) bool {
	return !o.availableAt.IsZero() && (availableAt.IsZero() || availableAt.After(o.availableAt))
}

func (o outage) isOver(now time.Time) bool {
	return !o.availableAt.IsZero() && !o.availableAt.After(now)
}

func newVerifier(namespace string, requests []Request, rules Rules) *verifier {
	rules.Delays = slices.DeleteFunc(slices.Clone(rules.Delays), func(d Delay) bool { return d.wasRefused(requests) })
	v := &verifier{
		Rules: rules, namespace: namespace, requests: requests,
		terminations: map[string][]Request{},
		pods:         map[string]*Pod{}, zones: map[string][]zoneState{}, setNames: map[string]string{}, owners: map[string]string{}, holds: map[string]*Hold{},
		writes: map[uint64]Request{}, acquired: map[string]acquisition{}, intentVersions: map[string]uint64{}, downscaleVersions: map[string]uint64{}, leaseVersions: map[string][]leaseVersion{},
		outages: map[podSlot]outage{}, wantedSince: map[podSlot]time.Time{}, downscales: map[string]*downscale{}, firstSeen: map[string]time.Time{}, terminated: map[string]bool{}, pools: newPools(),
	}
	for _, r := range requests {
		_, byOperator := v.operator(r.User)
		if byOperator && r.Writes() && r.succeeded() && r.Version > 0 {
			v.writes[r.Version] = r
		}
		if d := r.serverDelay(); byOperator && !v.Strict && d.To.Sub(d.From) > v.Grace {
			v.Delays = append(v.Delays, d)
		}
		if (r.deletesPod() || r.evictsPod()) && r.mayHaveSucceeded() {
			v.terminations[r.Name] = append(v.terminations[r.Name], r)
		}
	}
	return v
}

func (v *verifier) verify(events []Event) {
	for _, f := range slices.SortedStableFunc(slices.Values(events), func(a, b Event) int { return cmp.Compare(a.Version, b.Version) }) {
		v.apply(f)
	}
	v.verifyLastPlaces(events)
	v.verifyDeleteRequests()
	v.verifyWrites()
}

func (v *verifier) report(guarantee int, z *Zone, format string, args ...any) {
	violation := Violation{Guarantee: guarantee, Namespace: v.namespace, Text: fmt.Sprintf(format, args...)}
	if z != nil {
		violation.Group, violation.Zone = z.Group, z.Name
	}
	v.violations = append(v.violations, violation)
}

// apply adds an event. A termination is verified against the state before the event.
func (v *verifier) apply(e Event) {
	switch {
	case e.Hold != nil:
		v.applyHold(e)
	case e.PoolHold != nil:
		v.applyPoolHold(e)
	case e.Pool != nil:
		v.applyPool(e)
	case e.Claim != nil:
		v.applyClaim(e)
	case e.NamespaceState != nil:
		v.namespaceStates = append(v.namespaceStates, namespaceVersion{e.At, e.NamespaceState})
	case e.Zone != nil:
		v.applyZone(e)
	case e.Pod != nil:
		v.applyPod(e)
	}
}

// applyHold records a Lease. A holder of a rollout or an eviction made a live read before it took the
// hold.
func (v *verifier) applyHold(e Event) {
	group := e.Hold.Group
	write := v.writes[e.Version]
	v.leaseVersions[group] = append(v.leaseVersions[group], leaseVersion{e.Version, write.Agent})
	if previous := v.holds[group]; previous == nil || previous.Deleted || previous.Holder != e.Hold.Holder {
		v.acquired[group] = acquisition{e.At, write.Agent}
		if !write.At.IsZero() {
			v.acquired[group] = acquisition{write.At, write.Agent}
		}
	}
	if previous := v.holds[group]; previous == nil || previous.Downscale != e.Hold.Downscale {
		v.downscaleVersions[group] = e.Version
	}
	for _, intent := range e.Hold.Intents {
		if previous := v.holds[group]; previous == nil || !slices.ContainsFunc(previous.Intents, func(earlier PodIntent) bool { return earlier.UID == intent.UID }) {
			v.intentVersions[intent.UID] = e.Version
		}
	}
	v.holds[group] = e.Hold
	for name := range v.zones {
		v.endFormerMembership(name, e.At)
	}
}

// holderPrefixes are the prefixes of the holder identities that lockstep uses.
var holderPrefixes = []string{"rollout/", "downscale/", "eviction/"}

// liveReadAt returns when the live read before the current hold was made. It returns the zero time if
// no operation holds the group, or if the disruption was decided before that read. The operator that
// took the hold read before it sent the write; any other operator reads when it sees the write.
func (v *verifier) liveReadAt(group string, k knowledge) time.Time {
	h := v.holds[group]
	if h == nil || h.Deleted || !slices.ContainsFunc(holderPrefixes, func(prefix string) bool { return strings.HasPrefix(h.Holder, prefix) }) {
		return time.Time{}
	}
	acquired := v.acquired[group]
	at := acquired.at
	if isBy(acquired.by, k.agent) {
		at = v.decidedAt(at, acquired.by, group, isLeaseWriteOrAbandoned, isPodPatch, isLiveRead)
	}
	if at.After(k.decidedAt) {
		return time.Time{}
	}
	return at
}

func (v *verifier) applyPod(e Event) {
	p := e.Pod
	if v.firstSeen[p.UID].IsZero() {
		v.firstSeen[p.UID] = e.At
	}
	if v.setNames[p.Owner] != "" {
		v.owners[p.UID] = p.Owner
	}
	zone, ordinal, _ := ordinalOf(p.Name)
	v.endFormerMembership(zone, e.At)
	cause := disruptionCause{}
	if (p.Terminating || p.Deleted) && !v.terminated[p.UID] {
		v.terminated[p.UID] = true
		cause = v.verifyTermination(e)
	}
	v.applyPodOfPool(e, cause.kind != noDisruption)
	v.forgetTerminated(p)
	if known := v.pods[p.Name]; p.Deleted && known != nil && known.UID != p.UID {
		return // a late event of an earlier pod with this name
	}
	v.pods[p.Name] = p
	if states := v.zones[zone]; len(states) > 0 && last(states).hasPods() {
		if v.setName(p) != zone {
			cause = disruptionCause{}
		}
		v.updateOutage(last(states).Zone, ordinal, e.At, pods, cause)
	}
	v.endFormerMembership(zone, e.At)
}

// updateOutages updates the outages of a zone after its StatefulSet changed. If the StatefulSet was
// deleted, its outages continue while its pods exist.
func (v *verifier) updateOutages(z *Zone, now time.Time) {
	isBeyond := func(slot podSlot) bool { return slot.zone == z.Name && !z.includes(slot.ordinal) }
	maps.DeleteFunc(v.outages, func(slot podSlot, _ outage) bool { return isBeyond(slot) })
	maps.DeleteFunc(v.wantedSince, func(slot podSlot, _ time.Time) bool { return isBeyond(slot) })
	for n := range z.Replicas {
		slot := podSlot{z.Name, z.Start + n}
		if _, before := v.wantedSince[slot]; !before {
			v.wantedSince[slot] = now
		}
		v.updateOutage(z, slot.ordinal, now, statefulSets, disruptionCause{})
	}
}

// updateOutage updates the outage of one slot after an event of the resource source. If the event
// terminated the pod of the slot, cause is how.
func (v *verifier) updateOutage(z *Zone, ordinal int, now time.Time, of resource, cause disruptionCause) {
	if !z.includes(ordinal) {
		return
	}
	slot, p := podSlot{z.Name, ordinal}, v.pods[podName(z.Name, ordinal)]
	if p != nil && p.Owner != z.UID && !z.adopts(p) && !(z.Deleted && v.setName(p) == z.Name) {
		p = nil
	}
	var availableAt time.Time
	if p.Serving() {
		availableAt = p.ReadySince.Add(z.MinReady)
		if z.MinReady == 0 || !availableAt.After(now) {
			delete(v.outages, slot)
			return
		}
	}
	out, known := v.outages[slot]
	if before := out; !known || before.isOver(now) || before.isInterrupted(availableAt) {
		out = outage{since: now, source: of, disruptionCause: cause}
		if p != nil {
			out.intentVersion = v.intentVersions[p.UID]
		}
		if before.isInterrupted(availableAt) {
			out.previous = &before
		}
	}
	out.availableAt = availableAt
	v.outages[slot] = out
}

// mustKnowOutage reports whether the operator must know of an outage. It must know at once if the
// disruption that caused the outage was allowed in the same group.
func (v *verifier) mustKnowOutage(slot podSlot, out outage, k knowledge) bool {
	switch {
	case out.isOver(k.now):
		return false
	case out.kind != noDisruption && out.group == k.group, v.isVisible(slot, out, k):
		return true
	}
	return out.previous != nil && v.mustKnowOutage(slot, *out.previous, k)
}

// isVisible reports whether the state that the operator must know contains the outage. A missing pod
// is visible only if the operator must know that the zone should have it.
func (v *verifier) isVisible(slot podSlot, out outage, k knowledge) bool {
	return v.mustKnow(k, out.since, out.source) && (out.source == statefulSets || v.mustKnow(k, v.wantedSince[slot], statefulSets))
}
