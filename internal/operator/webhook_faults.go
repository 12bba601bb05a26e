package operator

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

const (
	// settling is how long a change may take to arrive before it counts as a fault: the leader
	// writes the CA after it sees the configuration.
	settling = 30 * time.Second
	// lookAgain is the interval of checks without an event: network faults cause no event, and
	// faults end.
	lookAgain = 5 * time.Minute
	// servicePort is the port for API servers of the Service in the manifests.
	servicePort = 443
)

// faultFinder logs new reasons why API servers cannot call the configured webhooks. If failures
// of a webhook are ignored, such a fault would stay undetected. It changes nothing and never ends
// the process.
type faultFinder struct {
	injector interface {
		Known() error
		Faults(cabundle.Endpoint) []cabundle.Fault
	}
	endpoint cabundle.Endpoint
	try      func(context.Context) []cabundle.Fault // sends requests to the API server; may be nil
	log      logrus.FieldLogger
	show     func(kind string, n int)

	wake chan struct{}
	told map[cabundle.Fault]bool // without What
}

// newFaultFinder returns a faultFinder that checks as soon as watch runs.
func newFaultFinder(w *webhooks) *faultFinder {
	o := w.operator
	f := &faultFinder{
		injector: w.injector,
		endpoint: cabundle.Endpoint{
			Namespace: o.config.Operator.Namespace, Name: serviceName, Port: servicePort, Paths: admission.Paths(), Guards: admission.Guards(), Wanted: admission.Wanted(),
		},
		log: o.log, show: o.metrics.WebhookFaults, wake: make(chan struct{}, 1),
	}
	if !o.config.DryRun {
		f.try = func(ctx context.Context) []cabundle.Fault {
			if w.loop.Load() == nil {
				return nil // the leader does this for all replicas
			}
			return w.trial().run(ctx)
		}
	}
	f.look()
	return f
}

// look requests a check of the configurations, because they or their expected content have
// changed.
func (f *faultFinder) look() {
	select {
	case f.wake <- struct{}{}:
	default: // already requested
	}
}

// watch checks on request, and at intervals, until ctx ends.
func (f *faultFinder) watch(ctx context.Context) {
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	for {
		select {
		case <-f.wake:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		settled := time.NewTimer(settling)
		select {
		case <-settled.C:
		case <-ctx.Done():
			settled.Stop()
			return
		}
		if f.injector.Known() != nil {
			f.look() // retry until the caches are filled
			continue
		}
		found := f.injector.Faults(f.endpoint)
		if f.try != nil {
			found = append(found, f.try(ctx)...)
		}
		if ctx.Err() == nil {
			f.tell(found)
		}
		again.Reset(lookAgain)
	}
}

// warn logs a fault of a configuration, or that no configuration contains the webhook.
func (f *faultFinder) warn(fault cabundle.Fault) {
	log := f.log.WithFields(logrus.Fields{"webhook": fault.Webhook, "fault": string(fault.Kind)})
	if fault.Kind == cabundle.FaultMissing {
		log.Warn("API servers do not ask lockstep, the webhook " + fault.What)
		return
	}
	log.WithField("configuration", fault.Key.String()).Warn("API servers may get no answer from lockstep, the webhook " + fault.What)
}

func (f *faultFinder) tell(found []cabundle.Fault) {
	count, now := map[cabundle.FaultKind]int{}, map[cabundle.Fault]bool{}
	for _, fault := range found {
		count[fault.Kind]++
		known := fault
		known.What = ""
		now[known] = true
		if !f.told[known] {
			f.warn(fault)
		}
	}
	for _, kind := range cabundle.FaultKinds() {
		f.show(string(kind), count[kind])
	}
	if len(now) == 0 && len(f.told) > 0 {
		f.log.Info("webhook configurations have no fault any more")
	}
	f.told = now
}
