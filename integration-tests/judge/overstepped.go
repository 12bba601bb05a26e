package judge

import "slices"

// mayWrite is everything that an operator ever writes.
var mayWrite = []string{
	"delete pods", "patch pods", "patch statefulsets", "patch statefulsets/status",
	"patch replicatemplates/status", "patch zoneawarepoddisruptionbudgets/status",
	"create rolloutgroups", "delete rolloutgroups", "patch rolloutgroups/status",
	"create leases", "update leases", "delete leases",
	"create events", "patch events",
	"create secrets", "update secrets", // the webhooks' certificate
	"patch validatingwebhookconfigurations", "patch mutatingwebhookconfigurations", // its CA
	"create selfsubjectaccessreviews", // asks, and stores nothing
}

// Overstepped says what operators did, or tried, that they never may, wherever it
// was: what RBAC refused, and what no operator writes.
func Overstepped(requests []Request, ours func(user string) bool) []string {
	var wrong []string
	for _, r := range requests {
		switch {
		case !ours(r.User):
		case r.Forbidden:
			wrong = append(wrong, "refused for lack of permission: "+r.String())
		case r.Writes() && !slices.Contains(mayWrite, r.Verb+" "+r.Resource):
			wrong = append(wrong, "no operator ever does this: "+r.String())
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}
