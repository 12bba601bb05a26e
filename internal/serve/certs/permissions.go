package certs

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// SecretName is the default name of the Secret.
const SecretName = "lockstep-webhook-certificate"

// Permissions returns the permissions that a generated certificate needs, all on one Secret.
// RBAC cannot restrict create to a name.
func Permissions(secret string) []permission.Need {
	return []permission.Need{
		{Scope: permission.Home, Resource: "secrets", Verbs: []string{"create"}, Why: "create the Secret of the webhook certificate"},
		{Scope: permission.Home, Resource: "secrets", Name: secret, Verbs: []string{"get", "list", "watch", "update"}, Why: "serve and renew the webhook certificate"},
	}
}
