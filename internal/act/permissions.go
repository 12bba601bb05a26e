package act

import (
	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions returns the permissions for the writes of this package.
func Permissions() []permission.Need {
	return []permission.Need{
		{Resource: "pods", Verbs: []string{"delete"}, Why: "replace outdated pods"},
		{Resource: "pods", Verbs: []string{"patch"}, Why: "make a delete that is no longer wanted fail"},
		{APIGroup: "apps", Resource: "statefulsets", Verbs: []string{"patch"}, Why: "scale zones with their leader or a resource, cancel an admitted downscale that does not happen, and write when a zone was scaled down"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates/status", Verbs: []string{"patch"}, Why: "report how many replicas the zones have that follow a template"},
		{APIGroup: "apps", Resource: "statefulsets/status", Verbs: []string{"patch"}, Why: "set the current revision at the end of a zone's rollout"},
	}
}
