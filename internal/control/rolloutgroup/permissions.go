package rolloutgroup

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions are what this package needs where the kind exists.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: []string{"list", "watch", "create", "delete"}, Why: "show the state of every group in a RolloutGroup"},
		{APIGroup: Resource.Group, Resource: Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "write the status of a RolloutGroup"},
	}
}
