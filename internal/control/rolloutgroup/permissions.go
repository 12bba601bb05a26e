package rolloutgroup

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions of this package, which it needs if the kind exists.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: []string{"list", "watch", "create", "delete"}, Why: "show the state of every group in an object"},
		{APIGroup: Resource.Group, Resource: Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "write the state of the group"},
	}
}
