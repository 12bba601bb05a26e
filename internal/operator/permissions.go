package operator

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/lease"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/permission"
	"github.com/lockstep-dev/lockstep/internal/report"
)

// Permissions is everything that the operator asks of the API server.
// manifests/rbac is generated from it.
func Permissions() []permission.Need {
	return slices.Concat(observe.Permissions(), act.Permissions(), lease.Permissions(), report.Permissions())
}
