package operator

import (
	"net/http"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/hook"
)

// callPods returns what calls pods, for the executor and for the webhooks: its
// limits hold for both together.
func (o *Operator) callPods() hook.Zones {
	return hook.Zones{Caller: hook.New(hook.Options{Tracer: o.tracer})}
}

// admission answers the reviews of API servers.
func (o *Operator) admission() http.Handler {
	return admission.New(admission.Options{
		NoDownscale:      admission.NoDownscale{Parents: admission.ScaleParents{Cached: o.observer.Set, Client: o.clients.work}},
		PrepareDownscale: &admission.PrepareDownscale{Observer: o.observer, Holds: o.holds, Pods: o.pods, Log: o.log},
		Limit:            o.config.ServerTLS.RequestTimeout,
		Log:              o.log,
		Tracer:           o.tracer,
	})
}
