package pools

import (
	"fmt"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// disruptions returns the pods that a plan disrupts.
func disruptions(steps []plan.Action) []plan.Disruption {
	var all []plan.Disruption
	for _, step := range steps {
		switch a := step.(type) {
		case plan.DeletePod:
			all = append(all, plan.Disruption(a))
		case pool.UpdateInPlace:
			all = append(all, a.Of)
		case pool.BeginUpdate:
			all = append(all, a.Of)
		}
	}
	return all
}

// stages returns the pods of which a plan goes on with an update in place, which may interrupt their containers.
func stages(steps []plan.Action) []plan.Disruption {
	var all []plan.Disruption
	for _, step := range steps {
		switch a := step.(type) {
		case pool.ResizePod:
			all = append(all, plan.Disruption{Pod: a.Pod, UID: a.UID, Version: a.Version})
		case pool.SetGate:
			if !a.Open {
				all = append(all, plan.Disruption{Pod: a.Pod, UID: a.UID, Version: a.Version})
			}
		}
	}
	return all
}

func breaksOutsideKept(v *view, steps []plan.Action) string {
	if !v.heldOutside() {
		return ""
	}
	next, h := &v.decision.Record, &v.Hold
	changed := next.Holder != h.Holder || !next.Renewed.Equal(h.Renewed) || next.Duration != h.Duration
	switch {
	case v.decision.Need == hold.Remove, v.decision.Need == hold.Write && (changed || h.Unreadable != ""):
		return fmt.Sprintf("the hold of %q is written over", h.Holder)
	case len(disruptions(steps))+len(stages(steps)) > 0:
		return fmt.Sprintf("%s is disrupted under the hold of %q", append(disruptions(steps), stages(steps)...)[0].Pod, h.Holder)
	case len(only[pool.RetireIdentity](steps)) > 0, len(only[pool.DeleteClaims](steps)) > 0:
		return fmt.Sprintf("claims change under the hold of %q", h.Holder)
	}
	return ""
}

func breaksRecordedFirst(v *view, steps []plan.Action) string {
	for _, d := range disruptions(steps) {
		recorded := slices.ContainsFunc(v.recorded(), func(i plan.Intent) bool {
			return i.Pod == d.Pod && i.UID == d.UID && i.Version == d.Version && i.Cause == d.Because
		})
		if v.decision.Need != hold.Write || !recorded {
			return fmt.Sprintf("%s is disrupted because of %s, and that is not recorded", d.Pod, d.Because)
		}
	}
	for _, d := range stages(steps) {
		if p, _ := v.podNamed(d.Pod); !v.hasBegun(&p) {
			return fmt.Sprintf("the update of %s in place goes on, and that is not recorded", d.Pod)
		}
	}
	return ""
}

func breaksRecordKept(v *view, _ []plan.Action) string {
	if v.decision.Need != hold.Write && v.decision.Need != hold.Remove {
		return ""
	}
	for _, i := range v.counting {
		p, shown := v.podNamed(i.Pod)
		next := shown && p.UID != i.UID && p.Version > i.Version // the intent of the next pod may replace that of the former
		hadNext := func(k plan.Intent) bool { return !shown && v.namesPod(i.Pod, k.UID) }
		kept := slices.ContainsFunc(v.decision.Record.Intents, func(k plan.Intent) bool {
			return k.Pod == i.Pod && (next || hadNext(k) || k.UID == i.UID && (k.Version == i.Version || !isGrant(i)))
		})
		if v.decision.Need == hold.Remove || !kept {
			return fmt.Sprintf("the record of %s because of %s is dropped, and it may still happen", i.Pod, i.Cause)
		}
	}
	return ""
}

func breaksConfirmedFirst(v *view, steps []plan.Action) string {
	if all := disruptions(steps); len(all) > 0 && !v.decision.Verify {
		return fmt.Sprintf("%s is disrupted without a further read", all[0].Pod)
	}
	return ""
}

func breaksExactTarget(v *view, steps []plan.Action) string {
	named := map[string]bool{}
	for _, d := range append(disruptions(steps), stages(steps)...) {
		p, shown := v.podNamed(d.Pod)
		if !shown || !v.owned(&p) || p.UID != d.UID || p.Version != d.Version || terminates(&p) || named[d.Pod] {
			return fmt.Sprintf("%s (%s at %d) is disrupted, and it is not shown in this way", d.Pod, d.UID, d.Version)
		}
		named[d.Pod] = true
	}
	return ""
}

// forUpdates are the causes for which lockstep disrupts pods that serve, and could leave them.
var forUpdates = []reason.Code{reason.UpdatedInPlace, reason.IdentityHandover, reason.UpdatedByNewIdentity, reason.ReplacementAsked}

func breaksWithinMaxUnavailable(v *view, steps []plan.Action) string {
	var names []string
	limit := v.maxUnavailable()
	for _, d := range disruptions(steps) {
		p, _ := v.podNamed(d.Pod)
		if !slices.Contains(forUpdates, d.Because) || !isUp(&p) || p.Node.Gone || p.Update.Begun {
			continue
		}
		if names = append(names, d.Pod); d.Because == reason.ReplacementAsked {
			limit = max(limit, 1)
		}
	}
	if down := v.unavailableWithout(names...); len(names) > 0 && down > limit {
		return fmt.Sprintf("%s is disrupted with %d unavailable of at most %d", names[0], down, limit)
	}
	return ""
}

// eviction is an eviction that was allowed, and what the snapshot shows of the pod.
type eviction struct {
	plan.EvictionRequest
	plan.EvictionAnswer
	pod   pool.Pod
	shown bool
}

func (v *view) eviction(r plan.EvictionRequest, a plan.EvictionAnswer) *eviction {
	e := &eviction{EvictionRequest: r, EvictionAnswer: a}
	e.pod, e.shown = v.podNamed(r.Pod)
	return e
}

// serves reports whether the eviction costs availability that counts: its pod is up and the object's, and that is not being
// deleted.
func (e *eviction) serves(v *view) bool {
	return isUp(&e.pod) && v.owned(&e.pod) && !v.Object.Deleting
}

func breaksGrantRecorded(v *view, e *eviction) string {
	recorded := v.decision.Need == hold.Write && slices.ContainsFunc(v.decision.Record.Intents, func(i plan.Intent) bool {
		return i.Pod == e.pod.Name && i.UID == e.pod.UID && i.Version == e.pod.Version && isGrant(i)
	})
	switch {
	case e.serves(v) && !recorded:
		return fmt.Sprintf("%s may be evicted and is not recorded", e.Pod)
	case e.serves(v) && v.heldOutside():
		return fmt.Sprintf("%s may be evicted under the hold of %q", e.Pod, v.Hold.Holder)
	case v.decision.Need == hold.Write:
		return breaksRecordKept(v, nil)
	}
	return ""
}

func breaksGrantWithinBudget(v *view, e *eviction) string {
	limit := max(1, v.maxUnavailable())
	if down := v.unavailableWithout(e.Pod); e.serves(v) && down > limit {
		return fmt.Sprintf("%s may go, with %d unavailable of at most %d", e.Pod, down, limit)
	}
	return ""
}

func breaksExactGrant(v *view, e *eviction) string {
	exact := e.shown && (v.owned(&e.pod) || e.pod.Owner == "" || terminates(&e.pod)) && e.UID == e.pod.UID
	if !isUp(&e.pod) && !terminates(&e.pod) {
		exact = exact && e.EvictionAnswer.Version == e.pod.Version // at another version it may serve
	}
	if !exact {
		return fmt.Sprintf("%s (%s) may go at %d, and it is not shown in this way", e.Pod, e.UID, e.EvictionAnswer.Version)
	}
	return ""
}
