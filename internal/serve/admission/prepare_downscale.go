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
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// PrepareDownscale is the Judge of /admission/prepare-downscale: a zone shrinks
// under the hold of its group, and who leaves was prepared. It refuses what it
// cannot know. A dry run is judged like any other request and changes nothing.
type PrepareDownscale struct {
	Observer Observer
	Holds    Holds
	Pods     Pods
	Turns    *GroupLocks
	Log      *logrus.Logger
	Clock    Clock // dates what is noted
	DryRun   bool  // every request is judged as if it were a dry run

	unawaited sync.WaitGroup // what is written although nobody waits for the answer any more
}

// Wait returns when everything is written that answers have left to be written. It is
// called when nobody asks any more, and takes seconds at most.
func (p *PrepareDownscale) Wait() { p.unawaited.Wait() }

// Observer knows groups.
type Observer interface {
	Synced() bool
	Managed(namespace string) bool
	Set(namespace, name string) (observe.Set, bool)
	LiveSet(ctx context.Context, namespace, name string) (observe.Set, error)
	ClaimsOfGroups(ctx context.Context, namespace, set string) ([]lease.Claim, error)
	Cached(plan.Key) plan.Snapshot
	Live(context.Context, plan.Key) (plan.Snapshot, error)
}

// Clock tells the time by which API objects are dated.
type Clock interface{ Now() time.Time }

// Pods answer calls. An error says which of them did not.
type Pods interface {
	// Prepare tells also whether any of them may have heard the call.
	Prepare(ctx context.Context, key plan.Key, zone plan.Zone, pods []plan.Pod) (heard bool, err error)
}

const (
	// attempts are how often a decision is made anew because the Lease has changed.
	attempts = 3
	// detached bounds what is written when nobody waits for the answer any more.
	detached = 5 * time.Second
)

// Judge implements Judge.
func (p *PrepareDownscale) Judge(ctx context.Context, c Change) Verdict {
	c.DryRun = c.DryRun || p.DryRun
	shrinks, known := c.Shrinks()
	switch {
	case !known:
		return p.Doubt(reason.ReplicasUnknown, "one of old and new object has no spec.replicas")
	case !shrinks && !c.Moves():
		return Allow(reason.NotADownscale)
	case *c.To < 0:
		return p.doubt(c, reason.ObjectUnreadable, "nothing has fewer than 0 replicas")
	case c.Group != "apps" || c.Resource != "statefulsets":
		return Allow(reason.NotManaged)
	case !p.Observer.Synced():
		return p.doubt(c, reason.CacheNotSynced, "this replica has not seen the cluster yet")
	case !p.Observer.Managed(c.Namespace):
		return Allow(reason.NotManaged)
	}
	v := p.judgeSet(ctx, c, shrinks)
	v.Warnings = append(v.Warnings, misread(c)...)
	return v
}

// judgeSet decides about a StatefulSet of a managed namespace.
func (p *PrepareDownscale) judgeSet(ctx context.Context, c Change, shrinks bool) Verdict {
	set, err := p.set(ctx, c)
	switch {
	case err != nil:
		return p.doubt(c, reason.ParentUnknown, err.Error())
	case shrinks && c.Regroups():
		return p.regrouped(c).of(set.Key)
	}
	if inGroup := set.Held && set.Key.Rolled(); !inGroup {
		if refusal := p.awaited(ctx, c); refusal != nil {
			return *refusal
		}
	}
	switch {
	case !set.Held:
		return Allow(reason.NotManaged)
	case c.Moves():
		return p.moved(c).of(set.Key)
	}
	return p.judge(ctx, set.Key, c).of(set.Key)
}

// set returns the StatefulSet at least as new as the request shows it: its labels
// may just have changed.
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
		code = http.StatusTooManyRequests // the next attempt may find it
	}
	return Deny(code, why, "lockstep cannot tell whether this downscale is safe: "+about)
}

// doubt is Doubt about a change that is known.
func (p *PrepareDownscale) doubt(c Change, why reason.Code, about string) Verdict {
	return c.doubted(p.Doubt(why, about), "")
}

// judge decides on caches and, if they allow it, again on a live read, under
// which the hold is taken.
func (p *PrepareDownscale) judge(ctx context.Context, key plan.Key, c Change) Verdict {
	defer linkRollout(ctx, p.Holds, key)
	version, ok := plan.ParseVersion(c.Old.Version)
	if !ok {
		return p.doubt(c, reason.ObjectUnreadable, "the old object has no resourceVersion")
	}
	if c.New.Version != "" && c.New.Version != c.Old.Version {
		return p.refused(c, objecting(plan.Refusal{Code: reason.ObjectChanged, Zone: c.Name}))
	}
	ask := plan.DownscaleRequest{Zone: c.Name, UID: c.Old.UID, Version: version, From: int(*c.From), To: int(*c.To)}
	leave, err := p.Turns.take(ctx, key)
	if err != nil {
		return p.refused(c, objecting(noTurn))
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
		v := plan.Admit(live, ask)
		switch {
		case !v.Allowed():
			if live.Hold.Unlabelled && !c.DryRun {
				relabel(ctx, p.Holds, p.Log, key)
			}
			return p.wait(ctx, key, c, v)
		case c.DryRun || (v.Note.None() && !v.Dated):
			return Allow(reason.DownscaleAdmitted)
		}
		record := hold.Admit(live, v, ask.Zone)
		record.Own = false // whoever rolls the group looks before going on
		switch err := p.Holds.Write(ctx, key, record); {
		case errors.Is(err, errOptedOut):
			return Allow(reason.NotManaged)
		case reason.ClassOf(err) == reason.Moved:
			continue
		case err != nil:
			if !v.Dated {
				p.forgo(ctx, key, v)
			}
			return p.doubt(c, reason.ParentUnknown, "the hold could not be written: "+err.Error())
		}
		leave()
		if v.Dated {
			return p.admitted(c, plan.Decrease{Since: live.Now})
		}
		return p.prepare(ctx, key, c, live, v)
	}
	return p.refused(c, objecting(overtaken))
}

// forgo takes back a note that nobody rests on: its write was not answered, and may
// have been carried out all the same. Where it is not seen yet, whoever leads
// finds it.
func (p *PrepareDownscale) forgo(ctx context.Context, key plan.Key, v plan.DownscaleAnswer) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detached)
	p.unawaited.Go(func() {
		defer stop()
		if err := p.stage(ctx, key, v.Note, p.inVain(v, false)); err != nil {
			p.Log.WithContext(ctx).WithError(err).Debug("a note that came too late is taken back by whoever leads")
		}
	})
}

// refusal is what the caches object. What they cannot know is not refused yet: a
// StatefulSet that they do not show, the newest note of lockstep's own downscale.
func (p *PrepareDownscale) refusal(key plan.Key, ask plan.DownscaleRequest) plan.DownscaleAnswer {
	cached := p.Observer.Cached(key)
	v := plan.Admit(cached, ask)
	ours := v.Because.Code == reason.ZoneShrinking && cached.Hold.Decrease.Ours
	if ours || v.Because.Code == reason.CacheStale {
		return plan.DownscaleAnswer{}
	}
	return v
}

// prepare asks who leaves, and says yes when all have answered, nothing speaks against
// it by then and the hold says so. What goes wrong is written down, and undone by whoever leads.
//
// In a namespace that opted out meanwhile nothing is written down and nobody is
// called any more. It gets no yes, since the hold cannot say so: a note at the stage
// Preparing stays, which is undone if the namespace opts in again.
func (p *PrepareDownscale) prepare(ctx context.Context, key plan.Key, c Change, live plan.Snapshot, v plan.DownscaleAnswer) Verdict {
	if len(v.Ask) == 0 {
		return p.admitted(c, v.Note)
	}
	heard, answer := p.ask(ctx, key, live, v)
	if answer.Allowed() {
		return p.admitted(c, v.Note)
	}
	written := make(chan struct{})
	p.unawaited.Go(func() {
		defer close(written)
		p.undo(ctx, key, v, heard)
	})
	select {
	case <-written:
	case <-ctx.Done(): // the answer cannot wait any longer
	}
	return p.wait(ctx, key, c, answer)
}

// ask asks who leaves, and writes down that all agreed if nothing speaks against it by
// then. It reports whether somebody may have heard that it leaves.
func (p *PrepareDownscale) ask(ctx context.Context, key plan.Key, live plan.Snapshot, v plan.DownscaleAnswer) (heard bool, answer plan.DownscaleAnswer) {
	zone, _ := live.Zone(v.Note.Zone)
	heard, err := p.Pods.Prepare(ctx, key, zone, v.Ask)
	if err != nil {
		return heard, objecting(plan.Refusal{Code: reason.PreparationFailed, Detail: err.Error()})
	}
	return heard, p.admit(ctx, key, v)
}

// admit writes down that all agreed, if nothing speaks against it by then: neither what
// became of the group meanwhile nor what the very Lease says that is written over.
func (p *PrepareDownscale) admit(ctx context.Context, key plan.Key, v plan.DownscaleAnswer) (answer plan.DownscaleAnswer) {
	err := p.rewrite(ctx, key, func(record *plan.Hold) error {
		if answer = plan.StillAdmits(p.Observer.Cached(key), v.Note, v.Ask); !answer.Allowed() {
			return errRefused
		}
		return advance(record, v.Note, func(d plan.Decrease) plan.Decrease {
			d.Stage, d.Since = plan.Admitted, p.Clock.Now()
			return d
		})
	})
	if err != nil && answer.Allowed() {
		answer = objecting(unwritten(err))
	}
	return answer
}

// unwritten says why it could not be written down that all agreed.
func unwritten(err error) plan.Refusal {
	switch {
	case errors.Is(err, errTakenBack):
		return plan.Refusal{Code: reason.PreparationCancelled, Detail: err.Error()}
	case errors.Is(err, errOptedOut):
		return plan.Refusal{Code: reason.ParentUnknown, Detail: err.Error()}
	case reason.ClassOf(err) == reason.Moved:
		return overtaken
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: "the hold could not be written: " + err.Error()}
}

// undo writes down that a decrease will not happen, and that those are to be told who
// may have heard of it.
func (p *PrepareDownscale) undo(ctx context.Context, key plan.Key, v plan.DownscaleAnswer, heard bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), detached)
	defer stop()
	err := p.stage(ctx, key, v.Note, p.inVain(v, heard))
	if errors.Is(err, errTakenBack) && heard {
		err = p.undoAnew(ctx, key, v.Note)
	}
	if err != nil {
		p.Log.WithContext(ctx).WithFields(logrus.Fields{"namespace": key.Namespace, "group": key.Name, "zone": v.Note.Zone}).
			WithError(err).Warn("a downscale that failed is undone later")
	}
}

var (
	errTakenBack = errors.New("it was taken back meanwhile")
	errRefused   = errors.New("it is refused by now")
)

// inVain returns what a decrease that will not happen is noted as: what nobody has heard of
// makes way for what is left of the one before it.
func (p *PrepareDownscale) inVain(v plan.DownscaleAnswer, heard bool) func(plan.Decrease) plan.Decrease {
	return func(d plan.Decrease) plan.Decrease {
		if heard {
			return d.TakenBack(p.Clock.Now())
		}
		return v.Former
	}
}

// stage changes what is noted of a decrease that is being prepared, if it still is.
func (p *PrepareDownscale) stage(ctx context.Context, key plan.Key, note plan.Decrease, next func(plan.Decrease) plan.Decrease) error {
	return p.rewrite(ctx, key, func(record *plan.Hold) error { return advance(record, note, next) })
}

// advance brings a decrease that is noted to its next stage.
func advance(record *plan.Hold, note plan.Decrease, next func(plan.Decrease) plan.Decrease) error {
	d := record.Decrease
	d.Since, d.Trace = note.Since, note.Trace
	if d != note || !hold.Written(note.Since).Equal(hold.Written(record.Decrease.Since)) {
		return errTakenBack
	}
	record.Decrease = next(record.Decrease)
	return nil
}

// undoAnew notes a decrease to be undone that somebody else has given up: pods
// may have been asked after that one told them to stay.
func (p *PrepareDownscale) undoAnew(ctx context.Context, key plan.Key, note plan.Decrease) error {
	return p.rewrite(ctx, key, func(record *plan.Hold) error {
		next, possible := hold.UndoAnew(*record, note, p.Clock.Now())
		if !possible {
			return errTakenBack
		}
		*record = next
		return nil
	})
}

// rewrite changes the newest record by compare-and-swap.
func (p *PrepareDownscale) rewrite(ctx context.Context, key plan.Key, change func(*plan.Hold) error) error {
	var err error
	for range attempts {
		record := p.Holds.Cached(key)
		if err := change(&record); err != nil {
			return err
		}
		record.Own = false
		if err = p.Holds.Write(ctx, key, record); reason.ClassOf(err) != reason.Moved {
			break
		}
	}
	return err
}

// admitted says yes. The time of the downscale goes along where it can.
func (p *PrepareDownscale) admitted(c Change, note plan.Decrease) Verdict {
	v := Allow(reason.DownscaleAdmitted)
	if c.Full() {
		v.Patch = stamp(c.New.Annotations, note.Since)
	}
	return v
}

// stamp is a JSON patch that notes the time of a downscale.
func stamp(annotations map[string]string, at time.Time) []byte {
	text := contract.FormatDownscaled(at)
	if annotations == nil {
		return patch(operation{"add", "/metadata/annotations", map[string]string{contract.DownscaledAnnotation: text}})
	}
	return patch(operation{"add", "/metadata/annotations/" + strings.ReplaceAll(contract.DownscaledAnnotation, "/", "~1"), text})
}

// wait refuses for now, and keeps the place in the queue.
func (p *PrepareDownscale) wait(ctx context.Context, key plan.Key, c Change, answer plan.DownscaleAnswer) Verdict {
	if queueing[answer.Because.Code] && !c.DryRun {
		now := p.Clock.Now()
		queue(ctx, p.Holds, p.Log, key, plan.Waiting{Operation: plan.Downscale, Zone: c.Name, Since: now, LastSeen: now})
	}
	return p.refused(c, answer)
}

// refused refuses in the words of the predecessor and of lockstep.
func (p *PrepareDownscale) refused(c Change, answer plan.DownscaleAnswer) Verdict {
	return c.refused(answer, p.Clock.Now())
}
