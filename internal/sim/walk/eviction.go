package walk

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// bound is an eviction with what it is bound to: the pod's UID and, where it was down,
// its version.
type bound struct {
	zone, ordinal int
	uid           string
	version       plan.Version
}

func (b bound) of(g *group) admission.Eviction {
	return admission.Eviction{Namespace: g.key.Namespace, Pod: plan.PodName(g.zones[b.zone].Name, b.ordinal), UID: b.uid, Version: b.version}
}

// pin has the webhook pod-eviction-pin bind an eviction.
func (p *process) pin(g *group, zone, ordinal int, done func(bound, bool)) {
	b := bound{zone: zone, ordinal: ordinal}
	unbound := b.of(g)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEvictionPin{Observer: view{r}}
		return webhook.Judge(ctx, unbound)
	}, func(v admission.Verdict, _ served) {
		b.uid, b.version = pinned(v.Patch)
		done(b, v.Allowed)
	})
}

// pinned returns what a patch binds an eviction to.
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

// evict has the webhook pod-eviction judge an eviction. That of a pod which nobody guards is
// given up.
func (p *process) evict(g *group, b bound, done func(answer)) {
	if p.knowsAway(g, b.zone) {
		done(answer{})
		return
	}
	asks := b.of(g)
	p.judge(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PodEviction{Observer: view{r}, Holds: r.holds(), Fresh: recent{r}, Turns: r.turns, Log: r.log, Clock: r}
		return webhook.Judge(ctx, asks)
	}, func(v admission.Verdict, shown served) {
		done(answer{yes: v.Allowed, shown: shown})
	})
}
