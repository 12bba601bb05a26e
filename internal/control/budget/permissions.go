package budget

import (
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions returns the permissions for the writes of this package.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: budgets.Resource.Group, Resource: budgets.Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "write how many evictions a budget allows"},
	}
}
