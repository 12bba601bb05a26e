package observe

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions that the reads of this package need.
func Permissions() []permission.Need {
	watch := []string{"list", "watch"}
	return []permission.Need{
		{Scope: permission.Cluster, Resource: "namespaces", Verbs: watch, Why: "know which namespaces opted in"},
		{APIGroup: "apps", Resource: "statefulsets", Verbs: watch, Why: "know the groups, their zones and revisions"},
		{APIGroup: "apps", Resource: "deployments", Verbs: watch, Why: "know which Deployments must not be scaled down"},
		{APIGroup: "apps", Resource: "replicasets", Verbs: watch, Why: "know which ReplicaSets must not be scaled down"},
		{Resource: "pods", Verbs: watch, Why: "know the state of every pod of a zone"},
		{Resource: "pods", Verbs: []string{"get"}, Why: "read a pod with an intent that left its group, and a pod that a group waits for"},
	}
}
