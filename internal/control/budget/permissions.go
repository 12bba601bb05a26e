package budget

import (
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions are what the writes of this package need.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: budgets.Resource.Group, Resource: budgets.Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "report how many evictions a budget allows"},
	}
}
