package pools

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// history are the rules about what has happened, from the objects of the API server alone.
type history struct {
	broken   []string
	bornAs   map[pool.ID]string            // the UID of the last pod of each identity
	noted    map[string]bool               // UIDs of pods whose hand-over the Lease has ever recorded
	notedAt  map[string]plan.Version       // by UID of a pod: when the Lease first recorded its hand-over
	had      map[pool.ID]map[string]string // the UID of each claim of an identity when its last pod could first run, by name
	ran      map[string]bool               // UIDs of pods that could run
	asked    []asked                       // numbers of replicas
	active   map[string]bool               // pods that were active at the last change
	surplus  map[string]bool               // pods that lockstep ended because they were too many
	scaled   int                           // how many of them because fewer were asked for
	counts   bool                          // the Lease has recorded from the start how many were asked for
	left     []plan.Version                // when pods ended for another reason
	updating map[pool.ID]bool              // identities whose pod lockstep disrupted for an update while it served
	evictees []plan.Version                // when pods that served were evicted, of those for which no later pod serves yet
	filling  map[string]bool               // UIDs of the pods that serve instead
	birth    map[string]plan.Version       // of each pod, by its UID
	everHad  map[pool.ID]map[string]bool   // the names of all claims that were created for an identity
	allowed  map[string]bool               // templates that pods may get: updates were not paused when the object had it, or no other is known
	kept     map[pool.ID]bool              // identities whose pods other clients ended, and that are to be kept
}

type asked struct {
	at       plan.Version
	replicas int
}

func newHistory(s *server) history {
	return history{
		bornAs: map[pool.ID]string{}, surplus: map[string]bool{}, noted: map[string]bool{}, notedAt: map[string]plan.Version{}, had: map[pool.ID]map[string]string{}, ran: map[string]bool{}, everHad: map[pool.ID]map[string]bool{}, allowed: map[string]bool{}, updating: map[pool.ID]bool{}, filling: map[string]bool{}, birth: map[string]plan.Version{}, kept: map[pool.ID]bool{},
		asked: []asked{{firstVersion, s.object.Replicas}},
	}
}

func (h *history) breaks(format string, args ...any) {
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

// judge checks the state after each change.
func (h *history) judge(s *server) {
	for _, i := range s.lease.Intents {
		if i.Cause == reason.IdentityHandover || i.Granted() && s.mayKeep(i.Pod) {
			if !h.noted[i.UID] {
				h.notedAt[i.UID] = s.version
			}
			h.noted[i.UID] = true
		}
	}
	h.allows(s)
	h.follow(s)
	if len(s.pods) > mostPods {
		h.breaks("%d pods exist, and at most 4 are asked for", len(s.pods))
	}
	for _, p := range s.pods {
		if serves(&p) {
			delete(h.updating, p.ID)
			h.fills(&p)
		}
	}
}

// allows records that pods may get the template of the object.
func (h *history) allows(s *server) {
	if o := &s.object; o.Exists() && (!o.PausedAt(s.now) || o.Current == "" || o.Replicas == 0) {
		h.allowed[o.Hash] = true
	}
}

// mostPods bounds the pods that exist at a time: those that are asked for, that terminate, and that people have taken out. With more,
// something creates pods all the time.
const mostPods = 24

// fills ends the first eviction before the birth of a pod that serves.
func (h *history) fills(p *pool.Pod) {
	if h.filling[p.UID] || len(h.evictees) == 0 || h.birth[p.UID] < h.evictees[0] {
		return
	}
	h.filling[p.UID] = true
	h.evictees = h.evictees[1:]
}

// downByUs is how many pods are down that served, by evictions and updates, if so many are asked for. Pods that have ended
// otherwise since the view of a process do not count.
func (h *history) downByUs(s *server, asked int, since plan.Version) int {
	return max(0, min(len(h.evictees)+len(h.updating), asked-serving(s)-h.leftSince(since)))
}

// leftSince counts the pods that have ended since a version, and not because lockstep took them as surplus.
func (h *history) leftSince(version plan.Version) int {
	n := 0
	for _, at := range h.left {
		n += one(at > version)
	}
	return n
}

func serving(s *server) int {
	n := 0
	for _, p := range s.pods {
		n += one(serves(&p) && !p.Unmatched)
	}
	return n
}

// evicted checks a pod that the API server is about to evict for a client, because of what a process has seen. Pods of an object
// that is being deleted, or is gone, may go.
func (h *history) evicted(s *server, p *pool.Pod, seen *pool.Snapshot) {
	if !serves(p) || p.Unmatched || seen.Object.Deleting || !seen.Object.Exists() {
		return
	}
	if !slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool { return i.UID == p.UID }) {
		h.breaks("NotedFirst: pod %s is evicted while it serves, and the Lease does not record it", p.Name)
	}
	delete(h.updating, p.ID)
	most := max(1, s.object.Strategy.MaxUnavailable.Of(s.object.Replicas))
	if down := h.downByUs(s, h.leastAsked(seen), seen.PodsAt); down >= most {
		h.breaks("WithinBudget: pod %s is evicted while %d are down by evictions and updates, at most %d may be", p.Name, down, most)
	}
	if serving(s) <= s.object.Replicas { // otherwise another pod serves instead already
		h.evictees = append(h.evictees, s.version)
	}
}

// follow records which pods have ended.
func (h *history) follow(s *server) {
	active := map[string]bool{}
	for name, p := range s.pods {
		active[name] = p.Active() && !p.Unmatched
	}
	for name := range h.active {
		if h.active[name] && !active[name] && !h.surplus[name] {
			h.left = append(h.left, s.version)
		}
	}
	h.active = active
}

// takenOut checks a pod that is released. From then on no update of lockstep is why it does not serve.
func (h *history) takenOut(p pool.Pod) {
	delete(h.updating, p.ID)
	if !p.Unmatched || p.Owner == "" {
		h.breaks("OwnPodsOnly: pod %s is released, and the selector matches it or it belongs to nothing", p.Name)
	}
}

// serves reports whether a pod is Ready with the containers that it should have. One whose update in place has begun may be
// interrupted at any time.
func serves(p *pool.Pod) bool {
	if p.Phase != plan.Ready || p.Update.Begun {
		return false
	}
	for _, c := range p.Containers {
		if p.Update.Restarts[c.Name] == c.ID && c.ID != "" {
			return false
		}
	}
	return true
}

// born checks a pod that was just created: no new pod gets an identity that had one, unless the same claims are handed
// over, and the Lease had recorded it first: in the version that its process has written, or now. The garbage collection deletes a pod
// whose object is gone.
func (h *history) born(s *server, p *pool.Pod, record plan.Version) {
	if p.Owner != s.object.UID {
		return
	}
	h.birth[p.UID], h.ran[p.UID] = s.version, !p.Gated
	h.allows(s) // a pause may have ended since the last change
	if !h.allowed[p.Revision] {
		h.breaks("PauseKept: pod %s is created at template %s, which was asked for only while updates were paused", p.Name, p.Revision)
	}
	former, again := h.bornAs[p.ID]
	h.bornAs[p.ID] = p.UID
	if !again {
		return
	}
	isRecorded := func(in plan.Record) bool {
		return slices.ContainsFunc(in.Intents, func(i plan.Intent) bool {
			return i.Pod == p.Name && (i.Cause == reason.IdentityHandover || i.Granted() && s.mayKeep(i.Pod))
		})
	}
	if !h.noted[former] && !isRecorded(s.lease) && !isRecorded(s.past[record].lease) {
		h.breaks("HandoverNoted: pod %s was created again without a record", p.Name)
	}
}

// disrupted checks a pod that a request of lockstep is about to disrupt, because of what a process has seen.
func (h *history) disrupted(s *server, p *pool.Pod, cause reason.Code, seen *pool.Snapshot) {
	recorded := slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool { return i.UID == p.UID })
	if !recorded {
		h.breaks("NotedFirst: pod %s is disrupted because of %s, and the Lease does not record it", p.Name, cause)
	}
	if cause == reason.ScaledDown || cause == reason.ReplicasExceeded {
		h.endedAsSurplus(s, p, seen)
	}
	if h.scaled += one(cause == reason.ScaledDown); h.counts && h.scaled > h.lowered() {
		h.breaks("LoweredOnly: pod %s is ended because fewer are asked for, as the %d. one, and replicas were lowered by %d", p.Name, h.scaled, h.lowered())
	}
	if cause == reason.HandoverFailed && p.Gated {
		h.handoverFailed(s, p, seen)
	}
	if cause == reason.UpdatedByNewIdentity && seen.Object.Strategy.Policy != pool.Recreate && !p.Gated {
		h.updateKept(p, seen)
	}
	hasData := slices.ContainsFunc(slices.Collect(maps.Values(s.claims)), func(c pool.Claim) bool { return c.ID == p.ID })
	if slices.Contains(inDoubt, cause) && p.Scheduled && !serves(p) && hasData {
		h.givenUp(s, p, seen)
	}
	lost := slices.ContainsFunc(seen.Pods, func(other pool.Pod) bool { return other.Name == p.Name && other.Node.Gone })
	if (cause == reason.IdentityHandover || cause == reason.UpdatedInPlace) && serves(p) && !lost {
		h.updates(s, p)
	}
}

// updateKept checks that a pod whose identity is given up for an update has lost a claim, or has none.
func (h *history) updateKept(p *pool.Pod, seen *pool.Snapshot) {
	usable := map[string]bool{}
	for _, c := range seen.Claims {
		if c.ID == p.ID && c.Pool == seen.Object.UID && !c.Deleting && !c.Retired {
			usable[c.Name] = true
		}
	}
	lost := slices.ContainsFunc(p.Mounts, func(m pool.Mount) bool { return !usable[m.Claim] })
	if len(usable) > 0 && !lost {
		h.breaks("UpdateKept: the identity of pod %s is given up for an update, and has all of its claims", p.Name)
	}
}

// handoverFailed checks that the identity of a pod that waits for its claims lacks one of those that it had.
func (h *history) handoverFailed(s *server, p *pool.Pod, seen *pool.Snapshot) {
	for name, uid := range h.had[p.ID] {
		shown, wasShown := s.past[seen.ClaimsAt].claims[name]
		if c, exists := s.claims[name]; !exists || c.UID != uid || !wasShown || shown.UID != uid || shown.Deleting || shown.Retired {
			return
		}
	}
	if len(h.had[p.ID]) == 0 || h.lacksNamed(p.ID, seen) { // no pod of it could run
		return
	}
	h.breaks("HandoverKept: the identity of pod %s is given up, and has all of its claims", p.Name)
}

// interrupted checks a pod whose update in place goes on.
func (h *history) interrupted(s *server, p pool.Pod) {
	recorded := slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool { return i.UID == p.UID && i.Version == p.Update.At })
	if serves(&p) || !recorded {
		h.breaks("BegunFirst: the update of pod %s in place goes on, and the Lease does not record that it has begun", p.Name)
	}
}

// endsUpdate checks a pod whose update in place ends before its last stage: it runs as its revision says.
func (h *history) endsUpdate(p pool.Pod) {
	if !p.Update.Begun || p.Resize != pool.Resized || p.Containers[0].Resources != resourcesOf(templateOf(p.Revision)) {
		h.breaks("EndedWhole: the update of pod %s in place ends with %+v", p.Name, p.Containers[0].Resources)
	}
}

// inDoubt are causes for which the copy of the data of a pod is given up although the pod may come back.
var inDoubt = []reason.Code{reason.NodeLost, reason.UpdatedByNewIdentity, reason.CrashLooping}

// givenUp checks that the last copy of the data is not given up in doubt.
func (h *history) givenUp(s *server, p *pool.Pod, seen *pool.Snapshot) {
	another := slices.ContainsFunc(seen.Pods, func(other pool.Pod) bool {
		ends := slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool { return i.UID == other.UID && i.Cause != reason.UpdatedInPlace })
		return other.Name != p.Name && other.Phase == plan.Ready && !ends
	})
	if !another {
		h.breaks("LastCopyKept: pod %s is given up, and the process was shown no other pod that is Ready and stays", p.Name)
	}
}

// lowered is by how many the replicas were ever lowered.
func (h *history) lowered() int {
	n := 0
	for i := range len(h.asked) - 1 {
		n += max(0, h.asked[i].replicas-h.asked[i+1].replicas)
	}
	return n
}

// endedAsSurplus checks that as many pods stay as were asked for. What happened after the process had been shown the objects does
// not count.
func (h *history) endedAsSurplus(s *server, ended *pool.Pod, seen *pool.Snapshot) {
	least, active := h.leastAsked(seen), 0
	for _, p := range s.pods {
		if p.Active() && p.Name != ended.Name {
			active++
		}
	}
	active += h.leftSince(seen.PodsAt)
	for _, i := range s.lease.Intents { // an identity that waits for its next pod has a place
		handsOver := i.Cause == reason.IdentityHandover || i.Granted() && s.mayKeep(i.Pod)
		if p, exists := s.pods[i.Pod]; handsOver && (!exists || !p.Active()) {
			active++
		}
	}
	h.surplus[ended.Name] = true
	if active < least {
		h.breaks("SurplusExact: pod %s is ended as surplus, %d pods stay, at least %d were asked for", ended.Name, active, least)
	}
}

// leastAsked returns the least number of replicas that was asked for since the view of a process.
func (h *history) leastAsked(seen *pool.Snapshot) int {
	least, _ := h.askedSince(seen.ObjectsAt)
	return least
}

// askedSince returns the least and the highest number of replicas that was asked for since a version.
func (h *history) askedSince(version plan.Version) (least, most int) {
	least = h.asked[len(h.asked)-1].replicas
	most = least
	for i, a := range h.asked {
		if i+1 == len(h.asked) || h.asked[i+1].at > version {
			least, most = min(least, a.replicas), max(most, a.replicas)
		}
	}
	return least, most
}

// updates checks that not more pods than maxUnavailable are down because of updates.
func (h *history) updates(s *server, p *pool.Pod) {
	active := 0
	for _, other := range s.pods {
		if other.Active() {
			active++
		}
	}
	for id := range h.updating {
		other, exists := s.pods[pool.PodName(poolName, id)]
		placed := handedOver(s, id) && active < s.object.Replicas
		if (!exists || other.Phase == plan.Terminating) && !placed || exists && other.Owner != s.object.UID {
			delete(h.updating, id) // it was given up meanwhile, or has no place any more, or belongs to nothing
		}
	}
	delete(h.updating, p.ID)
	most := s.object.Strategy.MaxUnavailable.Of(s.object.Replicas)
	unavailable := max(0, s.object.Replicas-serving(s)) // pods that are too many do not count
	if down := max(h.downByUs(s, s.object.Replicas, s.version), min(len(h.updating), unavailable)); down >= most {
		h.breaks("WithinBudget: pod %s is updated while %d are down by evictions and updates, maxUnavailable is %d", p.Name, down, most)
	}
	h.updating[p.ID] = true
}

func handedOver(s *server, id pool.ID) bool {
	return slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool {
		return i.Pod == pool.PodName(poolName, id) && i.Cause == reason.IdentityHandover
	})
}

// mayKeep reports whether the identity of a pod may be kept although another client ended the pod.
func (s *server) mayKeep(pod string) bool {
	retained := slices.ContainsFunc(slices.Collect(maps.Values(s.claims)), func(c pool.Claim) bool { return c.Retain && pool.PodName(poolName, c.ID) == pod })
	return retained || s.object.Keep.Any()
}

// endedByOthers records a pod that has run and that another client is about to end. The identity of one that was adopted is
// known once its claims have their labels.
func (h *history) endedByOthers(s *server, name string) {
	p := s.pods[name]
	recorded := slices.ContainsFunc(s.lease.Intents, func(i plan.Intent) bool {
		return i.UID == p.UID && !i.Granted() && i.Cause != reason.UpdatedInPlace
	})
	policy := p.Disrupted && s.object.Keep.OnEviction || !p.Disrupted && s.object.Keep.OnDelete
	known := !slices.ContainsFunc(p.Mounts, func(m pool.Mount) bool { c, exists := s.claims[m.Claim]; return exists && c.Pool != p.Owner })
	h.kept[p.ID] = policy && p.Scheduled && !recorded && known
}

// ends checks an identity that lockstep ends, because of what a process has seen: one that is to be kept is given up only for
// a cause of lockstep's own, or if it has no place.
func (h *history) ends(s *server, c *pool.Claim, cause reason.Code, seen *pool.Snapshot) {
	h.handoverKept(c, cause, seen)
	h.handoverPlaced(s, c, cause, seen)
	if p, lives := s.pods[pool.PodName(poolName, c.ID)]; lives && p.From == "" {
		h.breaks("EndedWithoutPod: identity %s ends because of %s, and its first pod exists", c.ID, cause)
	}
	lost := slices.ContainsFunc(slices.Collect(maps.Keys(h.everHad[c.ID])), func(name string) bool {
		return !slices.ContainsFunc(seen.Claims, func(other pool.Claim) bool { return other.Name == name && !other.Deleting && other.From == c.From })
	})
	if !h.kept[c.ID] || lost || cause != reason.IdentityLost && cause != reason.EvictionGranted {
		return
	}
	claims, places := 0, h.leastAsked(seen)
	for _, other := range seen.Claims {
		isSame := h.had[c.ID][other.Name] == other.UID && other.From == c.From
		claims += one(isSame && !other.Deleting && !other.Retired)
	}
	places -= max(withData(slices.Collect(maps.Values(s.pods)), slices.Collect(maps.Values(s.claims))), withData(seen.Pods, seen.Claims))
	waiting := map[pool.ID]bool{} // others, which may be kept as well
	for _, o := range seen.Claims {
		hasPod := slices.ContainsFunc(seen.Pods, func(p pool.Pod) bool { return p.ID == o.ID && p.Phase != plan.Terminating })
		if o.ID != c.ID && !o.Retired && !hasPod {
			waiting[o.ID] = true
		}
	}
	places -= len(waiting)
	if claims == len(h.had[c.ID]) && places > 0 {
		h.breaks("IdentityKept: identity %s is given up because of %s, and %d places are free", c.ID, cause, places)
	}
}

// handoverPlaced checks an identity that is given up because it has no place, although as many pods are asked for as when the Lease recorded
// its hand-over: pods that were created for its place since do not count.
func (h *history) handoverPlaced(s *server, c *pool.Claim, cause reason.Code, seen *pool.Snapshot) {
	at, isNoted := h.notedAt[c.From]
	if cause != reason.HandoverUnneeded || !isNoted {
		return
	}
	least, most := h.askedSince(min(at, seen.ObjectsAt))
	if least != most {
		return // the pods of a higher number may stay instead
	}
	needed := func(pods []pool.Pod) (n int) {
		for _, p := range pods {
			n += one(p.Active() && !p.Unmatched && (h.birth[p.UID] <= at || p.From != ""))
		}
		return n
	}
	places := least - max(needed(seen.Pods), needed(slices.Collect(maps.Values(s.pods))))
	for _, i := range s.lease.Intents {
		pod, exists := s.pods[i.Pod]
		places -= one(i.UID != c.From && i.Cause == reason.IdentityHandover && (!exists || !pod.Active()))
	}
	if places > 0 {
		h.breaks("HandoverPlaced: identity %s is given up, its hand-over was recorded at %d, and %d places are free but for pods created since", c.ID, at, places)
	}
}

// handoverKept checks that an identity whose last pod has never run, and that is given up, lacks one of the claims that it had.
func (h *history) handoverKept(c *pool.Claim, cause reason.Code, seen *pool.Snapshot) {
	if cause != reason.HandoverFailed || len(h.had[c.ID]) == 0 || h.ran[h.bornAs[c.ID]] || h.lacksNamed(c.ID, seen) {
		return
	}
	for name, uid := range h.had[c.ID] {
		if !slices.ContainsFunc(seen.Claims, func(c pool.Claim) bool { return c.Name == name && c.UID == uid && !c.Deleting && !c.Retired }) {
			return
		}
	}
	h.breaks("HandoverKept: identity %s is given up, and has all of its claims", c.ID)
}

// lacksNamed reports whether the claims of an identity name one that existed and was deleted before a pod could run with it.
func (h *history) lacksNamed(id pool.ID, seen *pool.Snapshot) bool {
	exists, named := map[string]bool{}, map[string]bool{}
	for _, c := range seen.Claims {
		if c.ID != id || c.Deleting || c.Retired {
			continue
		}
		exists[c.Name] = true
		for _, sibling := range c.Siblings {
			named[pool.ClaimName(poolName, sibling, id)] = true
		}
	}
	for name := range named {
		if !exists[name] && h.everHad[id][name] {
			return true
		}
	}
	return false
}

// withData counts the pods that have had data, or are about to.
func withData(pods []pool.Pod, claims []pool.Claim) int {
	n := 0
	for _, p := range pods {
		n += one(!p.Gated || slices.ContainsFunc(claims, func(c pool.Claim) bool { return c.ID == p.ID }))
	}
	return n
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// claimDeleted checks a claim that lockstep is about to delete.
func (h *history) claimDeleted(s *server, c *pool.Claim) {
	if p, lives := s.pods[pool.PodName(poolName, c.ID)]; lives {
		h.breaks("ClaimKept: claim %s is deleted, and pod %s exists", c.Name, p.Name)
	}
	if !c.Retired {
		h.breaks("ClaimKept: claim %s is deleted, and its identity has not ended", c.Name)
	}
}

// claimed records a claim that was created for an identity.
func (h *history) claimed(id pool.ID, name string) {
	if h.everHad[id] == nil {
		h.everHad[id] = map[string]bool{}
	}
	h.everHad[id][name] = true
}

// doesWithout records that a person has deleted a claim while a pod of its identity ran without it. The identity may have another
// one of the name.
func (h *history) doesWithout(id pool.ID, claim string) {
	delete(h.had[id], claim)
}

// hadSince reports whether there was a claim of that name at a version or later.
func (s *server) hadSince(since plan.Version, claim string) bool {
	return slices.ContainsFunc(s.past[since:], func(at state) bool { _, had := at.claims[claim]; return had })
}

// released checks a pod that may be scheduled from now on: it has every claim that it should have, and those that its
// identity had before are the same. A claim that the process had been shown may be gone since, and a person may delete one
// that was created for the pod.
func (h *history) released(s *server, p *pool.Pod, seen *pool.Snapshot) {
	had := h.had[p.ID]
	has := maps.Clone(had) // the claims that the pod does not mount stay those of its identity
	if has == nil {
		has = map[string]string{}
	}
	h.had[p.ID], h.ran[p.UID] = has, true
	for _, m := range p.Mounts {
		name := m.Claim
		c, exists := s.claims[name]
		shown, wasShown := s.past[seen.ClaimsAt].claims[name]
		switch was := had[name]; {
		case !exists && (wasShown || s.hadSince(h.birth[p.UID], name)):
			has[name] = "" // so no later claim of the name is the same
		case !exists:
			h.breaks("ClaimsFirst: pod %s may be scheduled, and claim %s does not exist", p.Name, name)
		case was != "" && was != c.UID && shown.UID != was: // otherwise it was deleted since
			h.breaks("SameClaims: pod %s may be scheduled, and its identity had another claim %s", p.Name, name)
		default:
			has[name] = c.UID
		}
	}
}
