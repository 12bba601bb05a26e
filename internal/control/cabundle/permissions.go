package cabundle

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// Permissions are what injection needs: into the named configurations, or into
// any that is labelled. Nothing but RBAC can limit this power, since admission
// policies do not apply to webhook configurations.
func Permissions(names []string) []permission.Need {
	if len(names) == 0 {
		names = []string{""}
	}
	var needs []permission.Need
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		for _, name := range names {
			needs = append(needs, permission.Need{
				Scope: permission.Everywhere, APIGroup: "admissionregistration.k8s.io", Resource: resource, Name: name,
				Verbs: []string{"list", "watch", "patch"}, Why: "give API servers the CA to call the webhooks with",
			})
		}
	}
	return needs
}
