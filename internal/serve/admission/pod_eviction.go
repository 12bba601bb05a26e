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
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// PodEviction judges for /admission/pod-eviction. It grants the eviction of a group's pod
// under the hold of the group and within its budget. It refuses evictions that it cannot
// judge. Dry runs are judged like other requests and change nothing.
type PodEviction struct {
	Observer PodObserver
	Pools    PoolObserver // nil: StatefulClusters are not enabled
	Holds    Holds
	Fresh    Freshness
	Locks    *GroupLocks
	Log      *logrus.Logger
	Clock    Clock // for how long a refusal lasts
	DryRun   bool  // treat every request as a dry run
	// Unpinned is called for every eviction that is not bound to the UID of the judged
	// pod. It can be nil.
	Unpinned func()
	// Decided is called for every answer to an eviction of a pod that a budget covers, except
	// for dry runs. It can be nil.
	Decided func(ctx context.Context, e Eviction, budget string, v Verdict)

	outlooks outlooks
}

// Freshness records what this process knows of groups and its caches may not show yet. The
// live reads of webhooks count for the leader's plans, and the leader's live reads count for
// webhooks.
type Freshness interface {
	ReadLive(live plan.Workload)
	Behind(view plan.Workload) (missing string, duration time.Duration)
}

// PodObserver looks up pods and their groups.
type PodObserver interface {
	Synced() bool
	Managed(namespace string) bool
	BudgetsKnown() bool
	Pod(namespace, name string) (observe.Pod, bool)
	LivePod(ctx context.Context, namespace, name string) (observe.Pod, bool, error)
	Claims(ctx context.Context, namespace, pod string) ([]lease.Claim, error)
	ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error)
	Cached(plan.Key) group.Snapshot
	Live(context.Context, plan.Key) (group.Snapshot, error)
}

// Judge decides before ctx ends.
func (p *PodEviction) Judge(ctx context.Context, e Eviction) Verdict {
	e.DryRun = e.DryRun || p.DryRun
	switch {
	case !p.Observer.Synced():
		return p.refused(e, refusalFor(reason.CacheNotSynced))
	case !p.Observer.Managed(e.Namespace):
		return Allow(reason.NotManaged)
	case !p.Observer.BudgetsKnown():
		return p.refused(e, refusalFor(reason.CacheNotSynced))
	}
	pod, known := p.Observer.Pod(e.Namespace, e.Pod)
	switch {
	case !known || e.UID != "" && e.UID != pod.UID:
		return p.judgeUncached(ctx, e)
	case pod.Ambiguous:
		return p.judgeAmbiguous(ctx, e, pod)
	}
	return p.judgeKnown(ctx, e, pod)
}

// judgeKnown decides on the eviction of a pod that the caches show.
func (p *PodEviction) judgeKnown(ctx context.Context, e Eviction, pod observe.Pod) Verdict {
	switch {
	case pod.OutsideStatefulSets() && e.namesZonePod():
		return p.judgeUncached(ctx, e) // a zone's pod may have replaced it, or a StatefulSet may have adopted it
	case pod.OutsideStatefulSets():
		return Allow(reason.NotManaged)
	case pod.Unplaced:
		return p.refused(e, refusalFor(reason.CacheStale))
	case pod.Unclaimed:
		return p.judgeUnclaimed(ctx, e)
	}
	return p.judge(ctx, pod.Key, e, plan.EvictionRequest{Pod: e.Pod, UID: pod.UID}).of(pod.Key)
}

// Doubt refuses a review that contains no valid eviction.
func (p *PodEviction) Doubt(about string) Verdict {
	return Deny(http.StatusBadRequest, reason.EvictionUnreadable, "lockstep cannot tell which pod this evicts: "+about)
}

// judgeUncached decides on the eviction of a pod that the caches do not show, or show as a pod of another
// owner. It reads the pod from the API server. A zone's pod is refused, because the caches will show it soon.
func (p *PodEviction) judgeUncached(ctx context.Context, e Eviction) Verdict {
	pod, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod)
	switch {
	case err != nil:
		return p.unknown(e, "the API server did not show the pod", err)
	case !exists:
		return p.refused(e, refusalFor(reason.PodNotFound))
	case pod.Unclaimed:
		return p.judgeUnclaimed(ctx, e)
	case pod.OutsideStatefulSets():
		return Allow(reason.NotManaged)
	}
	return p.refused(e, refusalFor(reason.CacheStale)) // also if the eviction is bound to an earlier pod: a retry is bound to this pod
}

// judgeAmbiguous decides on the eviction of a StatefulSet's pod that a StatefulCluster may have adopted since. It reads the pod from
// the API server, and refuses if the caches show another state of it.
func (p *PodEviction) judgeAmbiguous(ctx context.Context, e Eviction, cached observe.Pod) Verdict {
	live, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod)
	cached.Ambiguous = false
	switch {
	case err != nil:
		return p.unknown(e, "the API server did not show the pod", err)
	case !exists:
		return p.refused(e, refusalFor(reason.PodNotFound))
	case live.UID != cached.UID || live.Key != cached.Key || live.Held != cached.Held:
		return p.refused(e, refusalFor(reason.CacheStale))
	}
	return p.judgeKnown(ctx, e, cached)
}

// judgeUnclaimed decides on the eviction of a StatefulSet's pod that no hold in the caches covers.
func (p *PodEviction) judgeUnclaimed(ctx context.Context, e Eviction) Verdict {
	claims, err := p.Observer.Claims(ctx, e.Namespace, e.Pod)
	if refusal := p.refusalOfClaims(ctx, e, claims, err); refusal != nil {
		return *refusal
	}
	return Allow(reason.NotManaged)
}

// refusalOfRememberingGroup returns a refusal if a group remembers the StatefulSet of the pod, and nil otherwise. It
// asks the API server only if the caches show a budget but no group for the pod.
func (p *PodEviction) refusalOfRememberingGroup(ctx context.Context, key plan.Key, e Eviction) *Verdict {
	if key.Kind != plan.KindBudget {
		return nil
	}
	set, _, _ := plan.ParentOf(e.Pod)
	claims, err := p.Observer.ClaimsOfGroups(ctx, e.Namespace, set)
	return p.refusalOfClaims(ctx, e, claims, err)
}

// refusalOfClaims returns a refusal if holds cover the pod that the caches do not show, and nil otherwise. The
// caches may be late, or the Lease may have lost its label. It restores the label, so that the
// caches show the Lease.
func (p *PodEviction) refusalOfClaims(ctx context.Context, e Eviction, claims []lease.Claim, err error) *Verdict {
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
		return new(p.refused(e, refusalFor(reason.CacheStale)))
	}
	unreadable := refusalFor(reason.HoldUnreadable)
	unreadable.Because.Detail = "Lease " + claims[0].Lease
	return new(p.refused(e, unreadable))
}

// judge decides on the caches. If the caches allow an eviction under a budget without a group, judge
// asks the API server whether a group's hold covers the pod. Only an eviction that the caches allow
// and that must be recorded in the hold waits for the lock of the group.
func (p *PodEviction) judge(ctx context.Context, key plan.Key, e Eviction, ask plan.EvictionRequest) Verdict {
	defer linkRollout(ctx, p.Holds, key)
	count := func() outlook { return p.cached(key).outlook() }
	permit := permitted(p.outlooks.of(key, count), e, ask)
	if permit.Allowed() && !permit.NeedsRecord() {
		permit = permitted(p.outlooks.fresh(key, count), e, ask) // a grant needs a count that began after the request
	}
	if !permit.Allowed() {
		if leave, free := p.Locks.try(key); free {
			defer leave()
			p.queue(ctx, key, e, permit)
		}
		return p.result(ctx, e, permit)
	}
	if refusal := p.refusalOfRememberingGroup(ctx, key, e); refusal != nil {
		return *refusal
	}
	if !permit.NeedsRecord() {
		return p.result(ctx, e, permit)
	}
	leave, err := p.Locks.take(ctx, key)
	if err != nil {
		permit.Because = tooManyRequests
		return p.result(ctx, e, permit)
	}
	defer leave()
	return p.grant(ctx, key, e, ask)
}

// grant decides again under the lock, because other evictions may have been granted. It
// records the eviction in the hold before it allows it.
func (p *PodEviction) grant(ctx context.Context, key plan.Key, e Eviction, ask plan.EvictionRequest) Verdict {
	permit := plan.EvictionAnswer{}
	for range attempts {
		var decision hold.Decision
		seen := p.cached(key)
		permit, decision = decideGrant(ctx, seen, e, ask)
		if decision.Need == hold.ReadLive || p.behind(seen, decision) {
			live, err := p.live(ctx, key)
			if err != nil {
				return p.unknown(e, "the API server did not show the group", err)
			}
			p.Fresh.ReadLive(live.snapshot())
			seen = live
			permit, decision = decideGrant(ctx, seen, e, ask)
		}
		live := seen.View().Live
		switch {
		case !permit.Allowed():
			if live && seen.Record().Unlabelled && !e.DryRun {
				relabel(ctx, p.Holds, p.Log, key)
			}
			p.queue(ctx, key, e, permit)
			return p.result(ctx, e, permit)
		case !permit.NeedsRecord() || e.DryRun:
			return p.result(ctx, e, permit)
		}
		switch err := p.Holds.Write(ctx, key, decision.Record); {
		case errors.Is(err, errOptedOut):
			return Allow(reason.NotManaged)
		case err == nil:
			if live {
				p.Fresh.ReadLive(seen.snapshot()) // another request may have forgotten it during the write
			}
			p.outlooks.forget(key)
			return p.result(ctx, e, permit)
		case reason.ClassOf(err) != reason.Moved:
			return p.unknown(e, "the hold could not be written", err)
		}
	}
	permit.Because = holdContended
	return p.result(ctx, e, permit)
}

// behind reports whether a grant would rest on caches that are older than the last live
// read.
func (p *PodEviction) behind(cached evictable, decision hold.Decision) bool {
	if decision.Need != hold.Write {
		return false
	}
	missing, _ := p.Fresh.Behind(cached.snapshot())
	return missing != ""
}

// decideGrant returns the planner's answer to an eviction, and the record of the hold. If
// the grant would violate an invariant, decideGrant refuses it.
func decideGrant(ctx context.Context, w evictable, e Eviction, ask plan.EvictionRequest) (plan.EvictionAnswer, hold.Decision) {
	permit := permitted(w.outlook(), e, ask)
	if !permit.Allowed() || !permit.NeedsRecord() {
		return permit, hold.Decision{}
	}
	permit.Record.Trace = telemetry.Traceparent(ctx)
	permit.Record.Unbound = e.UID == ""
	decision := hold.DecideGrant(w, permit.Record)
	if broken := w.violation(ask, permit, decision); broken != nil {
		permit.Because = plan.Refusal{Code: reason.InvariantViolated, Detail: broken.Name}
	}
	return permit, decision
}

// permitted returns the planner's answer to an eviction. If the eviction is bound to an
// earlier version of the pod, it is refused because it cannot succeed. If the judged pod is
// down or an orphan, and the eviction is bound to a later version or only to the UID, it is
// refused as well: the pod may be up, or adopted, by then. Another replica whose caches showed
// the pod as up, or as owned, binds evictions in this way.
func permitted(o outlook, e Eviction, ask plan.EvictionRequest) plan.EvictionAnswer {
	permit := o.Evict(ask)
	judged := max(permit.Version, permit.Record.Version)
	switch {
	case !permit.Allowed():
	case e.Version == 0 && (e.UID == "" || permit.Version == 0):
	case e.Version == 0:
		permit.Because = plan.Refusal{Code: reason.CacheStale, Pod: e.Pod}
	case e.Version < judged:
		permit.Because = plan.Refusal{Code: reason.ObjectChanged, Pod: e.Pod}
	case e.Version > judged && (permit.Version != 0 || !permit.NeedsRecord()):
		permit.Because = plan.Refusal{Code: reason.CacheStale, Pod: e.Pod}
	}
	return permit
}

// queue records the place of a refused eviction in the queue for the group.
func (p *PodEviction) queue(ctx context.Context, key plan.Key, e Eviction, permit plan.EvictionAnswer) {
	if permit.Place.Zone != "" && !e.DryRun {
		queue(ctx, p.Holds, p.Log, key, permit.Place)
	}
}

// result returns the verdict on an eviction that was judged.
func (p *PodEviction) result(ctx context.Context, e Eviction, permit plan.EvictionAnswer) Verdict {
	v := Allow(reason.EvictionGranted)
	switch {
	case !permit.Allowed():
		v = p.refused(e, permit)
	case !permit.NeedsRecord():
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
	v.Warnings = []string{warning("lockstep judged the pod that its cache shows under this name, but this eviction is not bound to that pod; install the webhook pod-eviction-pin to bind it")}
	return v
}

// refusalFor returns a refusal that does not come from the planner.
func refusalFor(code reason.Code) plan.EvictionAnswer {
	return plan.EvictionAnswer{Because: plan.Refusal{Code: code}}
}

// unknown refuses an eviction for now because a request to the API server failed.
func (p *PodEviction) unknown(e Eviction, what string, err error) Verdict {
	v := p.refused(e, refusalFor(reason.ParentUnknown))
	v.Message = shortened(v.Message+"; "+what+": "+err.Error(), mostMessage)
	return v
}

// mostMessage is the maximum length of a refusal's message.
const mostMessage = 1024

// refused returns a refusal. Its message contains the predecessor's text about unavailable
// pods, the reason and, if it is known, how long the refusal lasts.
func (p *PodEviction) refused(e Eviction, permit plan.EvictionAnswer) Verdict {
	because, where := permit.Because, permit.Zone
	if where == "" {
		where = e.Namespace
	}
	text := fmt.Sprintf("eviction of %s in %s is refused %s", e.Pod, where, describe(because, p.Clock.Now()))
	if down := predecessorText(permit); down != "" {
		text = down + "; " + text
	}
	return Deny(statusOf(because.Code), because.Code, shortened(text, mostMessage))
}

// predecessorText returns the predecessor's text, because programs match it.
func predecessorText(permit plan.EvictionAnswer) string {
	if permit.Because.Code == reason.EvictionsNotAllowed {
		return "max unavailable = 0"
	}
	return permit.Tally.String()
}
