package lease

import "github.com/lockstep-dev/lockstep/internal/permission"

// Permissions are what holds and leadership need.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: "coordination.k8s.io", Resource: "leases", Verbs: []string{"get", "list", "watch", "create", "update", "delete"}, Why: "the hold of every group"},
		{Scope: permission.Home, APIGroup: "coordination.k8s.io", Resource: "leases", Verbs: []string{"create"}, Why: "begin leader election"},
		{Scope: permission.Home, APIGroup: "coordination.k8s.io", Resource: "leases", Name: LeaderName, Verbs: []string{"get", "update"}, Why: "leader election"},
	}
}
