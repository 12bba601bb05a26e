package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Options configure an Observer.
type Options struct {
	Namespace string          // the only namespace, which need not opt in; empty: the cluster
	Selector  labels.Selector // selects namespaces that opted in; used if Namespace is empty
	// Metadata watches Deployments and ReplicaSets with the label no-downscale. If it is nil,
	// they are not watched.
	Metadata metadataclient.Interface
	Scales   Scales // nil: resources whose replicas zones take over are not known
	// Messages returns the messages that pods of zones with a delay received; nil: there are
	// none.
	Messages Messages
	// Preparations returns the answers of pods that prepare for a downscale; nil: there are none.
	Preparations Preparations
	// Contests returns which zones another writer overwrites; nil: none is known.
	Contests Contests
	// Now returns the time to compare times in API objects with; the default is time.Now.
	Now func() time.Time
	// Budgets are the budgets for evictions; nil: there are none.
	Budgets Budgets
	// Uncached is set if nothing is watched. Then a live read of a group lists every StatefulSet
	// of the namespace, because no cache shows which of them an annotation puts into the group.
	Uncached bool
}

// Preparations adds to a snapshot the answers of pods that prepare for a downscale.
type Preparations interface {
	Fill(s *group.Snapshot)
}

// Contests adds to the zones of a snapshot the known writers of their replicas.
type Contests interface {
	Fill(s *group.Snapshot)
}

// Messages adds to the zones of a group the last messages to their pods. It may drop its records
// of other pods.
type Messages interface {
	Fill(s group.Snapshot)
}

// Observer owns the caches. Call New, then Listen, then Run.
type Observer struct {
	client       kubernetes.Interface
	holds        *lease.Store
	only         string
	pods         cache.SharedIndexInformer
	zones        cache.SharedIndexInformer
	namespaces   cache.SharedIndexInformer            // nil in single-namespace mode
	labelled     map[string]cache.SharedIndexInformer // by resource; empty without webhooks
	scales       Scales                               // may be nil
	wanting      sync.Mutex
	messages     Messages
	preparations Preparations
	contests     Contests
	budgets      Budgets
	now          func() time.Time
	uncached     bool
}

// Names of indexes.
const (
	byParent    = "parent"    // pods by namespace and name of the StatefulSet that made them
	byOrphaned  = "orphaned"  // pods without a controller, by namespace
	byGroup     = "group"     // zones by the key of their group
	byUID       = "uid"       // zones by UID
	byReference = "reference" // zones by the resource whose replicas they take over
	byMirroring = "mirroring" // zones that take over replicas of any resource, by namespace
)

// New returns an Observer that has not started to watch.
func New(client kubernetes.Interface, holds *lease.Store, opts Options) (*Observer, error) {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		return nil, errors.New("set up caches: the client-go feature AtomicFIFO is switched off (KUBE_FEATURE_AtomicFIFO); without it a cache does not know its version")
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(opts.Namespace))
	o := &Observer{
		client:       client,
		holds:        holds,
		only:         opts.Namespace,
		messages:     opts.Messages,
		preparations: opts.Preparations,
		contests:     opts.Contests,
		budgets:      opts.Budgets,
		pods:         coreinformers.NewPodInformer(client, opts.Namespace, 0, cache.Indexers{byParent: indexPods, byOrphaned: indexOrphans}), // no index by namespace: it costs memory and has no use
		zones:        factory.Apps().V1().StatefulSets().Informer(),
		scales:       opts.Scales,
		now:          opts.Now,
		uncached:     opts.Uncached,
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.only == "" {
		selected := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTweakListOptions(func(l *metav1.ListOptions) { l.LabelSelector = opts.Selector.String() }))
		o.namespaces = selected.Core().V1().Namespaces().Informer()
	}
	if opts.Metadata != nil {
		o.labelled = watchLabelled(opts.Metadata, opts.Namespace)
	}
	if err := o.configure(); err != nil {
		return nil, fmt.Errorf("set up caches: %w", err)
	}
	return o, nil
}

func (o *Observer) configure() error {
	errs := []error{
		o.pods.SetTransform(o.keepPod),
		o.zones.SetTransform(trimZone),
		o.zones.AddIndexers(cache.Indexers{byGroup: indexByGroup, byUID: indexByUID, byReference: indexByReference, byMirroring: indexMirroring}),
	}
	if o.namespaces != nil {
		errs = append(errs, o.namespaces.SetTransform(trimNamespace))
	}
	for _, informer := range o.labelled {
		errs = append(errs, informer.SetTransform(trimLabelled))
	}
	return errors.Join(errs...)
}

func indexPods(object any) ([]string, error) {
	if r, ok := object.(*podRecord); ok {
		return []string{r.namespace() + "/" + r.parent()}, nil
	}
	return nil, nil
}

func indexOrphans(object any) ([]string, error) {
	if r, ok := object.(*podRecord); ok && r.orphaned() {
		return []string{r.namespace()}, nil
	}
	return nil, nil
}

func indexByGroup(object any) ([]string, error) {
	if r, ok := object.(*zoneRecord); ok && r.usesHold() {
		return []string{r.key().String()}, nil
	}
	return nil, nil
}

func indexByUID(object any) ([]string, error) {
	if r, ok := object.(*zoneRecord); ok {
		return []string{r.zone.UID}, nil
	}
	return nil, nil
}

// Run watches until ctx ends. It returns when all watches have stopped.
func (o *Observer) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, informer := range slices.AppendSeq(o.needed(), maps.Values(o.labelled)) {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	running.Wait()
}

// Synced reports whether every cache that decisions require has been filled once. It does not
// wait for budgets of evictions that the cluster does not show, or not within a minute. It does
// not wait for caches of labelled objects: while these are empty, a live read answers.
func (o *Observer) Synced() bool {
	for _, informer := range o.needed() {
		if !informer.HasSynced() {
			return false
		}
	}
	return o.budgets == nil || o.budgets.Answered()
}

func (o *Observer) needed() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{o.pods, o.zones, o.holds.Informer()}
	if o.namespaces != nil {
		all = append(all, o.namespaces)
	}
	return all
}

// Managed reports whether a namespace opted in, or is the only one that is observed.
func (o *Observer) Managed(namespace string) bool {
	if o.namespaces == nil {
		return namespace == o.only
	}
	item, exists, err := o.namespaces.GetStore().GetByKey(namespace)
	if err != nil || !exists {
		return false
	}
	record, ok := item.(*namespaceRecord)
	return ok && !record.deleting
}

// Namespaces returns how many namespaces are managed.
func (o *Observer) Namespaces() int {
	if o.namespaces == nil {
		return 1
	}
	return len(o.namespaces.GetStore().ListKeys())
}

// within returns the records of one namespace, or of all namespaces if namespace is empty.
func within[T any](informer cache.SharedIndexInformer, namespace string) []T {
	if namespace == "" {
		return of[T](informer.GetStore().List())
	}
	return lookup[T](informer, cache.NamespaceIndex, namespace)
}

func lookup[T any](informer cache.SharedIndexInformer, index, value string) []T {
	items, err := informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil // New created the index
	}
	return of[T](items)
}

func of[T any](items []any) []T {
	records := make([]T, 0, len(items))
	for _, item := range items {
		if record, ok := item.(T); ok {
			records = append(records, record)
		}
	}
	return records
}

// Has reports whether a group has a zone and its namespace is managed.
func (o *Observer) Has(key plan.Key) bool {
	return o.Managed(key.Namespace) && len(o.zonesOf(key)) > 0
}

// Groups returns every group of a namespace that has a zone or a hold. If namespace is empty, it
// returns those of all managed namespaces.
func (o *Observer) Groups(namespace string) []plan.Key {
	asked := func(key plan.Key) bool { return namespace != "" || o.Managed(key.Namespace) }
	seen := map[plan.Key]bool{}
	for _, r := range within[*zoneRecord](o.zones, namespace) {
		if r.usesHold() && asked(r.key()) {
			seen[r.key()] = true
		}
	}
	for _, held := range within[*coordinationv1.Lease](o.holds.Informer(), namespace) {
		if key, ok := lease.KeyOf(held); ok && asked(key) {
			seen[key] = true
		}
	}
	return slices.Collect(maps.Keys(seen))
}
