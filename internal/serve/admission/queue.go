package admission

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// noteLimit bounds how long a refusal waits for the note of who was refused.
const noteLimit = time.Second

// queueing are the refusals after which the next turn is kept.
var queueing = map[reason.Code]bool{reason.GroupHeld: true, reason.QueuedBehindOtherZone: true}

// queue notes who waits for a group. That it fails is no harm: whoever waits asks
// again.
func queue(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key, asks plan.Waiting) {
	record, changes := hold.Enqueued(holds.Cached(key), asks)
	if !changes {
		return
	}
	ctx, stop := context.WithTimeout(ctx, noteLimit)
	defer stop()
	if err := holds.Write(ctx, key, record); err != nil {
		log.WithContext(ctx).WithError(err).Debug("who waits is not noted")
	}
}
