package operator

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/config"
	"github.com/lockstep-dev/lockstep/internal/lease"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/permission"
	"github.com/lockstep-dev/lockstep/internal/report"
)

// needed is the part of Permissions that a process with this configuration
// uses: leadership only where it is sought, and nothing but reading in a dry run.
func needed(c config.Config) []permission.Need {
	var needs []permission.Need
	for _, need := range Permissions() {
		if need.Scope == permission.Home && (!c.LeaderElection.Enabled || c.DryRun) {
			continue
		}
		if c.DryRun {
			need.Verbs = slices.DeleteFunc(slices.Clone(need.Verbs), func(verb string) bool {
				return !slices.Contains([]string{"get", "list", "watch"}, verb)
			})
		}
		needs = append(needs, need)
	}
	return needs
}

// Permissions is everything that the operator asks of the API server.
// manifests/rbac is generated from it.
func Permissions() []permission.Need {
	return slices.Concat(observe.Permissions(), act.Permissions(), lease.Permissions(), report.Permissions())
}
