package cabundle

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions returns the permissions for injection into the named configurations, or into all
// if there are no names. Only RBAC can limit this permission, because admission policies do
// not apply to webhook configurations.
func Permissions(names []string) []permission.Need {
	if len(names) == 0 {
		names = []string{""}
	}
	var needs []permission.Need
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		for _, name := range names {
			needs = append(needs, permission.Need{
				Scope: permission.Everywhere, APIGroup: "admissionregistration.k8s.io", Resource: resource, Name: name,
				Verbs: []string{"list", "watch", "patch"}, Why: "give API servers the CA of the webhooks",
			})
		}
	}
	return needs
}
