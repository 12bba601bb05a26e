package walk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// bound is an eviction with its preconditions: the pod's UID and, if the pod was down, its
// version. Without a UID it applies to any pod with that name.
type bound struct {
	zone, ordinal int
	uid           string
	version       plan.Version
}

func (b bound) of(g *simulatedGroup) admission.Eviction {
	return admission.Eviction{Namespace: g.key.Namespace, Pod: plan.PodName(g.zones[b.zone].Name, b.ordinal), UID: b.uid, Version: b.version}
}

// by describes who deletes a pod by an eviction that was allowed.
func (b bound) by(why reason.Code) string {
	switch {
	case b.uid == "":
		return fmt.Sprintf("the API server (%s, bound to no pod)", why)
	case b.version == 0:
		return fmt.Sprintf("the API server (%s, bound to %s)", why, b.uid)
	}
	return fmt.Sprintf("the API server (%s, bound to %s at %d)", why, b.uid, b.version)
}

// pin makes the webhook pod-eviction-pin bind an eviction. If that replica does not guard the pod,
// the eviction continues unbound: the replica that judges it may know more.
func (p *process) pin(g *simulatedGroup, zone, ordinal int, done func(bound, bool)) {
	b := bound{zone: zone, ordinal: ordinal}
	if p.trusts(g, zone, ordinal) {
		done(b, true)
		return
	}
	unbound, known := b.of(g), p.knows(g, zone)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEvictionPin{Observer: r.view()}
		return webhook.Judge(ctx, unbound)
	}, func(v admission.Verdict, _ served) {
		if !p.walk.schedule.Rules.Unpinned {
			b.uid, b.version = pinned(v.Patch)
		}
		p.evicts(g, b, v, known)
		done(b, v.Allowed)
	})
}

// pinned returns the preconditions that a patch adds to an eviction.
func pinned(patch []byte) (uid string, version plan.Version) {
	for _, value := range added(patch) {
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

// evict makes the webhook pod-eviction judge an eviction.
func (p *process) evict(g *simulatedGroup, b bound, done func(answer)) {
	if p.trusts(g, b.zone, b.ordinal) {
		done(answer{yes: true, why: reason.NotManaged, shown: p.shown(g)})
		return
	}
	asks, known := b.of(g), p.knows(g, b.zone)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEviction{Observer: r.view(), Holds: r.holds(), Fresh: recent{r}, Turns: r.turns, Log: r.log, Clock: r}
		return webhook.Judge(ctx, asks)
	}, func(v admission.Verdict, shown served) {
		done(answer{yes: p.evicts(g, b, v, known), why: v.Reason, shown: shown})
	})
}

// knowledge is what a process knows of the pods of a zone when a review begins.
type knowledge struct {
	inGroup bool         // its caches show that the zone is in its group, and it is
	pods    plan.Version // of its cache of pods
}

func (p *process) knows(g *simulatedGroup, n int) knowledge {
	k := knowledge{pods: p.watches[ofPods].version}
	k.inGroup = g.zones[n].away == inGroup && min(p.watches[ofZones].version, k.pods) >= g.moved[n]
	return k
}

// evicts reports whether a client carries out an eviction after the answer of a webhook. If no group
// guards the pod, and the process knows that the zone is in its group, the process must have seen a
// stranger with this name, and the eviction continues: it may affect a pod of the zone. Clients evict no
// pod of a zone of which the process does not know that.
func (p *process) evicts(g *simulatedGroup, b bound, v admission.Verdict, known knowledge) bool {
	guarded := v.Reason != reason.NotManaged
	if guarded || !known.inGroup || g.zones[b.zone].away != inGroup {
		return v.Allowed && guarded
	}
	if !g.strangeSince(b.zone, b.ordinal, known.pods) {
		p.violate(g, "Guarded", p.name+" guards no pod of "+g.zones[b.zone].Name)
	}
	return v.Allowed
}
