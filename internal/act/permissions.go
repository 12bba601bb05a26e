package act

import (
	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

// Permissions are what the writes of this package need.
func Permissions() []permission.Need {
	return []permission.Need{
		{Resource: "pods", Verbs: []string{"delete"}, Why: "replace outdated pods"},
		{Resource: "pods", Verbs: []string{"patch"}, Why: "void a delete in flight that is no longer wanted"},
		{APIGroup: "apps", Resource: "statefulsets", Verbs: []string{"patch"}, Why: "let zones follow their leader or a resource, void an admitted downscale that does not come, and write down when a zone shrank"},
		{APIGroup: rolloutoperatorv1.GroupName, Resource: "replicatemplates/status", Verbs: []string{"patch"}, Why: "write back how many replicas the zones have that follow a template"},
		{APIGroup: "apps", Resource: "statefulsets/status", Verbs: []string{"patch"}, Why: "make the update revision the current one at the end of a zone's rollout"},
	}
}
