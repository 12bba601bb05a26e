package pools

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions that the reads of this package need.
func Permissions() []permission.Need {
	watch := []string{"list", "watch"}
	return []permission.Need{
		{APIGroup: Resource.Group, Resource: Resource.Resource, Verbs: append([]string{"get"}, watch...), Why: "know the StatefulClusters"},
		{Resource: "pods", Verbs: []string{"get", "list", "watch"}, Why: "know the pods of StatefulClusters"},
		{Resource: "persistentvolumeclaims", Verbs: []string{"get", "list", "watch"}, Why: "know the claims of StatefulClusters"},
		{Resource: "services", Verbs: []string{"get"}, Why: "say whether the Service of a StatefulCluster exists and is headless"},
		{APIGroup: "apps", Resource: "controllerrevisions", Verbs: watch, Why: "know the revisions of StatefulClusters"},
		{Scope: permission.Cluster, Resource: "nodes", Verbs: watch, Why: "know which pods of StatefulClusters are on lost nodes"},
		{Scope: permission.Cluster, Resource: "persistentvolumes", Verbs: []string{"get"}, Why: "know on which nodes the volumes of a pod without a node can be used"},
	}
}
