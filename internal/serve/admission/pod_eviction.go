package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// PodEviction judges for /admission/pod-eviction: a pod of a group is evicted under
// the hold of its group, within its budget. It refuses what it cannot know. A dry
// run is judged like any other request and changes nothing.
type PodEviction struct {
	Observer PodObserver
	Holds    Holds
	Fresh    Freshness
	Turns    *GroupLocks
	Log      *logrus.Logger
	Clock    Clock // tells for how long a refusal counts
	DryRun   bool  // every request is judged as if it were a dry run
	// Unpinned is told about every eviction that is not bound to the very pod that
	// is judged. Not set: nobody is.
	Unpinned func()
	// Decided is told about every answer to an eviction that a budget covers, dry runs
	// apart. Not set: nobody is.
	Decided func(ctx context.Context, e Eviction, budget string, v Verdict)

	outlooks outlooks
}

// Freshness remembers what this process knows of groups that its caches may not show
// yet: what a live look of a webhook has shown counts for the leader's plans, and the
// other way round.
type Freshness interface {
	Looked(live plan.Snapshot)
	Behind(view plan.Snapshot) (missing string, lasting time.Duration)
}

// PodObserver knows pods and their groups.
type PodObserver interface {
	Synced() bool
	Managed(namespace string) bool
	BudgetsKnown() bool
	Pod(namespace, name string) (observe.Pod, bool)
	LivePod(ctx context.Context, namespace, name string) (observe.Pod, bool, error)
	Claims(ctx context.Context, namespace, pod string) ([]lease.Claim, error)
	ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error)
	Cached(plan.Key) plan.Snapshot
	Live(context.Context, plan.Key) (plan.Snapshot, error)
}

// Judge decides before ctx ends.
func (p *PodEviction) Judge(ctx context.Context, e Eviction) Verdict {
	e.DryRun = e.DryRun || p.DryRun
	switch {
	case !p.Observer.Synced():
		return p.refused(e, objection(reason.CacheNotSynced))
	case !p.Observer.Managed(e.Namespace):
		return Allow(reason.NotManaged)
	case !p.Observer.BudgetsKnown():
		return p.refused(e, objection(reason.CacheNotSynced))
	}
	pod, known := p.Observer.Pod(e.Namespace, e.Pod)
	switch {
	case !known || e.UID != "" && e.UID != pod.UID:
		return p.unseen(ctx, e)
	case pod.Unplaced:
		return p.refused(e, objection(reason.CacheStale))
	case pod.Unclaimed:
		return p.unclaimed(ctx, e)
	case !pod.Held:
		return Allow(reason.NotManaged)
	}
	return p.judge(ctx, pod.Key, e, plan.EvictionRequest{Pod: e.Pod, UID: pod.UID}).of(pod.Key)
}

// Doubt refuses a review that shows no eviction.
func (p *PodEviction) Doubt(about string) Verdict {
	return Deny(http.StatusBadRequest, reason.EvictionUnreadable, "lockstep cannot tell which pod this evicts: "+about)
}

// unseen decides about a pod that the caches do not show: it is gone, or they will
// show it soon.
func (p *PodEviction) unseen(ctx context.Context, e Eviction) Verdict {
	pod, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod)
	switch {
	case err != nil:
		return p.unknown(e, "the API server did not show the pod", err)
	case !exists:
		return p.refused(e, objection(reason.PodNotFound))
	case pod.Unclaimed:
		return p.unclaimed(ctx, e)
	case !pod.Held && !pod.Unplaced:
		return Allow(reason.NotManaged)
	}
	return p.refused(e, objection(reason.CacheStale)) // so is one bound to an earlier pod of this name: the next attempt is bound to this one
}

// unclaimed decides about a pod of a StatefulSet that no hold covers as far as the caches show.
func (p *PodEviction) unclaimed(ctx context.Context, e Eviction) Verdict {
	claims, err := p.Observer.Claims(ctx, e.Namespace, e.Pod)
	if refusal := p.claimed(ctx, e, claims, err); refusal != nil {
		return *refusal
	}
	return Allow(reason.NotManaged)
}

// remembered returns a refusal if a group remembers the StatefulSet of a pod that a budget alone
// covers as far as the caches show, and else nil.
func (p *PodEviction) remembered(ctx context.Context, key plan.Key, e Eviction) *Verdict {
	if key.Kind != plan.KindBudget {
		return nil
	}
	set, _, _ := plan.ParentOf(e.Pod)
	claims, err := p.Observer.ClaimsOfGroups(ctx, e.Namespace, set)
	return p.claimed(ctx, e, claims, err)
}

// claimed returns a refusal if holds that the caches do not show cover a pod by what the API server
// shows, and else nil. The caches may be late, or a hold may be one that they do not show. Such a
// hold gets its label back, so that they show it.
func (p *PodEviction) claimed(ctx context.Context, e Eviction, claims []lease.Claim, err error) *Verdict {
	switch {
	case err != nil:
		return new(p.unknown(e, "the API server did not show the holds of groups", err))
	case len(claims) == 0:
		return nil
	}
	for _, c := range claims {
		if c.Unlabelled && c.Owned() && !e.DryRun {
			relabel(ctx, p.Holds, p.Log, c.Key)
		}
	}
	if slices.ContainsFunc(claims, func(c lease.Claim) bool { return !c.Unreadable }) {
		return new(p.refused(e, objection(reason.CacheStale)))
	}
	unreadable := objection(reason.HoldUnreadable)
	unreadable.Because.Detail = "Lease " + claims[0].Lease
	return new(p.refused(e, unreadable))
}

// judge decides on caches alone. What they allow under a budget alone has to be under no hold of a
// group, which the API server is asked. Only what they allow and the hold has to say waits for the
// group's turn.
func (p *PodEviction) judge(ctx context.Context, key plan.Key, e Eviction, ask plan.EvictionRequest) Verdict {
	defer linkRollout(ctx, p.Holds, key)
	count := func() plan.Outlook { return plan.OutlookOf(p.Observer.Cached(key)) }
	permit := permitted(p.outlooks.of(key, count), e, ask)
	if permit.Allowed() && !permit.NeedsNote() {
		permit = permitted(p.outlooks.anew(key, count), e, ask) // no yes rests on what was counted before
	}
	if !permit.Allowed() {
		if leave, free := p.Turns.try(key); free {
			defer leave()
			p.queue(ctx, key, e, permit)
		}
		return p.told(ctx, e, permit)
	}
	if refusal := p.remembered(ctx, key, e); refusal != nil {
		return *refusal
	}
	if !permit.NeedsNote() {
		return p.told(ctx, e, permit)
	}
	leave, err := p.Turns.take(ctx, key)
	if err != nil {
		permit.Because = noTurn
		return p.told(ctx, e, permit)
	}
	defer leave()
	return p.grant(ctx, key, e, ask)
}

// grant decides again, since others may have been granted meanwhile, and has the
// hold say so before the yes.
func (p *PodEviction) grant(ctx context.Context, key plan.Key, e Eviction, ask plan.EvictionRequest) Verdict {
	permit := plan.EvictionAnswer{}
	for range attempts {
		var decision hold.Decision
		var looked plan.Snapshot
		cached := p.Observer.Cached(key)
		permit, decision = decideGrant(ctx, cached, e, ask)
		if decision.Need == hold.Look || p.behind(cached, decision) {
			live, err := p.Observer.Live(ctx, key)
			if err != nil {
				return p.unknown(e, "the API server did not show the group", err)
			}
			p.Fresh.Looked(live)
			looked = live
			permit, decision = decideGrant(ctx, live, e, ask)
		}
		switch {
		case !permit.Allowed():
			if looked.Hold.Unlabelled && !e.DryRun {
				relabel(ctx, p.Holds, p.Log, key)
			}
			p.queue(ctx, key, e, permit)
			return p.told(ctx, e, permit)
		case !permit.NeedsNote() || e.DryRun:
			return p.told(ctx, e, permit)
		}
		switch err := p.Holds.Write(ctx, key, decision.Record); {
		case errors.Is(err, errOptedOut):
			return Allow(reason.NotManaged)
		case err == nil:
			if looked.Live {
				p.Fresh.Looked(looked) // which may have been forgotten meanwhile, as the end of this process does
			}
			p.outlooks.forget(key)
			return p.told(ctx, e, permit)
		case reason.ClassOf(err) != reason.Moved:
			return p.unknown(e, "the hold could not be written", err)
		}
	}
	permit.Because = overtaken
	return p.told(ctx, e, permit)
}

// behind reports whether a yes would rest on caches that do not show what the last look
// has shown.
func (p *PodEviction) behind(cached plan.Snapshot, decision hold.Decision) bool {
	if decision.Need != hold.Write {
		return false
	}
	missing, _ := p.Fresh.Behind(cached)
	return missing != ""
}

// decideGrant decides about an eviction, and what the hold must say. What would break a rule
// is refused, whatever the planner says.
func decideGrant(ctx context.Context, s plan.Snapshot, e Eviction, ask plan.EvictionRequest) (plan.EvictionAnswer, hold.Decision) {
	permit := permitted(plan.OutlookOf(s), e, ask)
	if !permit.Allowed() || !permit.NeedsNote() {
		return permit, hold.Decision{}
	}
	permit.Note.Trace = telemetry.Traceparent(ctx)
	permit.Note.Unbound = e.UID == ""
	decision := hold.DecideGrant(s, permit.Note)
	if broken := invariant.CheckEviction(s, ask, permit, decision); broken != nil {
		permit.Because = plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}
	}
	return permit, decision
}

// permitted is what the planner says to an eviction. One that is bound to an earlier
// version of the pod would not succeed. One that is bound to a later version would, or
// to any version, and must not where the pod is judged to be down: it may serve by
// then. So it is where another replica bound it, which knew the pod as one that serves.
func permitted(o plan.Outlook, e Eviction, ask plan.EvictionRequest) plan.EvictionAnswer {
	permit := o.Evict(ask)
	judged := max(permit.Version, permit.Note.Version)
	switch {
	case !permit.Allowed():
	case e.Version == 0 && (e.UID == "" || permit.Version == 0):
	case e.Version == 0:
		permit.Because = plan.Refusal{Code: reason.CacheStale, Pod: e.Pod}
	case e.Version < judged:
		permit.Because = plan.Refusal{Code: reason.ObjectChanged, Pod: e.Pod}
	case e.Version > judged && !permit.NeedsNote():
		permit.Because = plan.Refusal{Code: reason.CacheStale, Pod: e.Pod}
	}
	return permit
}

// queue keeps the place of who has to wait.
func (p *PodEviction) queue(ctx context.Context, key plan.Key, e Eviction, permit plan.EvictionAnswer) {
	waits := queueing[permit.Because.Code] && permit.Place.Zone != ""
	if waits && !e.DryRun {
		queue(ctx, p.Holds, p.Log, key, permit.Place)
	}
}

// told is the answer to what was judged.
func (p *PodEviction) told(ctx context.Context, e Eviction, permit plan.EvictionAnswer) Verdict {
	v := Allow(reason.EvictionGranted)
	switch {
	case !permit.Allowed():
		v = p.refused(e, permit)
	case !permit.NeedsNote():
		v = Allow(reason.PodUnavailable)
	}
	if p.Decided != nil && permit.Budget != "" && !e.DryRun {
		p.Decided(ctx, e, permit.Budget, v)
	}
	if p.DryRun || e.UID != "" {
		return v
	}
	if p.Unpinned != nil {
		p.Unpinned()
	}
	v.Warnings = []string{warning("lockstep judged the pod it knows by this name, but nothing binds this eviction to that pod; install the webhook pod-eviction-pin to bind it")}
	return v
}

// objection is one that the planner does not have.
func objection(code reason.Code) plan.EvictionAnswer {
	return plan.EvictionAnswer{Because: plan.Refusal{Code: code}}
}

// unknown refuses for now since the API server did not answer.
func (p *PodEviction) unknown(e Eviction, what string, err error) Verdict {
	v := p.refused(e, objection(reason.ParentUnknown))
	v.Message = shortened(v.Message+"; "+what+": "+err.Error(), mostMessage)
	return v
}

// mostMessage bounds what a refusal says.
const mostMessage = 1024

// refused says what is down in the words of the predecessor, what stands in the way
// and, if that is known, for how long.
func (p *PodEviction) refused(e Eviction, permit plan.EvictionAnswer) Verdict {
	because, where := permit.Because, permit.Zone
	if where == "" {
		where = e.Namespace
	}
	text := fmt.Sprintf("eviction of %s in %s is refused %s", e.Pod, where, inWords(because, p.Clock.Now()))
	if down := formerWords(permit); down != "" {
		text = down + "; " + text
	}
	return Deny(statusOf(because.Code), because.Code, shortened(text, mostMessage))
}

// formerWords are those of the predecessor, which people and programs look for.
func formerWords(permit plan.EvictionAnswer) string {
	if permit.Because.Code == reason.EvictionsNotAllowed {
		return "max unavailable = 0"
	}
	return permit.Tally.String()
}
