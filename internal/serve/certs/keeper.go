package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	// requestTimeout limits one request to the API server.
	requestTimeout = 10 * time.Second
	// retryAfter is the pause after a failed request. If another replica was first, the
	// watch shows its write before the pause is over.
	retryAfter = 2 * time.Second
	// maxWait is the maximum time between two reconciles, because names and clocks change
	// without an event.
	maxWait = 5 * time.Minute
	// maxClockOffset is the clock difference from which Keeper logs a warning.
	maxClockOffset = time.Minute
)

// Clock is the clock of the API server.
type Clock interface {
	Now() time.Time
	// Offset returns by how much the clock of this machine is slow.
	Offset() time.Duration
}

// Options configure a Keeper. Published, Changed and Expires can be nil.
type Options struct {
	Client       kubernetes.Interface
	Namespace    string // of the Secret
	Name         string // of the Secret
	Organisation string
	Life         time.Duration
	Propagation  time.Duration
	Clock        Clock
	Log          logrus.FieldLogger
	DryRun       bool // if true, Keeper writes nothing

	Names     func() ([]string, error)  // the names of the certificate; an error if not all are known yet
	Published func(bundle []byte) error // an error that names a webhook configuration without the bundle; nil if the user publishes the bundle
	Changed   func()                    // called after the bundle has changed
	Expires   func(time.Time)           // called with the expiry of each certificate that is served
}

// Keeper serves the certificate of a Secret and takes the due steps of its rotation. All
// methods are safe for concurrent use.
type Keeper struct {
	options  Options
	informer cache.SharedIndexInformer
	wake     chan struct{}

	mu           sync.Mutex
	kept         Record // the last record whose certificate could be served
	served       *tls.Certificate
	lastErr      error
	clockDiffers bool // the clock of this machine differs from the API server's
}

// errNoCertificate is the error while there is no certificate.
var errNoCertificate = errors.New("no webhook certificate is available yet")

// New returns a Keeper that has not read the Secret yet.
func New(o Options) (*Keeper, error) {
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Expires == nil {
		o.Expires = func(time.Time) {}
	}
	thisOne := fields.OneTermEqualSelector(metav1.ObjectNameField, o.Name).String()
	k := &Keeper{
		options: o,
		wake:    make(chan struct{}, 1),
		informer: coreinformers.NewFilteredSecretInformer(o.Client, o.Namespace, 0, cache.Indexers{},
			func(l *metav1.ListOptions) { l.FieldSelector = thisOne }),
		lastErr: fmt.Errorf("the Secret %s/%s has not been read yet", o.Namespace, o.Name),
	}
	_, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.Recheck() },
		UpdateFunc: func(any, any) { k.Recheck() },
		DeleteFunc: func(any) { k.Recheck() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Secret %s/%s with the webhook certificate: %w", o.Namespace, o.Name, err)
	}
	return k, nil
}

// Watch follows the Secret until ctx ends.
func (k *Keeper) Watch(ctx context.Context) { k.informer.RunWithContext(ctx) }

// Version returns the resourceVersion up to which the Secret is known, or an empty string if the
// Secret is unknown.
func (k *Keeper) Version() string { return k.informer.GetStore().LastStoreSyncResourceVersion() }

// Run serves the certificate of the Secret and takes due steps of the rotation until ctx
// ends. Watch must run at the same time.
func (k *Keeper) Run(ctx context.Context) {
	select {
	case <-k.informer.HasSyncedChecker().Done():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		rest := time.NewTimer(k.reconcile(ctx))
		select {
		case <-rest.C:
		case <-k.wake:
		case <-ctx.Done():
		}
		rest.Stop()
	}
}

// Recheck makes Run reconcile the Secret soon. Callers use it after names or bundles have changed.
func (k *Keeper) Recheck() {
	select {
	case k.wake <- struct{}{}:
	default: // a reconcile is pending
	}
}

// GetCertificate implements tls.Config.GetCertificate.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		return nil, errNoCertificate
	}
	return k.served, nil
}

// Bundle returns the last known CA bundle for clients, or nil if none is known yet.
func (k *Keeper) Bundle() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept.CA
}

// Confirm reads the CA bundle for clients from the API server. Callers use it before they
// publish the bundle: a replica whose watch is behind could otherwise remove a CA that
// other replicas need.
func (k *Keeper) Confirm(ctx context.Context) ([]byte, error) {
	secret, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	r := decode(secret)
	if found := inspect(r, k.options.Clock.Now()); found.serving == nil {
		return nil, fmt.Errorf("read bundle: %w", found.servingErr)
	}
	return r.CA, nil
}

// Ready returns an error if clients reject the served certificate.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		return errors.Join(errNoCertificate, k.lastErr)
	}
	if end := k.served.Leaf.NotAfter; !k.options.Clock.Now().Before(end) {
		return errors.Join(fmt.Errorf("the certificate expired at %s", end.Format(time.RFC3339)), k.lastErr)
	}
	return nil
}

// RenewalError returns the error that prevents a renewal, or nil.
func (k *Keeper) RenewalError() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lastErr
}

// reconcile serves the cached certificate, takes the due step, and returns the time until the
// next reconcile.
func (k *Keeper) reconcile(ctx context.Context) time.Duration {
	secret := k.cached()
	s := k.state(secret)
	k.adopt(s)
	due := k.times().next(s)
	err := unusable(secret)
	if err == nil && due.transition != noTransition {
		err = k.takeStep(ctx)
	}
	if err == nil && due.blocked {
		k.report(errors.New(due.because), logrus.InfoLevel, "webhook certificate is not renewed yet")
	} else {
		k.report(err, logrus.ErrorLevel, "webhook certificate was not renewed")
	}
	if err != nil || due.transition != noTransition {
		return retryAfter // after a successful write, the watch event comes first
	}
	return min(max(due.wait.Sub(s.now), 0), maxWait)
}

func (k *Keeper) times() Times {
	return Times{Propagation: k.options.Propagation, PublicationUnknown: k.options.Published == nil}
}

func (k *Keeper) state(secret *corev1.Secret) state {
	k.mu.Lock()
	kept := k.kept
	k.mu.Unlock()
	s := state{record: decode(secret), now: k.options.Clock.Now()}
	s.names, s.namesErr = k.options.Names()
	s.found = inspect(s.record, s.now)
	if k.options.Published != nil {
		s.publishErr = k.options.Published(s.record.CA)
	}
	return s.withServed(kept)
}

// adopt serves the certificate of s, if s has a new one.
func (k *Keeper) adopt(s state) {
	if s.found.serving == nil || s.lostErr != nil {
		return
	}
	k.mu.Lock()
	published := bytes.Equal(k.kept.CA, s.record.CA)
	served := k.served != nil && bytes.Equal(k.served.Leaf.Raw, s.found.serving.Leaf.Raw)
	k.kept, k.served = s.record, s.found.serving
	k.mu.Unlock()
	if !served {
		leaf := s.found.serving.Leaf
		k.options.Expires(leaf.NotAfter)
		k.options.Log.WithFields(logrus.Fields{"expires": leaf.NotAfter.Format(time.RFC3339), "serial": leaf.SerialNumber.Text(16)}).
			Info("webhook certificate is served")
	}
	if !published {
		k.options.Changed()
	}
}

// takeStep takes the due step by compare-and-swap. It reads the Secret from the API server first.
// If another replica writes first, takeStep does nothing.
func (k *Keeper) takeStep(ctx context.Context) error {
	if k.options.DryRun {
		return errors.New("the webhook certificate cannot be written in a dry run")
	}
	secret, err := k.read(ctx)
	if err != nil {
		return err
	}
	if err := unusable(secret); err != nil {
		return err
	}
	s := k.state(secret)
	due := k.times().next(s)
	if due.transition == noTransition {
		return nil
	}
	record, err := apply(due.transition, s, Order{Names: s.names, Organisation: k.options.Organisation, Life: k.options.Life})
	if err != nil {
		return fmt.Errorf("issue webhook certificate: %w", err)
	}
	err = k.write(ctx, secret, record)
	deleted := secret != nil && apierrors.IsNotFound(err)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || deleted {
		return nil // another replica was first
	}
	if err != nil {
		return err
	}
	k.options.Log.WithFields(logrus.Fields{"transition": due.transition.String(), "because": due.because}).Info("Secret with the webhook certificate was written")
	return nil
}

// cached returns the Secret from the cache, or nil if it does not exist.
func (k *Keeper) cached() *corev1.Secret {
	item, exists, err := k.informer.GetStore().GetByKey(k.options.Namespace + "/" + k.options.Name)
	if err != nil || !exists {
		return nil
	}
	secret, _ := item.(*corev1.Secret)
	return secret
}

// read returns the Secret from the API server, or nil if it does not exist.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := k.options.Client.CoreV1().Secrets(k.options.Namespace).Get(ctx, k.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s with the webhook certificate: %w", k.options.Namespace, k.options.Name, err)
	}
	return secret, nil
}

// write creates the Secret, or updates it if read is still its latest version.
func (k *Keeper) write(ctx context.Context, read *corev1.Secret, r Record) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secrets := k.options.Client.CoreV1().Secrets(k.options.Namespace)
	var err error
	if read == nil {
		empty := &corev1.Secret{Type: corev1.SecretTypeOpaque, ObjectMeta: metav1.ObjectMeta{
			Namespace: k.options.Namespace, Name: k.options.Name,
			Labels: map[string]string{"app.kubernetes.io/name": "lockstep"},
		}}
		_, err = secrets.Create(ctx, encode(empty, r), metav1.CreateOptions{})
	} else {
		_, err = secrets.Update(ctx, encode(read, r), metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s/%s with the webhook certificate: %w", k.options.Namespace, k.options.Name, err)
	}
	return nil
}

// report stores the error for RenewalError and logs it if it is a new one.
func (k *Keeper) report(lastErr error, level logrus.Level, message string) {
	clockDiffers := k.options.Clock.Offset().Abs() >= maxClockOffset
	k.mu.Lock()
	before, wasOff := k.lastErr, k.clockDiffers
	k.lastErr, k.clockDiffers = lastErr, clockDiffers
	k.mu.Unlock()
	if lastErr != nil && (before == nil || before.Error() != lastErr.Error()) {
		k.options.Log.WithError(lastErr).Log(level, message)
	}
	if clockDiffers && !wasOff {
		k.options.Log.WithField("slow_by", k.options.Clock.Offset().Round(time.Second).String()).
			Warn("the clock of this machine differs from the API server's; lockstep uses the API server's time for certificates")
	}
}
