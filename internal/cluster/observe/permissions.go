package observe

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions are what the reads of this package need.
func Permissions() []permission.Need {
	watch := []string{"list", "watch"}
	return []permission.Need{
		{Scope: permission.Cluster, Resource: "namespaces", Verbs: watch, Why: "know which namespaces opted in"},
		{APIGroup: "apps", Resource: "statefulsets", Verbs: watch, Why: "know the groups, their zones and revisions"},
		{APIGroup: "apps", Resource: "deployments", Verbs: watch, Why: "know which of them must not shrink"},
		{APIGroup: "apps", Resource: "replicasets", Verbs: watch, Why: "know which of them must not shrink"},
		{Resource: "pods", Verbs: watch, Why: "know the state of every pod of a zone"},
		{Resource: "pods", Verbs: []string{"get"}, Why: "look at a noted pod that left its group, and at one that keeps a group waiting"},
	}
}
