package report

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions for writing Events.
func Permissions() []permission.Need {
	return []permission.Need{
		{APIGroup: "events.k8s.io", Resource: "events", Verbs: []string{"create", "patch"}, Why: "say on the StatefulSet what is done and what is waited for"},
	}
}
