package pool

import (
	"slices"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Outlook is a snapshot that is counted once, to answer many requests.
type Outlook struct{ *poolState }

// OutlookOf counts a snapshot. Goroutines may share the result.
func OutlookOf(s Snapshot) Outlook { return Outlook{newPoolState(&s)} }

// Evict decides about the eviction of a pod of the pool. A pod that does not serve may go, whatever else is underway, and so
// may all pods while the object is deleted. A pod that is about to be adopted stays until it counts. One that serves is recorded
// first, and may only go if not more than MaxUnavailable pods, and at least one, are unavailable then.
func (o Outlook) Evict(r plan.EvictionRequest) plan.EvictionAnswer {
	p := o.poolState
	pod, exists := p.podNamed(r.Pod)
	answer := plan.EvictionAnswer{Zone: p.Key.Name}
	orphan := exists && pod.Owner == ""
	switch {
	case exists && pod.UID == r.UID && pod.Phase == plan.Terminating:
	case !exists || !p.owns(&pod) && !orphan || pod.UID != r.UID:
		answer.Because = plan.Refusal{Code: reason.CacheStale, Pod: r.Pod}
	case !pod.Up():
		answer.Version = pod.Version
	case p.Object.Deleting, orphan && !p.waitsForAdoption(&pod):
	case orphan:
		answer.Because = plan.Refusal{Code: reason.AdoptionWaits, Pod: pod.Name}
	case p.Object.Unreadable != "":
		answer.Because = plan.Refusal{Code: reason.TemplateInvalid, Detail: p.Object.Unreadable}
	default:
		p.evictServing(&pod, &answer)
	}
	return answer
}

// waitsForAdoption reports whether a pod that belongs to nothing is about to become one of the pool. From then on it counts.
func (p *poolState) waitsForAdoption(pod *Pod) bool {
	return slices.ContainsFunc(p.orphans(), func(o Orphan) bool { return o.Name == pod.Name })
}

// evictServing answers for a pod that serves.
func (p *poolState) evictServing(pod *Pod, answer *plan.EvictionAnswer) {
	for _, objection := range evictGuards {
		if answer.Because = objection(p, pod); !answer.Because.None() {
			return
		}
	}
	for _, objection := range turnGuards {
		if answer.Because = objection(p, pod); !answer.Because.None() {
			answer.Tally = p.tally()
			answer.Place = plan.Waiting{Operation: plan.EvictionOperation, Zone: p.Key.Name, Since: p.Now, LastSeen: p.Now}
			return
		}
	}
	answer.Record = plan.Intent{Zone: p.Key.Name, Pod: pod.Name, UID: pod.UID, Version: pod.Version, Cause: reason.EvictionGranted, Since: p.Now}
}

// evictGuards apply to the eviction of a pod that serves. The first objection is reported.
var evictGuards = []func(*poolState, *Pod) plan.Refusal{heldByOthers, alreadyRecorded, holdIsFull, (*poolState).notMarked}

// turnGuards object as long as it is not the turn of the client. It keeps its place in the queue.
var turnGuards = []func(*poolState, *Pod) plan.Refusal{(*poolState).tooManyUnavailable, (*poolState).updateComesFirst}

func heldByOthers(p *poolState, _ *Pod) plan.Refusal { return p.held() }

// alreadyRecorded objects to a pod that is about to go already.
func alreadyRecorded(p *poolState, pod *Pod) plan.Refusal {
	switch {
	case p.granted(pod):
		return plan.Refusal{Code: reason.EvictionInProgress, Pod: pod.Name}
	case p.openOf[pod.Name]:
		return plan.Refusal{Code: reason.PodDisruptionPending, Pod: pod.Name}
	}
	return plan.Refusal{}
}

// granted reports whether a client has been allowed to evict a pod, and may still do so.
func (p *poolState) granted(pod *Pod) bool {
	i, is := p.grantedOf[pod.Name]
	return is && i.MayTake(pod.UID, pod.Version)
}

// tooManyUnavailable objects if more pods would be unavailable than may be.
func (p *poolState) tooManyUnavailable(pod *Pod) plan.Refusal {
	available, most := p.countAvailable(), max(1, p.Object.Strategy.MaxUnavailable.Of(p.Object.Replicas))
	if !p.down(pod) {
		available--
	}
	if p.Object.Replicas-available <= most {
		return plan.Refusal{}
	}
	r, count := p.firstUnavailable(), strconv.Itoa(p.unavailable())+" of at most "+strconv.Itoa(most)+" down"
	if r.Detail != "" {
		count = r.Detail + ", " + count
	}
	r.Detail = count
	return r
}

// firstUnavailable returns why a pod that is asked for does not count as available.
func (p *poolState) firstUnavailable() plan.Refusal {
	for i := range p.staying {
		pod := &p.staying[i]
		switch because := p.unavailableBecause(pod); {
		case !p.down(pod):
		case because.None() && p.ails(pod):
			return plan.Refusal{Code: reason.NodeSilent, Pod: pod.Name}
		case because.None():
			return plan.Refusal{Code: reason.PodDisruptionPending, Pod: pod.Name}
		default:
			return because
		}
	}
	return plan.Refusal{Code: reason.PodMissing}
}

func holdIsFull(p *poolState, _ *Pod) plan.Refusal {
	if p.room <= 0 {
		return plan.Refusal{Code: reason.TooManyIntents}
	}
	return plan.Refusal{}
}

// tally counts the pods that are unavailable.
func (p *poolState) tally() plan.Tally {
	missing := max(0, p.Object.Replicas-len(p.staying))
	return plan.Tally{NotReady: p.unavailable() - missing, Unknown: missing, In: p.Key.Name}
}

// withoutGranted drops what is planned for pods that clients may still evict: a grant ends by itself, so it is no record
// of a request by lockstep.
func (p *poolState) withoutGranted(steps []plan.Action) []plan.Action {
	return slices.DeleteFunc(steps, func(a plan.Action) bool {
		d, disrupts := a.(plan.Disruptive)
		if !disrupts {
			return false
		}
		i, granted := p.grantedOf[d.Disruption().Pod]
		return granted && i.MayTake(d.Disruption().UID, d.Disruption().Version)
	})
}

// endedIntents ends the granted evictions that were not carried out and no longer can be. Only a live read shows that. It also
// ends deletions that were withdrawn, so that nothing that happens to their pods later seems to be one, and those whose end only
// a newer view of claims shows: while no claim changes, no event brings one.
func (p *poolState) endedIntents() []plan.Action {
	cached, live := *p.Snapshot, *p.Snapshot
	cached.Live, live.Live = false, true
	var ended []plan.Action
	for _, i := range p.Hold.Intents {
		newer := cached
		newer.ClaimsAt = max(cached.ClaimsAt, i.Version)
		switch status := cached.IntentStatus(i); {
		case status.Counts() && !live.IntentStatus(i).Counts():
			ended = append(ended, plan.EndIntent{Intent: i, Because: reason.EvictionLapsed})
		case status == plan.Obsolete && p.open > 0:
			ended = append(ended, plan.EndIntent{Intent: i, Because: reason.DeletionCancelled})
		case !p.Live && status == plan.Open && newer.IntentStatus(i) == plan.Done:
			ended = append(ended, plan.EndIntent{Intent: i, Because: reason.PodNotFound})
		}
	}
	return ended
}
