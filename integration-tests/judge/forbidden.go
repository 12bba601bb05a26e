package judge

import "slices"

// allowedWrites are all writes that an operator makes.
var allowedWrites = []string{
	"delete pods", "patch pods", "patch statefulsets", "patch statefulsets/status",
	"patch replicatemplates/status", "patch zoneawarepoddisruptionbudgets/status",
	"create rolloutgroups", "delete rolloutgroups", "patch rolloutgroups/status",
	"create leases", "update leases", "delete leases",
	"create events", "patch events",
	"create secrets", "update secrets", // the serving certificate of the webhooks
	"patch validatingwebhookconfigurations", "patch mutatingwebhookconfigurations", // the CA bundle
	"create selfsubjectaccessreviews", // stores nothing

	// of StatefulClusters
	"create pods", "patch pods/status", "patch pods/resize", "create persistentvolumeclaims", "patch persistentvolumeclaims", "patch statefulclusters/status",
	"delete persistentvolumeclaims", "create controllerrevisions", "patch controllerrevisions", "delete controllerrevisions",
}

// ForbiddenRequests returns the requests of operators that RBAC refused, and the writes that no
// operator makes, in any namespace.
func ForbiddenRequests(requests []Request, isOperator func(user string) bool) []string {
	var violations []string
	for _, r := range requests {
		switch {
		case !isOperator(r.User):
		case r.Forbidden:
			violations = append(violations, "refused for lack of permission: "+r.String())
		case r.Writes() && !slices.Contains(allowedWrites, r.Verb+" "+r.Resource):
			violations = append(violations, "not a write of any operator: "+r.String())
		}
	}
	slices.Sort(violations)
	return slices.Compact(violations)
}
