package pool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// HandOver creates the next pod of an identity whose former pod has ended. The hold has recorded it before that pod
// ended, and all claims of the identity exist, exactly as they were evaluated.
type HandOver struct {
	Pool      string
	ID        ID
	From      string // UID of the former pod
	Revision  string
	Templates Templates
	Claims    map[string]string // the names of its claims by template
	Had       []Claim           // those that the identity had with the former pod
}

// Reason implements plan.Action.
func (HandOver) Reason() reason.Code { return reason.IdentityHandover }

// Effect implements plan.Action. Caches suffice (ADR 45): the write of the Lease shows that the intent still counts, the claims are
// read one by one after that, and a pod that exists keeps its name.
func (a HandOver) Effect() plan.Effect {
	return plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.UnderHold, Visible: true, Records: true}
}

// Event implements plan.Action.
func (a HandOver) Event() plan.Event {
	return plan.Event{Zone: a.Pool, Action: "CreatePod", Note: fmt.Sprintf("created pod %s again: %s", PodName(a.Pool, a.ID), a.Reason().Sentence())}
}

// String implements plan.Action: hand over 0123456789abcdef of web at web-2.
func (a HandOver) String() string {
	return fmt.Sprintf("hand over %s of %s at %s", a.ID, a.Pool, a.Revision)
}

// handover is a recorded hand-over whose former pod has ended or is about to, or whose next pod is about to.
type handover struct {
	ID      ID
	Intent  plan.Intent
	Over    bool // the former pod is gone
	Overdue bool // the former pod still exists although its grace period is over by more than a hand-over waits for

	Unrecorded bool // the hold has to record it first
}

// recordedHandovers returns the hand-overs that can go on, the oldest first. One whose claims are not complete cannot.
func (s *Snapshot) recordedHandovers() []handover {
	var recorded []handover
	for _, i := range s.Hold.Intents {
		id, ours := IDOf(s.Key.Name, i.Pod)
		if !ours || !s.handsOver(id, i) || s.IntentStatus(i) != plan.Open || !s.complete(id, handedOverFrom(i)) {
			continue
		}
		pod, exists := s.podOf(id)
		switch {
		case !exists && !s.hasPod(id):
			recorded = append(recorded, handover{ID: id, Intent: i, Over: true})
		case (pod.UID == i.UID || pod.From == handedOverFrom(i)) && pod.Phase == plan.Terminating: // the next pod may end, too
			recorded = append(recorded, handover{ID: id, Intent: i, Overdue: s.overdue(pod)})
		}
	}
	slices.SortStableFunc(recorded, func(a, b handover) int { return a.Intent.Since.Compare(b.Intent.Since) })
	return recorded
}

// unshownHandovers counts the recorded hand-overs that wait for their next pod and whose claims the caches do not show as they were marked: a
// live read may show them, so their places are kept until then.
func (s *Snapshot) unshownHandovers() int {
	n := 0
	for _, i := range s.Hold.Intents {
		id, ours := IDOf(s.Key.Name, i.Pod)
		waits := ours && !s.hasPod(id) && s.handsOver(id, i) && s.IntentStatus(i) == plan.Open
		n += one(!s.Live && waits && !s.complete(id, handedOverFrom(i)))
	}
	return n
}

// handsOver reports whether an identity gets another pod after the end of the recorded one. After a granted eviction it does so
// if the identity of an evicted pod is kept, or that of a deleted one: a client may have deleted the pod instead.
func (s *Snapshot) handsOver(id ID, i plan.Intent) bool {
	retained := slices.ContainsFunc(s.claimsOf(id), func(c Claim) bool { return c.Retain && c.From == handedOverFrom(i) })
	kept := retained || s.Object.Keep.OnEviction || s.Object.Keep.OnDelete && !s.isEvicted(i)
	return i.Cause == reason.IdentityHandover || i.Granted() && kept
}

// handedOverFrom returns the UID of the last pod that has used the claims of an identity.
func handedOverFrom(i plan.Intent) string { return cmp.Or(i.From, i.UID) }

// isEvicted reports whether the recorded pod says that it was evicted.
func (s *Snapshot) isEvicted(i plan.Intent) bool {
	pod, shown := s.podNamed(i.Pod)
	return shown && pod.UID == i.UID && pod.Disrupted
}

func (s *Snapshot) overdue(p Pod) bool {
	return s.Object.HandoverTimeout > 0 && !p.EndsBy.IsZero() && !s.Now.Before(p.EndsBy.Add(s.Object.HandoverTimeout))
}

// complete reports whether the claims that are marked as those of an identity handed over from a pod are all there. The
// marks name each other, so one that is missing is noticed; a claim that was created again meanwhile, by a process that had
// been suspended, has no mark.
func (s *Snapshot) complete(id ID, from string) bool {
	marked := s.handedOver(id, from)
	for _, c := range marked {
		for _, sibling := range c.Siblings {
			if !slices.ContainsFunc(marked, func(c Claim) bool { return c.Template == sibling }) {
				return false
			}
		}
	}
	return len(marked) > 0
}

// handedOver returns the claims that are marked as those of an identity handed over from a pod.
func (s *Snapshot) handedOver(id ID, from string) []Claim {
	return s.claimsIf(id, func(c *Claim) bool { return !c.Retired && !c.Deleting && c.From == from })
}

// whole reports whether every claim that a pod mounts is there, and the next pod of its identity can have one. A view of claims
// that is older than the pod may lack one; it stays as long as the pod, so one that it shows still exists.
func (s *Snapshot) whole(p *Pod) bool {
	return len(s.mounted(p)) == len(p.Mounts) && s.hasClaims(p)
}

// hasClaims reports whether a pod mounts claims, or its identity has some that its template does not ask for.
func (s *Snapshot) hasClaims(p *Pod) bool { return len(p.Mounts) > 0 || len(s.unmounted(p)) > 0 }

// mounted returns the claims of a pod that are there, and belong to its identity as the pod got it.
func (s *Snapshot) mounted(p *Pod) []Claim {
	return s.claimsIf(p.ID, func(c *Claim) bool {
		foreign := p.Gated && p.From != "" && c.From != p.From && c.From != p.UID
		return !c.Retired && !c.Deleting && !foreign && p.mounts(c.Name)
	})
}

// unmounted returns the claims of the identity of a pod that the pod does not mount, because its template has none of that name
// any more. The next pod may mount them again.
func (s *Snapshot) unmounted(p *Pod) []Claim {
	return s.claimsIf(p.ID, func(c *Claim) bool {
		mounted := slices.ContainsFunc(p.Mounts, func(m Mount) bool { return m.Template == c.Template })
		return !c.Retired && !c.Deleting && !mounted && !p.Gated
	})
}

// PrepareHandover marks the claims of a pod before it is handed over, so that each one is known again. The pod must exist
// later than they were last changed: claims that were created again after its end are not those of the identity.
type PrepareHandover struct {
	Pool     string
	ID       ID
	From     string // UID of the pod; empty: the identity is not handed over
	Claims   []Claim
	Siblings []string // the claim templates of all of its claims
	Retain   bool     // a person asks to keep the identity
	Newer    bool     // a claim is newer than the view of pods, so its pod may be gone
}

// Reason implements plan.Action.
func (PrepareHandover) Reason() reason.Code { return reason.IdentityHandover }

// Effect implements plan.Action.
func (a PrepareHandover) Effect() plan.Effect {
	read := plan.OnCaches
	if a.Newer {
		read = plan.Always
	}
	return plan.Effect{Zone: a.Pool, Pod: PodName(a.Pool, a.ID), Order: plan.WithoutHold, Visible: true, Read: read}
}

// Event implements plan.Action. The deletion of the pod has one.
func (PrepareHandover) Event() plan.Event { return plan.Event{} }

// String implements plan.Action: prepare hand-over of 0123456789abcdef of web.
func (a PrepareHandover) String() string {
	if a.From == "" {
		return fmt.Sprintf("unmark claims of %s of %s", a.ID, a.Pool)
	}
	return fmt.Sprintf("prepare hand-over of %s of %s", a.ID, a.Pool)
}

// isStranded reports whether a pod waits for claims that do not come, and its identity can be handed over from the pod before it.
func (p *poolState) isStranded(pod *Pod) bool {
	return pod.Gated && pod.From != "" && !p.whole(pod) && p.complete(pod.ID, pod.From)
}

// handOver returns the next step of handing over the identity of a pod: its claims are marked, and then the pod is deleted. The
// claims of a pod that has never run stay marked as those of the pod before it.
func (p *poolState) handOver(pod *Pod) plan.Action {
	if p.isStranded(pod) {
		d := p.disruption(pod, reason.IdentityHandover)
		d.From = pod.From
		return plan.DeletePod(d)
	}
	if prepare, marked := p.prepare(pod); !marked {
		return prepare
	}
	return p.deletion(pod, reason.IdentityHandover)
}

// prepare returns how the claims of a pod are marked for a hand-over, and whether they are already.
func (p *poolState) prepare(pod *Pod) (_ PrepareHandover, marked bool) {
	claims := append(p.mounted(pod), p.unmounted(pod)...)
	prepare := PrepareHandover{Pool: p.Key.Name, ID: pod.ID, From: pod.UID, Retain: pod.Retain}
	for _, c := range claims {
		prepare.Siblings = append(prepare.Siblings, c.Template)
	}
	slices.Sort(prepare.Siblings)
	for _, c := range claims {
		if c.From != pod.UID || c.Retain != pod.Retain || !slices.Equal(c.Siblings, prepare.Siblings) {
			prepare.Claims = append(prepare.Claims, c)
		}
		prepare.Newer = prepare.Newer || c.Version > p.PodsAt
	}
	return prepare, len(prepare.Claims) == 0
}

// successors creates the next pods of the identities that are handed over.
func (p *poolState) successors() []plan.Action {
	var steps []plan.Action
	atCurrent := p.atCurrent(len(p.handovers))
	for _, h := range p.handovers {
		if !h.Over || h.Unrecorded || p.current.Name == "" { // an older view may show no revision
			continue
		}
		revision := cmp.Or(p.newest.Name, p.current.Name)
		if atCurrent > 0 {
			revision = p.current.Name
			atCurrent--
		}
		next := HandOver{Pool: p.Key.Name, ID: h.ID, From: handedOverFrom(h.Intent), Revision: revision, Templates: p.templatesOf(revision), Claims: map[string]string{}}
		for _, c := range p.claimsOf(h.ID) {
			next.Claims[c.Template] = c.Name
		}
		next.Had = p.handedOver(h.ID, next.From)
		steps = append(steps, next)
	}
	return steps
}
