package cabundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	admissionregistrationinformers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	// requestTimeout bounds reading the bundle and the patch together, so that a
	// patch never arrives long after what it was made from.
	requestTimeout = 10 * time.Second
	// mostServices bounds what a certificate must be valid for.
	mostServices = 50
)

type certificates interface {
	Bundle() []byte                          // what is known; nil: nothing yet
	Confirm(context.Context) ([]byte, error) // what the API server has
}

type namespaces interface {
	Managed(namespace string) bool
	Synced() bool
}

// Options say who gets the CA. All but Names and Single are required.
type Options struct {
	Client       kubernetes.Interface
	Certificates certificates
	Namespaces   namespaces
	Names        []string // these and no others, whatever their labels; empty: those that are labelled
	Single       bool     // one namespace is managed, so there may be other operators
	DryRun       bool     // change nothing
	Log          logrus.FieldLogger
}

// Controller injects the CA. Make one with New, give it its listener, run it.
type Controller struct {
	options   Options
	informers map[Kind][]cache.SharedIndexInformer
	contests  *contests
}

// New returns a Controller that has not started to watch.
func New(o Options) (*Controller, error) {
	c := &Controller{options: o, informers: map[Kind][]cache.SharedIndexInformer{}, contests: newContests()}
	for _, name := range selections(o.Names) {
		only := func(l *metav1.ListOptions) { l.FieldSelector = name }
		c.informers[Validating] = append(c.informers[Validating],
			admissionregistrationinformers.NewFilteredValidatingWebhookConfigurationInformer(o.Client, 0, cache.Indexers{}, only))
		c.informers[Mutating] = append(c.informers[Mutating],
			admissionregistrationinformers.NewFilteredMutatingWebhookConfigurationInformer(o.Client, 0, cache.Indexers{}, only))
	}
	for _, informer := range c.all() {
		if err := informer.SetTransform(trim(len(o.Names) > 0)); err != nil {
			return nil, fmt.Errorf("set up caches of webhook configurations: %w", err)
		}
	}
	return c, nil
}

// selections are the field selectors to watch with: RBAC grants a watch of named
// objects only one by one.
func selections(names []string) []string {
	if len(names) == 0 {
		return []string{""}
	}
	var all []string
	for _, name := range names {
		all = append(all, fields.OneTermEqualSelector(metav1.ObjectNameField, name).String())
	}
	return all
}

func (c *Controller) all() []cache.SharedIndexInformer {
	return slices.Concat(c.informers[Validating], c.informers[Mutating])
}

// Listener is told what changed.
type Listener struct {
	Changed func(Key) // a configuration that is or was to have the CA
}

// Listen registers a listener. Call it before Watch.
func (c *Controller) Listen(l Listener) error {
	concern := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if found, ok := object.(*configuration); ok && c.concerns(found) {
			l.Changed(found.key)
		}
	}
	for _, informer := range c.all() {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    concern,
			UpdateFunc: func(before, after any) { concern(before); concern(after) },
			DeleteFunc: concern,
		})
		if err != nil {
			return fmt.Errorf("listen for webhook configurations: %w", err)
		}
	}
	return nil
}

// Watch follows webhook configurations until ctx ends.
func (c *Controller) Watch(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range c.all() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

// Versions returns up to which version of the cluster webhook configurations are known,
// by their resource and, where some were named, their name; empty where they are not.
func (c *Controller) Versions() map[string]string {
	versions := map[string]string{}
	for kind, informers := range c.informers {
		for i, informer := range informers {
			cached := strings.ToLower(string(kind)) + "s"
			if len(c.options.Names) > 0 {
				cached += "/" + c.options.Names[i]
			}
			versions[cached] = informer.GetStore().LastStoreSyncResourceVersion()
		}
	}
	return versions
}

// Keys returns the configurations that ask for a CA, of this operator or another.
func (c *Controller) Keys() []Key {
	var keys []Key
	for _, found := range c.known() {
		keys = append(keys, found.key)
	}
	return keys
}

// Services returns the names under which the Services are called that our
// configurations point to.
func (c *Controller) Services() []string {
	names := map[string]bool{}
	for _, found := range c.known() {
		if c.ours(found) {
			for _, name := range found.services() {
				names[name] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), mostServices)]
}

// Known says why it is not known yet which configurations are ours; nil: it is.
func (c *Controller) Known() error {
	if !c.options.Namespaces.Synced() {
		return errors.New("it is not known yet which namespaces are managed")
	}
	for _, informer := range c.all() {
		if !informer.HasSynced() {
			return errors.New("webhook configurations have not been read yet")
		}
	}
	return nil
}

// Published says which of our configurations do not have that bundle; nil: all
// have it.
func (c *Controller) Published(bundle []byte) error {
	if err := c.Known(); err != nil {
		return err
	}
	var without []error
	for _, found := range c.known() {
		if c.ours(found) && !found.has(bundle) {
			without = append(without, fmt.Errorf("%s does not have the CA yet", found.key))
		}
	}
	return errors.Join(without...)
}

// Reconcile gives one configuration the bundle.
func (c *Controller) Reconcile(ctx context.Context, key Key) (loop.Outcome, error) {
	found, ok := c.cached(key)
	switch {
	case !ok:
		c.contests.forget(key)
		return loop.Gone(), nil
	case !c.ours(found), found.has(c.options.Certificates.Bundle()), len(c.options.Certificates.Bundle()) == 0:
		return loop.Done(), nil
	case c.options.DryRun:
		c.options.Log.WithField("configuration", key.String()).Info("a dry run does not inject the CA")
		return loop.Done(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	bundle, err := c.options.Certificates.Confirm(ctx)
	if err != nil {
		return loop.Done(), fmt.Errorf("inject CA into %s: %w", key, err)
	}
	patch, err := found.patch(bundle)
	if err != nil || patch == nil {
		return loop.Done(), err
	}
	if rest := c.contests.rest(key, bundle); rest > 0 {
		c.options.Log.WithField("configuration", key.String()).WithField("rest", rest.Round(time.Second).String()).
			Warn("somebody else writes another CA again and again: is another operator at work for this configuration?")
		return loop.After(rest), nil
	}
	if err := c.send(ctx, key, patch); err != nil {
		return loop.Done(), fmt.Errorf("inject CA into %s: %w", key, c.classify(err, found))
	}
	c.options.Log.WithField("configuration", key.String()).Info("CA was injected")
	return loop.Done(), nil
}

func (c *Controller) send(ctx context.Context, key Key, patch []byte) error {
	var err error
	switch client := c.options.Client.AdmissionregistrationV1(); key.Kind {
	case Validating:
		_, err = client.ValidatingWebhookConfigurations().Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	case Mutating:
		_, err = client.MutatingWebhookConfigurations().Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	}
	return err
}

// classify tells a patch that came too late from one that is refused for what it
// says: both are "invalid" to the API server.
func (c *Controller) classify(err error, patched *configuration) error {
	now, ok := c.cached(patched.key)
	moved := !ok || now.version != patched.version
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) && moved {
		return reason.WithClass(reason.Moved, err)
	}
	return err
}

// concerns reports whether a configuration is to have some operator's CA.
func (c *Controller) concerns(found *configuration) bool {
	return len(c.options.Names) > 0 || asks(found.labels)
}

// ours reports whether a configuration is to have the CA from us. One that names a
// namespace belongs to who manages that; one that names none, to who manages the
// cluster.
func (c *Controller) ours(found *configuration) bool {
	if len(c.options.Names) > 0 {
		return slices.Contains(c.options.Names, found.key.Name)
	}
	namespace, named := found.labels[contract.InjectNamespaceLabel]
	switch {
	case !asks(found.labels):
		return false
	case named:
		return c.options.Namespaces.Managed(namespace)
	}
	return found.labels[contract.InjectLabel] == "true" && !c.options.Single
}

// known are the configurations that are to have some operator's CA.
func (c *Controller) known() []*configuration {
	return slices.DeleteFunc(c.cachedAll(), func(found *configuration) bool { return !c.concerns(found) })
}

func (c *Controller) cachedAll() []*configuration {
	var all []*configuration
	for _, informer := range c.all() {
		for _, item := range informer.GetStore().List() {
			if found, ok := item.(*configuration); ok {
				all = append(all, found)
			}
		}
	}
	return all
}

func (c *Controller) cached(key Key) (*configuration, bool) {
	for _, informer := range c.informers[key.Kind] {
		item, exists, err := informer.GetStore().GetByKey(key.Name)
		if err == nil && exists {
			found, ok := item.(*configuration)
			return found, ok
		}
	}
	return nil, false
}
