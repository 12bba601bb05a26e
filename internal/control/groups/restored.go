package groups

import (
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// ReportRestored reports that the zones of a group wait for a restart of this process, because
// etcd was restored from a backup.
func (c *Controller) ReportRestored(key plan.Key) {
	s := c.Observer.Cached(key)
	if len(s.Zones) > 0 && c.Observer.Managed(key.Namespace) {
		c.Reporter.Group(s, everyZone(s, plan.Refusal{Code: reason.ClusterRestored}), nil)
	}
}
