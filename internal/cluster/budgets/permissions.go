package budgets

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions for the reads of this package, except for CRDs, which package
// reference watches as well.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: []string{"list", "watch"}, Why: "read how many pods may be evicted at a time"},
	}
}
