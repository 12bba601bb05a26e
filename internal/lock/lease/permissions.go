package lease

import (
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions returns the permissions that holds and leadership need.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: "coordination.k8s.io", Resource: "leases", Verbs: []string{"get", "list", "watch", "create", "update", "delete"}, Why: "the hold of every group"},
		{Resource: "configmaps", Name: contract.ZoneTrackerName, Verbs: []string{"get"}, Why: "take over the times of downscales that the predecessor has tracked"},
		{Scope: permission.Home, APIGroup: "coordination.k8s.io", Resource: "leases", Verbs: []string{"create"}, Why: "begin leader election"},
		{Scope: permission.Home, APIGroup: "coordination.k8s.io", Resource: "leases", Name: LeaderName, Verbs: []string{"get", "update"}, Why: "leader election"},
	}
}
