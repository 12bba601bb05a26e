package admission

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// relabel restores the label of a group's Lease, so that the leader sees the record. If it fails,
// the next request that is refused for this reason tries again.
func relabel(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key) {
	ctx, stop := context.WithTimeout(ctx, holdWriteTimeout)
	defer stop()
	if err := holds.Relabel(ctx, key); err != nil {
		log.WithContext(ctx).WithError(err).Debug("label of a Lease was not restored")
	}
}
