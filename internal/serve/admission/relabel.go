package admission

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// relabel gives the Lease of a group that lost it the label back, so that the leader learns what
// the Lease says. If that fails, the next request that is refused because of it tries again.
func relabel(ctx context.Context, holds Holds, log *logrus.Logger, key plan.Key) {
	ctx, stop := context.WithTimeout(ctx, noteLimit)
	defer stop()
	if err := holds.Relabel(ctx, key); err != nil {
		log.WithContext(ctx).WithError(err).Debug("a Lease without its label does not get it back")
	}
}
