package admission

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// relabel writes a record as it was read that only a live look has shown, since somebody has
// taken the label off its Lease: so whoever leads learns of what it notes, and ends that.
// That it fails is no harm: whoever was refused because of it asks again.
func relabel(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key, live plan.Hold) {
	if !live.Exists || live.Unreadable != "" || !hold.Unfinished(live) || holds.Cached(key).Exists {
		return
	}
	live.Own = false
	ctx, stop := context.WithTimeout(ctx, noteLimit)
	defer stop()
	if err := holds.Write(ctx, key, live); err != nil {
		log.WithContext(ctx).WithError(err).Debug("a hold without its label does not get it back")
	}
}

// relabel gives Leases their label back, so that the watch shows them. If that fails, the next
// request about such a pod tries it again.
func (p *PodEviction) relabel(ctx context.Context, e Eviction, claims []lease.Claim) {
	ctx, stop := context.WithTimeout(ctx, noteLimit)
	defer stop()
	for _, c := range claims {
		if p.Relabel == nil || e.DryRun || !c.Unlabelled || !c.Owned() || !p.Observer.Managed(e.Namespace) {
			continue
		}
		if err := p.Relabel(ctx, c.Key); err != nil {
			p.Log.WithContext(ctx).WithError(err).Debug("a Lease without its label does not get it back")
		}
	}
}
