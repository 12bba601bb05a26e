package admission

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// PrepareDownscale is the Judge of /admission/prepare-downscale. A zone scales down under the
// hold of its group, after its last pods were prepared. PrepareDownscale refuses downscales that
// it cannot judge. Dry runs are judged like other requests and change nothing.
type PrepareDownscale struct {
	Observer Observer
	Holds    Holds
	Pods     Pods
	Locks    *GroupLocks
	Log      *logrus.Logger
	Clock    Clock // for the times in holds
	DryRun   bool  // treat every request as a dry run

	background sync.WaitGroup // writes that continue after the answer
}

// Wait returns after all writes that outlast their requests. Callers use it after the last
// request; it takes seconds at most.
func (p *PrepareDownscale) Wait() { p.background.Wait() }

// Observer looks up StatefulSets and groups.
type Observer interface {
	Synced() bool
	Managed(namespace string) bool
	Set(namespace, name string) (observe.Set, bool)
	LiveSet(ctx context.Context, namespace, name string) (observe.Set, error)
	ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error)
	Cached(plan.Key) group.Snapshot
	Live(context.Context, plan.Key) (group.Snapshot, error)
}

// Clock returns the time for API objects.
type Clock interface{ Now() time.Time }

// Pods calls the pods that a downscale removes.
type Pods interface {
	// Prepare also returns whether any pod may have received the call.
	Prepare(ctx context.Context, key plan.Key, zone group.Zone, pods []plan.Pod) (delivered bool, err error)
}

const (
	// attempts is how often a decision is repeated because the Lease has changed.
	attempts = 3
	// detachedTimeout limits writes that outlast their request.
	detachedTimeout = 5 * time.Second
)

// Judge implements Judge.
func (p *PrepareDownscale) Judge(ctx context.Context, c Change) Verdict {
	c.DryRun = c.DryRun || p.DryRun
	shrinks, known := c.Shrinks()
	switch {
	case !known:
		return p.Doubt(reason.ReplicasUnknown, "the old or the new object has no spec.replicas")
	case !shrinks && !c.MovesOrdinals():
		return Allow(reason.NotADownscale)
	case *c.To < 0:
		return p.doubt(c, reason.ObjectUnreadable, "spec.replicas is negative")
	case c.Group != "apps" || c.Resource != "statefulsets":
		return Allow(reason.NotManaged)
	case !p.Observer.Synced():
		return p.doubt(c, reason.CacheNotSynced, "the caches of this replica have not synced yet")
	case !p.Observer.Managed(c.Namespace):
		return Allow(reason.NotManaged)
	}
	v := p.judgeSet(ctx, c, shrinks)
	v.Warnings = append(v.Warnings, groupWarnings(c)...)
	return v
}

// judgeSet decides on a StatefulSet of a managed namespace.
func (p *PrepareDownscale) judgeSet(ctx context.Context, c Change, shrinks bool) Verdict {
	set, err := p.set(ctx, c)
	switch {
	case err != nil:
		return p.doubt(c, reason.ParentUnknown, err.Error())
	case shrinks && c.ChangesGroup():
		return p.refuseRegroup(c).of(set.Key)
	}
	if inGroup := set.Held && set.Key.Rolled(); !inGroup {
		if refusal := p.refusalOfFormerGroup(ctx, c); refusal != nil {
			return *refusal
		}
	}
	switch {
	case !set.Held:
		return Allow(reason.NotManaged)
	case c.MovesOrdinals():
		return p.refuseMove(c).of(set.Key)
	}
	return p.judge(ctx, set.Key, c).of(set.Key)
}

// set returns the StatefulSet at least as new as in the request, because its labels may
// have just changed.
func (p *PrepareDownscale) set(ctx context.Context, c Change) (observe.Set, error) {
	shown, ok := plan.ParseVersion(c.Old.Version)
	if set, known := p.Observer.Set(c.Namespace, c.Name); known && ok && set.Version >= shown {
		return set, nil
	}
	return p.Observer.LiveSet(ctx, c.Namespace, c.Name)
}

// Doubt implements Judge.
func (p *PrepareDownscale) Doubt(why reason.Code, about string) Verdict {
	code := http.StatusBadRequest
	if why == reason.ParentUnknown || why == reason.CacheNotSynced {
		code = http.StatusTooManyRequests // a retry can succeed
	}
	return Deny(code, why, "lockstep cannot tell whether this downscale is safe: "+about)
}

// doubt is Doubt for a change that could be parsed.
func (p *PrepareDownscale) doubt(c Change, why reason.Code, about string) Verdict {
	return c.doubted(p.Doubt(why, about), "")
}

// judge decides on the caches. If they allow the downscale, judge decides again on a live
// read, and takes the hold.
func (p *PrepareDownscale) judge(ctx context.Context, key plan.Key, c Change) Verdict {
	defer linkRollout(ctx, p.Holds, key)
	version, ok := plan.ParseVersion(c.Old.Version)
	if !ok {
		return p.doubt(c, reason.ObjectUnreadable, "the old object has no resourceVersion")
	}
	if c.New.Version != "" && c.New.Version != c.Old.Version {
		return p.refused(c, refusing(plan.Refusal{Code: reason.ObjectChanged, Zone: c.Name}))
	}
	ask := group.DownscaleRequest{Zone: c.Name, UID: c.Old.UID, Version: version, From: int(*c.From), To: int(*c.To)}
	leave, err := p.Locks.take(ctx, key)
	if err != nil {
		return p.refused(c, refusing(tooManyRequests))
	}
	defer leave()
	if cached := p.refusal(key, ask); !cached.Allowed() {
		return p.wait(ctx, key, c, cached)
	}
	for range attempts {
		live, err := p.Observer.Live(ctx, key)
		if err != nil {
			return p.unread(c, "the group", err)
		}
		v := group.Admit(live, ask)
		switch {
		case !v.Allowed():
			if live.Hold.Unlabelled && !c.DryRun {
				relabel(ctx, p.Holds, p.Log, key)
			}
			return p.wait(ctx, key, c, v)
		case c.DryRun || (v.Record.None() && !v.Dated):
			return Allow(reason.DownscaleAdmitted)
		}
		next := hold.Admit(&live, v.Admission(&live, ask.Zone))
		next.Own = false // so the leader reads the group live before it continues
		switch err := p.Holds.Write(ctx, key, next); {
		case errors.Is(err, errOptedOut):
			return Allow(reason.NotManaged)
		case reason.ClassOf(err) == reason.Moved:
			continue
		case err != nil:
			if !v.Dated {
				p.cancel(ctx, key, v)
			}
			return p.doubt(c, reason.ParentUnknown, "the hold could not be written: "+err.Error())
		}
		leave()
		if v.Dated {
			return p.admitted(c, group.Downscale{Since: live.Now})
		}
		return p.prepare(ctx, key, c, live, v)
	}
	return p.refused(c, refusing(holdContended))
}

// cancel removes the record of a downscale whose write returned an error but may have
// succeeded. No answer depends on the record. If the record is not visible yet, the leader
// removes it.
func (p *PrepareDownscale) cancel(ctx context.Context, key plan.Key, v group.DownscaleAnswer) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	p.background.Go(func() {
		defer stop()
		if err := p.stage(ctx, key, v.Record, p.cancelled(v, false)); err != nil {
			p.Log.WithContext(ctx).WithError(err).Debug("the record of a refused downscale was not removed; the leader removes it")
		}
	})
}

// refusal returns the objection of the caches. It ignores objections that a live read can
// clear: the caches do not show the StatefulSet, or show lockstep's own downscale.
func (p *PrepareDownscale) refusal(key plan.Key, ask group.DownscaleRequest) group.DownscaleAnswer {
	cached := p.Observer.Cached(key)
	v := group.Admit(cached, ask)
	ours := v.Because.Code == reason.ZoneShrinking && cached.Hold.Downscale.Ours
	if ours || v.Because.Code == reason.CacheStale {
		return group.DownscaleAnswer{}
	}
	return v
}

// prepare calls the pods that the downscale removes. It admits the downscale if all pods have
// agreed, no new objection exists, and the hold records the agreement. If a step fails, the hold
// records that, and the leader undoes the preparation.
//
// If the namespace opts out in the meantime, lockstep writes no record and calls no pod. The
// downscale is refused, because the hold cannot record the agreement. The record stays at the
// stage Preparing; the preparation is undone if the namespace opts in again.
func (p *PrepareDownscale) prepare(ctx context.Context, key plan.Key, c Change, live group.Snapshot, v group.DownscaleAnswer) Verdict {
	if len(v.Ask) == 0 {
		return p.admitted(c, v.Record)
	}
	delivered, answer := p.ask(ctx, key, live, v)
	if answer.Allowed() {
		return p.admitted(c, v.Record)
	}
	written := make(chan struct{})
	p.background.Go(func() {
		defer close(written)
		p.undo(ctx, key, v, delivered)
	})
	select {
	case <-written:
	case <-ctx.Done(): // the write continues after the answer
	}
	return p.wait(ctx, key, c, answer)
}

// ask calls the pods that the downscale removes, and records that all agreed unless there is a
// new objection. It reports whether any pod may have received the call.
func (p *PrepareDownscale) ask(ctx context.Context, key plan.Key, live group.Snapshot, v group.DownscaleAnswer) (delivered bool, answer group.DownscaleAnswer) {
	zone, _ := live.Zone(v.Record.Zone)
	delivered, err := p.Pods.Prepare(ctx, key, zone, v.Ask)
	if err != nil {
		return delivered, refusing(plan.Refusal{Code: reason.PreparationFailed, Detail: err.Error()})
	}
	return delivered, p.admit(ctx, key, v)
}

// admit records that all pods agreed. It refuses if the group has changed in the meantime, or if
// the Lease that it overwrites objects.
func (p *PrepareDownscale) admit(ctx context.Context, key plan.Key, v group.DownscaleAnswer) (answer group.DownscaleAnswer) {
	err := p.Holds.rewrite(ctx, key, func(held *group.Hold) error {
		if answer = group.StillAdmits(p.Observer.Cached(key), v.Record, v.Ask); !answer.Allowed() {
			return errRefused
		}
		return advance(held, v.Record, func(d group.Downscale) group.Downscale {
			d.Stage, d.Since = group.Admitted, p.Clock.Now()
			return d
		})
	})
	if err != nil && answer.Allowed() {
		answer = refusing(refusalOfFailedWrite(err))
	}
	return answer
}

// refusalOfFailedWrite returns the refusal if the agreement could not be recorded.
func refusalOfFailedWrite(err error) plan.Refusal {
	switch {
	case errors.Is(err, errCancelled):
		return plan.Refusal{Code: reason.PreparationCancelled, Detail: err.Error()}
	case errors.Is(err, errOptedOut):
		return plan.Refusal{Code: reason.ParentUnknown, Detail: err.Error()}
	case reason.ClassOf(err) == reason.Moved:
		return holdContended
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: "the hold could not be written: " + err.Error()}
}

// undo records that a downscale will not happen, and that pods which may have received the
// call must be notified.
func (p *PrepareDownscale) undo(ctx context.Context, key plan.Key, v group.DownscaleAnswer, delivered bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	defer stop()
	err := p.stage(ctx, key, v.Record, p.cancelled(v, delivered))
	if errors.Is(err, errCancelled) && delivered {
		err = p.Holds.UndoAgain(ctx, key, v.Record, p.Clock)
	}
	if err != nil {
		p.Log.WithContext(ctx).WithFields(logrus.Fields{"namespace": key.Namespace, "group": key.Name, "zone": v.Record.Zone}).
			WithError(err).Warn("a failed downscale could not be recorded; the leader undoes it later")
	}
}

var (
	errCancelled = errors.New("the downscale was cancelled meanwhile")
	errRefused   = errors.New("the downscale is refused meanwhile")
)

// cancelled returns the record of a downscale that will not happen. If no pod received the
// call, the previous record is restored.
func (p *PrepareDownscale) cancelled(v group.DownscaleAnswer, delivered bool) func(group.Downscale) group.Downscale {
	return func(d group.Downscale) group.Downscale {
		if delivered {
			return d.TakenBack(p.Clock.Now())
		}
		return v.Former
	}
}

// stage changes the record of a downscale in preparation, if it is still recorded.
func (p *PrepareDownscale) stage(ctx context.Context, key plan.Key, recorded group.Downscale, next func(group.Downscale) group.Downscale) error {
	return p.Holds.rewrite(ctx, key, func(held *group.Hold) error { return advance(held, recorded, next) })
}

// advance moves a recorded downscale to its next stage.
func advance(held *group.Hold, recorded group.Downscale, next func(group.Downscale) group.Downscale) error {
	d := held.Downscale
	d.Since, d.Trace = recorded.Since, recorded.Trace
	if d != recorded || !record.Written(recorded.Since).Equal(record.Written(held.Downscale.Since)) {
		return errCancelled
	}
	held.Downscale = next(held.Downscale)
	return nil
}

// admitted allows a downscale. If the full object is under review, a patch sets its downscale time.
func (p *PrepareDownscale) admitted(c Change, recorded group.Downscale) Verdict {
	v := Allow(reason.DownscaleAdmitted)
	if c.Full() {
		v.Patch = stamp(c.New.Annotations, recorded.Since)
	}
	return v
}

// stamp returns a JSON patch that sets the downscale time.
func stamp(annotations map[string]string, at time.Time) []byte {
	text := contract.FormatDownscaled(at)
	if annotations == nil {
		return patch(operation{"add", "/metadata/annotations", map[string]string{contract.DownscaledAnnotation: text}})
	}
	return patch(operation{"add", "/metadata/annotations/" + strings.ReplaceAll(contract.DownscaledAnnotation, "/", "~1"), text})
}

// wait refuses a downscale for now, and keeps its place in the queue.
func (p *PrepareDownscale) wait(ctx context.Context, key plan.Key, c Change, answer group.DownscaleAnswer) Verdict {
	if group.KeepsPlace(answer.Because.Code) && !c.DryRun {
		now := p.Clock.Now()
		queue(ctx, p.Holds, p.Log, key, plan.Waiting{Operation: plan.DownscaleOperation, Zone: c.Name, Since: now, LastSeen: now})
	}
	return p.refused(c, answer)
}

// refused returns a refusal with the predecessor's text and lockstep's.
func (p *PrepareDownscale) refused(c Change, answer group.DownscaleAnswer) Verdict {
	return c.refused(answer, p.Clock.Now())
}
