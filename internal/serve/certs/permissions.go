package certs

import "github.com/lockstep-dev/lockstep/internal/contract/permission"

// SecretName is the Secret's name unless somebody says else.
const SecretName = "lockstep-webhook-certificate"

// Permissions are what a generated certificate needs: one Secret. RBAC cannot
// limit by name what may be created.
func Permissions(secret string) []permission.Need {
	return []permission.Need{
		{Scope: permission.Home, Resource: "secrets", Verbs: []string{"create"}, Why: "create the Secret with the certificate of the webhooks"},
		{Scope: permission.Home, Resource: "secrets", Name: secret, Verbs: []string{"get", "list", "watch", "update"}, Why: "serve the certificate, and renew it"},
	}
}
