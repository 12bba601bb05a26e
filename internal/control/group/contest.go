package group

import (
	"context"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// writerTimeout is how long reading the field managers of the zones of a group may take.
const writerTimeout = 2 * time.Second

// remember keeps for the next plan which zones another writer has overwritten, counts
// that, and finds out the name of that writer: once people are told, and then with each
// overwrite until the name is known. Where that fails, less is told.
func (c *Controller) remember(ctx context.Context, s plan.Snapshot, done []plan.Receipt) {
	ctx, stop := context.WithTimeout(ctx, writerTimeout)
	defer stop()
	for _, z := range c.Contests.Planned(s, done) {
		c.Reporter.ReplicasOverwritten(s.Key, z.Zone)
		if !z.Unnamed {
			continue
		}
		writer, err := c.Observer.WriterOfReplicas(ctx, s.Key.Namespace, z.Zone, z.UID)
		if err != nil {
			c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithError(err).Debug("the other writer of spec.replicas could not be found out")
			continue
		}
		c.Contests.Name(s.Key, z.UID, writer)
	}
}
