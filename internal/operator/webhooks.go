package operator

import (
	"context"
	"crypto/tls"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/serve/certs"
	"github.com/lockstep-dev/lockstep/internal/serve/server"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

const (
	// serviceName is the name of the operator's Service in the manifests.
	serviceName = "lockstep"
	// injectLoop is the name of the loop over webhook configurations.
	injectLoop = "cabundle"
	// drainClients is longer than most API servers leave a connection idle while nodes are
	// drained or StatefulSets are scaled.
	drainClients = 2 * time.Second
)

// certificates provides the certificate that the webhooks serve. It is a certs.Keeper or
// certs.Files.
type certificates interface {
	Watch(context.Context)
	Run(context.Context)
	Recheck()
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Bundle() []byte
	Confirm(context.Context) ([]byte, error)
	Ready() error
	RenewalError() error
}

// webhooks contains the parts for serving webhooks, except for the decisions.
type webhooks struct {
	operator     *Operator
	certificates certificates
	injector     *cabundle.Controller                    // nil: the CA is not injected
	faults       *faultFinder                            // nil: the CA is not injected
	loop         atomic.Pointer[loop.Loop[cabundle.Key]] // nil while this process does not lead
}

// newWebhooks creates the parts. They depend on each other: the certificate is valid for the
// names in the configurations, and its rotation waits until they have the CA.
func newWebhooks(o *Operator) (*webhooks, error) {
	w := &webhooks{operator: o}
	if o.config.InjectsCA() {
		var err error
		w.injector, err = cabundle.New(cabundle.Options{
			Client: o.clients.work, Certificates: w, Namespaces: o.observer,
			Names: o.config.Webhooks.CABundleNames, Single: o.config.Kubernetes.Single(), DryRun: o.config.DryRun, Log: o.log,
		})
		if err != nil {
			return nil, err
		}
		w.faults = newFaultFinder(w)
		o.metrics.ObserveWebhookPolicies(w.policies)
		if err := w.injector.Listen(cabundle.Listener{Changed: w.configurationChanged}); err != nil {
			return nil, err
		}
	}
	var err error
	w.certificates, err = w.newCertificates()
	return w, err
}

func (w *webhooks) newCertificates() (certificates, error) {
	o, c := w.operator, w.operator.config.ServerTLS
	if c.OwnFiles() {
		return certs.NewFiles(certs.FileOptions{
			Cert: c.CertFile, Key: c.KeyFile, CA: c.CAFile, Log: o.log, Now: o.clients.clock.Now,
			Changed: w.bundleChanged, Expires: o.metrics.CertificateExpires,
		})
	}
	options := certs.Options{
		Client: o.clients.work, Namespace: o.config.Operator.Namespace, Name: c.SelfSigned.SecretName,
		Organisation: c.SelfSigned.Organisation, Life: c.SelfSigned.Expiration, Propagation: c.SelfSigned.Propagation,
		Clock: o.clients.clock, Log: o.log, DryRun: o.config.DryRun,
		Names: w.names, Changed: w.bundleChanged, Expires: o.metrics.CertificateExpires,
	}
	if w.injector != nil {
		options.Published = w.injector.Published
	}
	return certs.New(options)
}

// names returns the names for which a generated certificate must be valid.
func (w *webhooks) names() ([]string, error) {
	names := []string{serviceName + "." + w.operator.config.Operator.Namespace + ".svc"}
	names = append(names, w.operator.config.ServerTLS.SelfSigned.Names...)
	if w.injector == nil {
		return names, nil
	}
	return append(names, w.injector.Services()...), w.injector.Known()
}

// policies returns the failure policies of webhooks for the metrics.
func (w *webhooks) policies() []telemetry.WebhookPolicy {
	var all []telemetry.WebhookPolicy
	for _, p := range w.injector.Policies() {
		all = append(all, telemetry.WebhookPolicy{
			Namespace: p.Namespace, Type: strings.TrimSuffix(string(p.Kind), "Configuration"), Webhook: p.Webhook, Ignored: p.Ignored,
		})
	}
	return all
}

// Bundle returns the CA bundle for the injector, which is created before the certificates.
func (w *webhooks) Bundle() []byte { return w.certificates.Bundle() }

// Confirm confirms the CA bundle for the injector.
func (w *webhooks) Confirm(ctx context.Context) ([]byte, error) { return w.certificates.Confirm(ctx) }

// watch runs the watches of all parts until ctx ends.
func (w *webhooks) watch(ctx context.Context) {
	var watches sync.WaitGroup
	watches.Go(func() { w.certificates.Watch(ctx) })
	if w.injector != nil {
		watches.Go(func() { w.injector.Watch(ctx) })
		watches.Go(func() { w.faults.watch(ctx) })
	}
	watches.Wait()
}

// inject writes the CA into configurations until ctx ends.
func (w *webhooks) inject(ctx context.Context) {
	if w.injector == nil {
		return
	}
	o := w.operator
	l := loop.New(loop.Options[cabundle.Key]{
		Name: injectLoop, Reconcile: w.injector.Reconcile, Log: o.log, Tracer: o.tracer, Queues: o.metrics.Queues(),
		Observe: panics[cabundle.Key](o.metrics, injectLoop),
	})
	w.loop.Store(l)
	defer w.loop.Store(nil)
	w.injectAll()
	l.Run(ctx)
}

// injectAll enqueues every configuration.
func (w *webhooks) injectAll() {
	if w.injector == nil {
		return
	}
	w.faults.look()
	for _, key := range w.injector.Keys() {
		w.enqueue(key)
	}
}

func (w *webhooks) enqueue(key cabundle.Key) {
	if l := w.loop.Load(); l != nil {
		l.Add(key)
	}
}

func (w *webhooks) configurationChanged(key cabundle.Key) {
	w.faults.look()
	w.enqueue(key)
	w.certificates.Recheck()
}

func (w *webhooks) bundleChanged() { w.injectAll() }

// namespaceChanged handles an opt-in or opt-out of a namespace, which may concern configurations
// that name it.
func (w *webhooks) namespaceChanged() {
	w.injectAll()
	w.certificates.Recheck()
}

// served returns why API servers cannot call the webhooks. A failed renewal of the certificate is
// tolerable.
func (w *webhooks) served() error {
	if err := w.certificates.Ready(); err != nil {
		return err
	}
	return server.Tolerable(w.certificates.RenewalError())
}

// listenTLS opens the port for webhooks.
func (o *Operator) listenTLS(ctx context.Context) (*server.Server, error) {
	c := o.config.ServerTLS
	return server.ListenTLS(ctx, server.TLSOptions{
		Port: c.Port, Limit: c.RequestTimeout, DrainClients: drainClients, Log: o.log,
		Handler: o.admission(), GetCertificate: o.webhooks.certificates.GetCertificate,
	})
}
