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
	// requestTimeout limits reading the bundle and the patch together, so that a patch is
	// never sent long after its basis was read.
	requestTimeout = 10 * time.Second
	// maxServices is the maximum number of Services in a certificate.
	maxServices = 50
)

type certificates interface {
	Bundle() []byte                          // the last known bundle, or nil
	Confirm(context.Context) ([]byte, error) // the bundle in the API server
}

type namespaces interface {
	Managed(namespace string) bool
	Synced() bool
}

// Options select the configurations that get the CA. All but Names and Single are required.
type Options struct {
	Client       kubernetes.Interface
	Certificates certificates
	Namespaces   namespaces
	Names        []string // only these, whatever their labels; if empty, the labelled configurations
	Single       bool     // one namespace is managed, so other operators may exist
	DryRun       bool     // if true, nothing is written
	Log          logrus.FieldLogger
}

// Controller injects the CA. Callers create it with New, call Listen, then Watch.
type Controller struct {
	options   Options
	informers map[Kind][]cache.SharedIndexInformer
	contests  *contests
}

// New returns a Controller that does not watch yet.
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

// selections returns the field selectors to watch with. RBAC grants a watch of named objects
// only for each name separately.
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

// Listener receives changes.
type Listener struct {
	Changed func(Key) // a configuration that must have the CA, or had to
}

// Listen registers a listener. Call it before Watch.
func (c *Controller) Listen(l Listener) error {
	concern := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if found, ok := object.(*configuration); ok && c.wantsCA(found) {
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

// Watch watches webhook configurations until ctx ends.
func (c *Controller) Watch(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range c.all() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

// Versions returns the resourceVersions up to which webhook configurations are known, by resource
// and, if Names is set, by name. An unknown version is empty.
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

// Keys returns the configurations that request a CA, from this operator or another.
func (c *Controller) Keys() []Key {
	var keys []Key
	for _, found := range c.known() {
		keys = append(keys, found.key)
	}
	return keys
}

// Services returns the host names of the Services that the configurations of this operator
// name.
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
	return all[:min(len(all), maxServices)]
}

// Known returns an error while it is unknown which configurations belong to this operator.
func (c *Controller) Known() error {
	if !c.options.Namespaces.Synced() {
		return errors.New("the managed namespaces are not known yet")
	}
	for _, informer := range c.all() {
		if !informer.HasSynced() {
			return errors.New("webhook configurations have not been read yet")
		}
	}
	return nil
}

// Published returns an error that names the configurations of this operator without the
// bundle, or nil if all have it.
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

// Reconcile writes the bundle into one configuration.
func (c *Controller) Reconcile(ctx context.Context, key Key) (loop.Outcome, error) {
	found, ok := c.cached(key)
	switch {
	case !ok:
		c.contests.forget(key)
		return loop.Gone(), nil
	case !c.ours(found), found.has(c.options.Certificates.Bundle()), len(c.options.Certificates.Bundle()) == 0:
		return loop.Done(), nil
	case c.options.DryRun:
		c.options.Log.WithField("configuration", key.String()).Info("CA is not injected in a dry run")
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
			Warn("another writer keeps replacing the CA; check whether another operator injects into this configuration")
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

// classify distinguishes a patch of an outdated version from a patch that is refused for its
// content. The API server calls both "invalid".
func (c *Controller) classify(err error, patched *configuration) error {
	now, ok := c.cached(patched.key)
	moved := !ok || now.version != patched.version
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) && moved {
		return reason.WithClass(reason.Moved, err)
	}
	return err
}

// wantsCA reports whether a configuration must have the CA of some operator.
func (c *Controller) wantsCA(found *configuration) bool {
	return len(c.options.Names) > 0 || requestsCA(found.labels)
}

// ours reports whether this operator injects the CA into a configuration. If the configuration
// names a namespace, the operator of that namespace does. Otherwise the operator of the
// cluster does.
func (c *Controller) ours(found *configuration) bool {
	if len(c.options.Names) > 0 {
		return slices.Contains(c.options.Names, found.key.Name)
	}
	namespace, named := found.labels[contract.InjectNamespaceLabel]
	switch {
	case !requestsCA(found.labels):
		return false
	case named:
		return c.options.Namespaces.Managed(namespace)
	}
	return found.labels[contract.InjectLabel] == "true" && !c.options.Single
}

// known returns the configurations that must have the CA of some operator.
func (c *Controller) known() []*configuration {
	return slices.DeleteFunc(c.cachedAll(), func(found *configuration) bool { return !c.wantsCA(found) })
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
