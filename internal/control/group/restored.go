package group

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// TellRestored tells people that the zones of a group wait until this process, which has
// noticed that etcd was restored from a backup, has ended and starts anew.
func (c *Controller) TellRestored(key plan.Key) {
	s := c.Observer.Cached(key)
	if len(s.Zones) > 0 && c.Observer.Managed(key.Namespace) {
		c.Reporter.Group(s, everyZone(s, plan.Refusal{Code: reason.ClusterRestored}), nil)
	}
}
