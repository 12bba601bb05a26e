package reference

import (
	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions are what the reads of this package need, as far as they concern the
// kind that comes with lockstep. Others are for who uses them to grant.
func Permissions() []permission.Need {
	return []permission.Need{
		{Scope: permission.Cluster, APIGroup: dynamicwatch.Definitions.Group, Resource: dynamicwatch.Definitions.Resource, Verbs: []string{"list", "watch"}, Why: "know when a kind is installed that a zone mirrors"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates", Verbs: []string{"list", "watch"}, Why: "know when the replicas of a template change"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates/scale", Verbs: []string{"get"}, Why: "know how many replicas a template asks for"},
	}
}
