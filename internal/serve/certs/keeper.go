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
	// requestTimeout bounds one request to the API server.
	requestTimeout = 10 * time.Second
	// retryAfter is the pause after a request that failed; where another replica
	// was first, its write is seen before that.
	retryAfter = 2 * time.Second
	// mostRest bounds how long nothing is looked at: names and clocks change without
	// an event.
	mostRest = 5 * time.Minute
	// clockOff is from when on a difference of clocks is told.
	clockOff = time.Minute
)

// Clock is that of the API server.
type Clock interface {
	Now() time.Time
	// Offset is by how much this machine's clock is slow.
	Offset() time.Duration
}

// Options say what a Keeper keeps. Published, Changed and Expires may be nil.
type Options struct {
	Client       kubernetes.Interface
	Namespace    string // of the Secret
	Name         string // of the Secret
	Organisation string
	Life         time.Duration
	Propagation  time.Duration
	Clock        Clock
	Log          logrus.FieldLogger
	DryRun       bool // change nothing

	Names     func() ([]string, error)  // what the certificate must be valid for; an error: not all is known yet
	Published func(bundle []byte) error // who does not have that bundle; not set: nobody knows
	Changed   func()                    // the bundle is another one
	Expires   func(time.Time)           // another certificate is served, and until when
}

// Keeper serves the certificate of a Secret and takes part in its rotation. All
// methods may be called from any goroutine.
type Keeper struct {
	options  Options
	informer cache.SharedIndexInformer
	wake     chan struct{}

	mu      sync.Mutex
	kept    Record // the last one that could be served
	served  *tls.Certificate
	trouble error
	off     bool // the clocks differ
}

// errNothing is the answer while there is no certificate.
var errNothing = errors.New("there is no webhook certificate to serve yet")

// New returns a Keeper that has not looked yet.
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
		trouble: fmt.Errorf("the Secret %s/%s has not been read yet", o.Namespace, o.Name),
	}
	_, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { k.Look() },
		UpdateFunc: func(any, any) { k.Look() },
		DeleteFunc: func(any) { k.Look() },
	})
	if err != nil {
		return nil, fmt.Errorf("listen for the certificate's Secret: %w", err)
	}
	return k, nil
}

// Watch follows the Secret until ctx ends.
func (k *Keeper) Watch(ctx context.Context) { k.informer.RunWithContext(ctx) }

// Version returns up to which version of the cluster the Secret is known; empty where it
// is not.
func (k *Keeper) Version() string { return k.informer.GetStore().LastStoreSyncResourceVersion() }

// Run serves what the Secret has, and takes what steps are due, until ctx ends.
// It needs Watch beside it.
func (k *Keeper) Run(ctx context.Context) {
	select {
	case <-k.informer.HasSyncedChecker().Done():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		rest := time.NewTimer(k.look(ctx))
		select {
		case <-rest.C:
		case <-k.wake:
		case <-ctx.Done():
		}
		rest.Stop()
	}
}

// Look asks for a look at the Secret, since something around it has changed.
func (k *Keeper) Look() {
	select {
	case k.wake <- struct{}{}:
	default: // asked for already
	}
}

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		return nil, errNothing
	}
	return k.served, nil
}

// Bundle returns what clients should trust, as far as is known; nil: nothing yet.
func (k *Keeper) Bundle() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept.CA
}

// Confirm reads from the API server what clients should trust, for who is about
// to publish it. Without that, a replica whose watch is behind could take away
// a CA that others rely on.
func (k *Keeper) Confirm(ctx context.Context) ([]byte, error) {
	secret, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	r := decode(secret)
	if found := judge(r, k.options.Clock.Now()); found.serving == nil {
		return nil, fmt.Errorf("read bundle: %w", found.wrong)
	}
	return r.CA, nil
}

// Ready says why no client would accept what is served; nil: all is well.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.served == nil {
		return errors.Join(errNothing, k.trouble)
	}
	if end := k.served.Leaf.NotAfter; !k.options.Clock.Now().Before(end) {
		return errors.Join(fmt.Errorf("the certificate expired at %s", end.Format(time.RFC3339)), k.trouble)
	}
	return nil
}

// Trouble says what keeps the certificate from being renewed, or nil.
func (k *Keeper) Trouble() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trouble
}

// look serves what the cache shows, takes the step that is due, and returns for
// how long to rest.
func (k *Keeper) look(ctx context.Context) time.Duration {
	secret := k.cached()
	s := k.situation(secret)
	k.adopt(s)
	due := k.times().next(s)
	err := unfit(secret)
	if err == nil && due.deed != nothing {
		err = k.take(ctx)
	}
	if err == nil && due.held {
		k.tell(errors.New(due.because), logrus.InfoLevel, "webhook certificate is not renewed yet")
	} else {
		k.tell(err, logrus.ErrorLevel, "webhook certificate was not renewed")
	}
	if err != nil || due.deed != nothing {
		return retryAfter // where it worked, its event comes first
	}
	return min(max(due.wait.Sub(s.now), 0), mostRest)
}

func (k *Keeper) times() Times {
	return Times{Propagation: k.options.Propagation, Unseen: k.options.Published == nil}
}

func (k *Keeper) situation(secret *corev1.Secret) situation {
	k.mu.Lock()
	kept := k.kept
	k.mu.Unlock()
	s := situation{record: decode(secret), now: k.options.Clock.Now()}
	s.names, s.unnamed = k.options.Names()
	s.found = judge(s.record, s.now)
	if k.options.Published != nil {
		s.unpublished = k.options.Published(s.record.CA)
	}
	return s.rescued(kept)
}

// adopt serves what a situation has to serve.
func (k *Keeper) adopt(s situation) {
	if s.found.serving == nil || s.lost != nil {
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

// take takes the step that is due by what the API server has, and by
// compare-and-swap. Whoever is first decides; the others see what came of it.
func (k *Keeper) take(ctx context.Context) error {
	if k.options.DryRun {
		return errors.New("a dry run does not write the webhook certificate")
	}
	secret, err := k.read(ctx)
	if err != nil {
		return err
	}
	if err := unfit(secret); err != nil {
		return err
	}
	s := k.situation(secret)
	due := k.times().next(s)
	if due.deed == nothing {
		return nil
	}
	record, err := carryOut(due.deed, s, Order{Names: s.names, Organisation: k.options.Organisation, Life: k.options.Life})
	if err != nil {
		return fmt.Errorf("renew webhook certificate: %w", err)
	}
	err = k.write(ctx, secret, record)
	deleted := secret != nil && apierrors.IsNotFound(err)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || deleted {
		return nil // somebody else was first
	}
	if err != nil {
		return err
	}
	k.options.Log.WithFields(logrus.Fields{"deed": due.deed.String(), "because": due.because}).Info("Secret with the webhook certificate was written")
	return nil
}

// cached returns what the watch has shown; nil: there is no such Secret.
func (k *Keeper) cached() *corev1.Secret {
	item, exists, err := k.informer.GetStore().GetByKey(k.options.Namespace + "/" + k.options.Name)
	if err != nil || !exists {
		return nil
	}
	secret, _ := item.(*corev1.Secret)
	return secret
}

// read returns what the API server has; nil: there is no such Secret.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secret, err := k.options.Client.CoreV1().Secrets(k.options.Namespace).Get(ctx, k.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read webhook certificate: %w", err)
	}
	return secret, nil
}

// write creates the Secret, or updates the very one that was read.
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
		return fmt.Errorf("write webhook certificate: %w", err)
	}
	return nil
}

// tell remembers what is wrong, and logs with a message what is news.
func (k *Keeper) tell(trouble error, level logrus.Level, message string) {
	off := k.options.Clock.Offset().Abs() >= clockOff
	k.mu.Lock()
	before, wasOff := k.trouble, k.off
	k.trouble, k.off = trouble, off
	k.mu.Unlock()
	if trouble != nil && (before == nil || before.Error() != trouble.Error()) {
		k.options.Log.WithError(trouble).Log(level, message)
	}
	if off && !wasOff {
		k.options.Log.WithField("slow_by", k.options.Clock.Offset().Round(time.Second).String()).
			Warn("the clock of this machine differs from the API server's; certificates go by the latter")
	}
}
