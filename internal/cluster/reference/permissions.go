package reference

import (
	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions returns the permissions for the reads of this package, for the kind that comes with
// lockstep. Users grant the permissions for other kinds.
func Permissions() []permission.Need {
	return []permission.Need{
		{Scope: permission.Cluster, APIGroup: dynamicwatch.Definitions.Group, Resource: dynamicwatch.Definitions.Resource, Verbs: []string{"list", "watch"}, Why: "notice when a kind is installed whose replicas a zone takes over"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates", Verbs: []string{"list", "watch"}, Why: "notice when the replicas of a template change"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates/scale", Verbs: []string{"get"}, Why: "read how many replicas a template requests"},
	}
}
