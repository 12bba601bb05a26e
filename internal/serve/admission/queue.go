package admission

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// holdWriteTimeout limits the write of a refused request's place in the queue.
const holdWriteTimeout = time.Second

// queue records that an operation waits for a group. A failed write has no effect, because the
// client retries.
func queue(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key, asks plan.Waiting) {
	record, changes := hold.Enqueued(holds.Cached(key), asks)
	if !changes {
		return
	}
	ctx, stop := context.WithTimeout(ctx, holdWriteTimeout)
	defer stop()
	if err := holds.Write(ctx, key, record); err != nil {
		log.WithContext(ctx).WithError(err).Debug("place in the queue was not recorded")
	}
}
