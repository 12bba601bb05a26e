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

// pin makes the webhook pod-eviction-pin bind an eviction. If that replica does not guard the pod,
// the eviction continues unbound: the replica that judges it may know more.
func (p *process) pin(g *simulatedGroup, zone, ordinal int, done func(bound, bool)) {
	b := bound{zone: zone, ordinal: ordinal}
	unbound, knows := b.of(g), p.knowsInGroup(g, zone)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEvictionPin{Observer: r.view()}
		return webhook.Judge(ctx, unbound)
	}, func(v admission.Verdict, _ served) {
		if !p.walk.schedule.Rules.Unpinned {
			b.uid, b.version = pinned(v.Patch)
		}
		p.guards(g, zone, v, knows)
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
	asks, knows := b.of(g), p.knowsInGroup(g, b.zone)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEviction{Observer: r.view(), Holds: r.holds(), Fresh: recent{r}, Turns: r.turns, Log: r.log, Clock: r}
		return webhook.Judge(ctx, asks)
	}, func(v admission.Verdict, shown served) {
		done(answer{yes: p.guards(g, b.zone, v, knows), shown: shown})
	})
}

// knowsInGroup reports whether the caches of a process show that a zone is in its group, and it
// is.
func (p *process) knowsInGroup(g *simulatedGroup, n int) bool {
	return g.zones[n].away == inGroup && min(p.watches[ofZones].version, p.watches[ofPods].version) >= g.moved[n]
}

// guards reports whether a webhook allows the eviction of a pod that a group guards; clients evict
// no other pod. If the process knows that the zone is in its group, the group must guard the pod.
func (p *process) guards(g *simulatedGroup, n int, v admission.Verdict, knows bool) bool {
	guarded := v.Reason != reason.NotManaged
	if !guarded && knows && g.zones[n].away == inGroup {
		p.violate(g, "Guarded", p.name+" guards no pod of "+g.zones[n].Name)
	}
	return v.Allowed && guarded
}
