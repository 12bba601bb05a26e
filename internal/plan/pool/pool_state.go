package pool

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// MaxIntents bounds the open intents of a StatefulCluster: one annotation has all of them. It is more than for a group, because
// names are shorter and a live read needs no request for each.
const MaxIntents = 2 * plan.MaxIntents

// poolState is a snapshot with what the rules count.
type poolState struct {
	*Snapshot
	newest       Revision        // of the template; the zero Revision if it is not recorded
	current      Revision        // that pods had before the newest one
	staying      []Pod           // active pods of the pool, without those that leave, in the order in which they would leave
	leaving      []Pod           // active pods that are recorded to leave because they are too many, in that order
	ended        []endedPod      // pods whose containers have ended
	handovers    []handover      // identities that wait for their next pod
	recordedOver []handover      // the same, with those for which there is no place
	unshown      int             // how many more wait, and the caches do not show all of their claims
	heldBack     map[string]bool // names of the pods that are to stay at earlier revisions
	surge        int             // how many pods more than asked for are wanted, because of an update
	open         int             // intents that count
	room         int             // how many more the hold can record
	openOf       map[string]bool
	pendingOf    map[string]plan.Intent
	beganOf      map[string]plan.Intent // what the hold has recorded of pods and may be underway
	grantedOf    map[string]plan.Intent // evictions that clients may still carry out
	ends         map[string]bool        // UIDs of the pods of which an intent that counts says that they end, or have ended
	givenUp      map[string]bool        // names of the pods of which one says that their identity ends as well
	ailing       map[string]ailment     // pods that are to be replaced by new identities
}

func newPoolState(seen *Snapshot) *poolState {
	s := new(*seen)
	s.index = indexOf(s)
	p := &poolState{Snapshot: s, newest: s.Newest(), current: s.Current(), openOf: map[string]bool{}, pendingOf: map[string]plan.Intent{}, beganOf: map[string]plan.Intent{}, grantedOf: map[string]plan.Intent{}, ends: map[string]bool{}, givenUp: map[string]bool{}, ailing: map[string]ailment{}}
	for _, i := range s.Hold.Intents {
		status := s.IntentStatus(i)
		if status == plan.Pending {
			p.pendingOf[i.Pod] = i
		}
		if status.Counts() {
			p.open++
			p.openOf[i.Pod] = true
			p.beganOf[i.Pod] = i
			if i.Cause != reason.UpdatedInPlace { // which ends no pod
				id, _ := IDOf(s.Key.Name, i.Pod)
				p.ends[i.UID], p.givenUp[i.Pod] = true, p.givenUp[i.Pod] || !s.handsOver(id, i)
			}
			if i.Granted() {
				p.grantedOf[i.Pod] = i
			}
		}
	}
	p.staying = make([]Pod, 0, len(s.Pods))
	for i := range s.Pods {
		switch pod := s.Pods[i]; {
		case !s.owns(&pod) || pod.Phase == plan.Terminating:
		case pod.Finished:
			p.ended = append(p.ended, endedPod{Pod: pod})
		case isSurplus(p.pendingOf[pod.Name].Cause):
			p.leaving = append(p.leaving, pod)
		default:
			p.staying = append(p.staying, pod)
		}
	}
	p.room = MaxIntents - p.open
	for _, pods := range [][]Pod{p.staying, p.leaving} {
		for i := range pods {
			if a := p.ailmentOf(&pods[i]); a.cause != "" && !a.at.After(s.Now) {
				p.ailing[pods[i].Name] = a
			}
		}
	}
	p.heldBack = p.stayEarlier()
	slices.SortStableFunc(p.staying, p.leavesFirst)
	slices.SortStableFunc(p.leaving, p.leavesFirst)
	for i := range p.ended {
		p.ended[i] = p.judge(p.ended[i].Pod)
	}
	p.recordedOver = s.recordedHandovers()
	recorded, unrecorded := p.keptHandovers()
	p.surge = p.surgeWanted(len(recorded) + len(unrecorded))
	p.handovers = p.withPlaces(recorded, unrecorded)
	return p
}

// keptHandovers returns the hand-overs that are not given up: those that are recorded, and those that are not yet.
func (p *poolState) keptHandovers() (recorded, unrecorded []handover) {
	givenUp := func(h handover) bool { return h.Overdue && p.mayGiveUpInDoubt(nil) }
	return slices.DeleteFunc(slices.Clone(p.recordedOver), givenUp), slices.DeleteFunc(p.unrecordedHandovers(), givenUp)
}

// withPlaces returns the hand-overs for which the pool has a place, those that are recorded first. The oldest ones go without
// a place: a new identity may have got it because the former pod did not end in time, and those that are not recorded have just
// begun. A pod that was created in the meantime and never ran makes room for them, because it has no data.
func (p *poolState) withPlaces(recorded, unrecorded []handover) []handover {
	withData := 0
	for i := range p.staying {
		if !p.hasNoData(&p.staying[i]) {
			withData++
		}
	}
	places := max(0, p.Object.Replicas+max(p.surge, p.placesInDoubt())-withData)
	p.unshown = max(0, min(p.unshownHandovers(), places-len(recorded)-len(unrecorded)))
	unrecorded = unrecorded[:min(len(unrecorded), places)]
	earlier := min(len(recorded), places-len(unrecorded))
	return append(recorded[len(recorded)-earlier:], unrecorded...)
}

// isNew reports whether a pod was created and not completed yet, so that its identity has no data.
func (s *Snapshot) isNew(p *Pod) bool { return p.Gated && len(s.claimsOf(p.ID)) == 0 }

// hasNoData reports whether the identity of a pod has never had a pod that ran.
func (s *Snapshot) hasNoData(p *Pod) bool {
	return p.Gated && p.From == "" && !slices.ContainsFunc(s.claimsOf(p.ID), func(c Claim) bool { return c.From != "" && c.From != p.UID })
}

// excess is how many of the staying pods are too many.
func (p *poolState) excess() int {
	return max(0, min(len(p.staying), len(p.staying)+len(p.handovers)+p.unshown-p.Object.Replicas-p.surge))
}

// missing is how many pods have to be created.
func (p *poolState) missing() int {
	return max(0, p.vacant()-p.perhapsHandedOver())
}

// vacant is how many places are empty, or of identities that are perhaps handed over. It is negative if there are too many pods.
func (p *poolState) vacant() int {
	return p.Object.Replicas + p.surge - len(p.staying) - len(p.leaving) - len(p.handovers) - p.unshown - p.pausing() - len(p.neverMatched()) - p.awaited()
}

// perhapsHandedOver is how many identities have their places while the hold cannot be read: their claims are marked, and where claims of
// replaced pods are deleted, the marks are taken off once the next pod serves (unmarkings).
func (p *poolState) perhapsHandedOver() int {
	if p.Hold.Unreadable == "" || !p.Object.Claim.mayDeleteReplaced() {
		return 0
	}
	marked := map[ID]bool{}
	for _, c := range p.Claims {
		pod, exists := p.podOf(c.ID)
		ends := exists && pod.Phase == plan.Terminating && !p.isAwaited(&pod) || !exists && !p.hasPod(c.ID)
		if c.Pool == p.Object.UID && c.From != "" && ends && !p.isHandedOver(c.ID) && p.complete(c.ID, c.From) {
			marked[c.ID] = true
		}
	}
	return len(marked)
}

// awaited is how many terminating pods have their places until they have ended. An identity that is handed over has a place
// already.
func (p *poolState) awaited() int {
	n := 0
	for i := range p.Pods {
		n += one(p.isAwaited(&p.Pods[i]))
	}
	return n
}

func (p *poolState) isAwaited(pod *Pod) bool {
	return p.Object.AwaitEnds && p.owns(pod) && pod.Phase == plan.Terminating && !pod.Finished && !p.isHandedOver(pod.ID)
}

// down reports whether a pod does not count as available: it is unwell, or an intent says that it is about to be disrupted.
func (p *poolState) down(pod *Pod) bool { return p.openOf[pod.Name] || p.unwell(pod) }

// unwell reports whether a pod is not available, its update is not complete, or its node is lost. A pod that lacks a claim may serve.
func (p *poolState) unwell(pod *Pod) bool {
	lost := p.ails(pod) && p.ailing[pod.Name].certainty != damaged
	return lost || !p.available(pod)
}

// available reports whether a pod serves with all of its containers updated.
func (s *Snapshot) available(pod *Pod) bool {
	return pod.Available(s.Object.MinReady, s.Now) && !pod.updating()
}

// unavailable is how many of the pods that are asked for do not count as available.
func (p *poolState) unavailable() int {
	return max(0, p.Object.Replicas-p.countAvailable())
}

func (p *poolState) countAvailable() int {
	available := 0
	for i := range p.staying {
		if !p.down(&p.staying[i]) {
			available++
		}
	}
	return available
}

// templatesOf returns the templates of the pods of a revision. Claims that are created today have the claim templates of
// today.
func (p *poolState) templatesOf(revision string) Templates {
	if revision == p.newest.Name {
		return p.Object.Templates
	}
	for _, r := range p.Revisions {
		if r.Name == revision {
			return Templates{Pod: r.Pod, Claims: p.today(r.Claims)}
		}
	}
	return p.Object.Templates
}

// today returns claim templates with those of the object where it has one of the name.
func (p *poolState) today(earlier []ClaimTemplate) []ClaimTemplate {
	claims := slices.Clone(earlier)
	for i := range claims {
		for _, t := range p.Object.Claims {
			if t.Name == claims[i].Name {
				claims[i] = t
			}
		}
	}
	return claims
}
