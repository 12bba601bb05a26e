package walk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// boundEviction is an eviction with its preconditions: the pod's UID and, if the pod was down, its
// version. Without a UID it applies to any pod with that name.
type boundEviction struct {
	zone, ordinal int
	uid           string
	version       plan.Version
}

// of returns the eviction as the webhooks receive it.
func (b boundEviction) of(g *simulatedGroup) admission.Eviction {
	return admission.Eviction{Namespace: g.key.Namespace, Pod: plan.PodName(g.zones[b.zone].Name, b.ordinal), UID: b.uid, Version: b.version}
}

// actor names the API server as the actor of an allowed eviction, with the reason and the
// preconditions.
func (b boundEviction) actor(why reason.Code) string {
	switch {
	case b.uid == "":
		return fmt.Sprintf("the API server (%s, bound to no pod)", why)
	case b.version == 0:
		return fmt.Sprintf("the API server (%s, bound to %s)", why, b.uid)
	}
	return fmt.Sprintf("the API server (%s, bound to %s at %d)", why, b.uid, b.version)
}

// pin makes the webhook pod-eviction-pin bind an eviction. If that replica does not guard the pod,
// the eviction continues unbound, because the replica that reviews the eviction may know more.
func (p *process) pin(g *simulatedGroup, zone, ordinal int, done func(boundEviction, bool)) {
	b := boundEviction{zone: zone, ordinal: ordinal}
	if p.skipsWebhook(g, zone, ordinal) {
		done(b, true)
		return
	}
	unbound, known := b.of(g), p.knownOf(g, zone)
	p.runReview(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEvictionPin{Observer: r.view()}
		return webhook.Judge(ctx, unbound)
	}, func(v admission.Verdict, _ shownVersions) {
		if !p.walk.schedule.Deviations.Unpinned {
			b.uid, b.version = preconditionsOf(v.Patch)
		}
		p.carriesOut(g, b, v, known)
		done(b, v.Allowed && p.reviews(g, v.Reason))
	})
}

// preconditionsOf returns the preconditions that a patch adds to an eviction.
func preconditionsOf(patch []byte) (uid string, version plan.Version) {
	for _, value := range addedValues(patch) {
		var options struct {
			Preconditions struct{ UID, ResourceVersion string }
		}
		if err := json.Unmarshal(value, &options); err != nil {
			panic(fmt.Sprintf("walk: the patch %s of an eviction: %v", patch, err))
		}
		uid = options.Preconditions.UID
		version, _ = plan.ParseVersion(options.Preconditions.ResourceVersion)
	}
	return uid, version
}

// evict makes the webhook pod-eviction review an eviction.
func (p *process) evict(g *simulatedGroup, b boundEviction, done func(answer)) {
	if p.skipsWebhook(g, b.zone, b.ordinal) {
		done(answer{allowed: true, reason: reason.NotManaged, shown: p.shownOf(g)})
		return
	}
	bound, known := b.of(g), p.knownOf(g, b.zone)
	p.runReview(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEviction{Observer: r.view(), Holds: r.holds(), Fresh: knownState{r}, Locks: r.turns, Log: r.log, Clock: r}
		return webhook.Judge(ctx, bound)
	}, func(v admission.Verdict, shown shownVersions) {
		done(answer{allowed: p.carriesOut(g, b, v, known), reason: v.Reason, shown: shown})
	})
}

// knowledge is the knowledge of a process about the pods of a zone when a review begins.
type knowledge struct {
	inGroup bool         // its caches show that the zone is in its group, and it is
	pods    plan.Version // of its cache of pods
}

func (p *process) knownOf(g *simulatedGroup, n int) knowledge {
	k := knowledge{pods: p.watches[podKind].version}
	k.inGroup = g.zones[n].absence == inGroup && p.observer.Managed(g.key.Namespace) && min(p.watches[zoneKind].version, k.pods) >= g.absenceChanged[n]
	return k
}

// carriesOut reports whether an eviction continues after the answer of a webhook. If no group guards the
// pod, although the process knows that the zone is in its group, the process must have seen a bare pod
// with this name. Then the eviction continues, and can affect a pod of the zone. If the process does not
// know that the zone is in its group, the eviction of an unguarded pod ends.
func (p *process) carriesOut(g *simulatedGroup, b boundEviction, v admission.Verdict, known knowledge) bool {
	guarded := v.Reason != reason.NotManaged
	if !p.reviews(g, v.Reason) {
		return false
	}
	if guarded || !known.inGroup || g.zones[b.zone].absence != inGroup {
		return v.Allowed && guarded
	}
	if !g.barePodSince(b.zone, b.ordinal, known.pods) {
		p.violate(g, "Guarded", p.name+" does not guard a pod of "+g.zones[b.zone].Name)
	}
	return v.Allowed
}
