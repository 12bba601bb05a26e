package operator

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	cluster "github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/control/budget"
	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/control/pools"
	"github.com/lockstep-dev/lockstep/internal/control/rolloutgroup"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
	"github.com/lockstep-dev/lockstep/internal/serve/certs"
	"github.com/lockstep-dev/lockstep/internal/show/report"
)

// needed returns the permissions that a process with this configuration needs: for leadership and
// webhooks only if they are enabled, and only to read in a dry run.
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
	if c.StatefulCluster {
		needs = append(needs, StatefulClusterPermissions()...)
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

// Permissions returns all permissions that the operator needs, except for the certificate and the
// CA of the webhooks. manifests/rbac is generated from it.
func Permissions() []permission.Need {
	return slices.Concat(observe.Permissions(), budgets.Permissions(), reference.Permissions(), act.Permissions(), lease.Permissions(), report.Permissions(), admission.Permissions(), budget.Permissions(), rolloutgroup.Permissions())
}

// CertificatePermissions returns the additional permissions for a generated certificate.
func CertificatePermissions(secret string) []permission.Need { return certs.Permissions(secret) }

// InjectionPermissions returns the permissions for writing the CA into the webhook configurations
// with these names. Without names, they apply to labelled configurations.
func InjectionPermissions(names []string) []permission.Need { return cabundle.Permissions(names) }

// StatefulClusterPermissions returns the additional permissions for the kind StatefulCluster.
func StatefulClusterPermissions() []permission.Need {
	return slices.Concat(cluster.Permissions(), act.PoolPermissions(), pools.Permissions())
}
