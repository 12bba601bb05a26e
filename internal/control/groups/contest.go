package groups

import (
	"context"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// writerTimeout limits reading the field managers of a group's zones.
const writerTimeout = 2 * time.Second

// remember records, for the next plan, which zones another writer has overwritten, and counts
// the overwrites. Once a contest is reported, it reads the writer's name at each overwrite until
// the name is known. If that fails, the report contains no name.
func (c *Controller) remember(ctx context.Context, s group.Snapshot, done []plan.Receipt) {
	ctx, stop := context.WithTimeout(ctx, writerTimeout)
	defer stop()
	for _, z := range c.Contests.Planned(s, done) {
		c.Reporter.ReplicasOverwritten(s.Key, z.Zone)
		if !z.Unnamed {
			continue
		}
		writer, err := c.Observer.WriterOfReplicas(ctx, s.Key.Namespace, z.Zone, z.UID)
		if err != nil {
			c.Log.WithContext(ctx).WithFields(fields(s.Key)).WithError(err).Debug("the other writer of spec.replicas could not be read")
			continue
		}
		c.Contests.Name(s.Key, z.UID, writer)
	}
}
