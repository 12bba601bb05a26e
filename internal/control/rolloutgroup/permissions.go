package rolloutgroup

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions are what this package needs where the kind exists.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: []string{"list", "watch", "create", "delete"}, Why: "show how every group stands in an object of its own"},
		{APIGroup: Resource.Group, Resource: Resource.Resource + "/status", Verbs: []string{"patch"}, Why: "say how it stands"},
	}
}
