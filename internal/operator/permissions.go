package operator

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/control/budget"
	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/control/rolloutgroup"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
	"github.com/lockstep-dev/lockstep/internal/serve/certs"
	"github.com/lockstep-dev/lockstep/internal/show/report"
)

// needed is what a process with this configuration asks of the API server:
// leadership and webhooks only where they are sought, and nothing but reading in a
// dry run.
func needed(c config.Config) []permission.Need {
	needs := Permissions()
	if !c.LeaderElection.Enabled || c.DryRun {
		needs = slices.DeleteFunc(needs, func(need permission.Need) bool { return need.Scope == permission.Home })
	}
	if c.ServerTLS.Enabled && !c.ServerTLS.OwnFiles() {
		needs = append(needs, CertificatePermissions(c.ServerTLS.SelfSigned.SecretName)...)
	}
	if c.InjectsCA() {
		needs = append(needs, InjectionPermissions(c.Webhooks.CABundleNames)...)
	}
	if !c.DryRun {
		return needs
	}
	var reads []permission.Need
	for _, need := range needs {
		need.Verbs = slices.DeleteFunc(slices.Clone(need.Verbs), func(verb string) bool {
			return !slices.Contains([]string{"get", "list", "watch"}, verb)
		})
		reads = append(reads, need)
	}
	return reads
}

// Permissions is everything that the operator asks of the API server, certificate
// and CA of the webhooks apart. manifests/rbac is generated from it.
func Permissions() []permission.Need {
	return slices.Concat(observe.Permissions(), budgets.Permissions(), reference.Permissions(), act.Permissions(), lease.Permissions(), report.Permissions(), admission.Permissions(), budget.Permissions(), rolloutgroup.Permissions())
}

// CertificatePermissions is what a generated certificate needs beside that.
func CertificatePermissions(secret string) []permission.Need { return certs.Permissions(secret) }

// InjectionPermissions is what it needs to write the CA into the webhook
// configurations of these names or, without any, into those that are labelled.
func InjectionPermissions(names []string) []permission.Need { return cabundle.Permissions(names) }
