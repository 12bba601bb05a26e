package budgets

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions are what the reads of this package need, beside the CRDs that package
// reference watches, too.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: []string{"list", "watch"}, Why: "know how many pods may be evicted"},
	}
}
