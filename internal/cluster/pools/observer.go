package pools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Resource is the resource of StatefulClusters.
var Resource = schema.GroupVersionResource{Group: v1alpha1.GroupName, Version: "v1alpha1", Resource: "statefulclusters"}

var claimResource = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

// Holds reads the records in Leases.
type Holds interface {
	Cached(plan.Key) plan.Record
	Read(context.Context, plan.Key) (plan.Record, error)
}

// Options configure an Observer. All are required but Namespace.
type Options struct {
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Namespace string // the only managed namespace; empty: all
	Holds     Holds
	Now       func() time.Time
	Log       logrus.FieldLogger
	Changed   func(plan.Key) // called after an object of a pool has changed
}

// Observer observes the pools of all namespaces. Create it with New and call Run. Its other methods are safe for
// concurrent use.
type Observer struct {
	options   Options
	pods      cache.SharedIndexInformer
	claims    cache.SharedIndexInformer
	revisions cache.SharedIndexInformer
	nodes     cache.SharedIndexInformer // nil with a single namespace
	checks    checks

	mu      sync.Mutex
	objects map[plan.Key]pool.Object
	at      plan.Version // of the objects
	listed  bool         // all objects have been listed, or the kind does not exist
}

// byPool is the index of pods and claims by the namespace and the name of their pool.
const byPool = "pool"

// New returns an Observer.
func New(o Options) (*Observer, error) {
	indexers := func() cache.Indexers { return cache.Indexers{byPool: indexByPool} }
	labelled := func(l *metav1.ListOptions) { l.LabelSelector = contract.PoolLabel }
	observer := &Observer{
		options: o, objects: map[plan.Key]pool.Object{},
		pods:      coreinformers.NewFilteredPodInformer(o.Client, o.Namespace, 0, cache.Indexers{byPool: indexByPool, byNode: indexByNode}, labelled),
		claims:    metadatainformer.NewFilteredMetadataInformer(o.Metadata, claimResource, o.Namespace, 0, indexers(), labelled).Informer(),
		revisions: appsinformers.NewFilteredControllerRevisionInformer(o.Client, o.Namespace, 0, indexers(), labelled),
	}
	for _, informer := range []cache.SharedIndexInformer{observer.pods, observer.claims, observer.revisions} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: observer.touched, UpdateFunc: observer.changed, DeleteFunc: observer.touched,
		})
		if err := errors.Join(err, informer.SetTransform(recorded)); err != nil {
			return nil, fmt.Errorf("listen to the objects of pools: %w", err)
		}
	}
	if o.Namespace == "" {
		if err := observer.watchNodes(); err != nil {
			return nil, err
		}
	}
	return observer, nil
}

func (o *Observer) watchNodes() error {
	o.nodes = coreinformers.NewNodeInformer(o.options.Client, 0, cache.Indexers{})
	_, err := o.nodes.AddEventHandler(o.nodeEvents())
	if err := errors.Join(err, o.nodes.SetTransform(recorded)); err != nil {
		return fmt.Errorf("listen to nodes: %w", err)
	}
	return nil
}

func indexByPool(object any) ([]string, error) {
	m, is := object.(metav1.Object)
	if !is {
		return nil, nil
	}
	return []string{m.GetNamespace() + "/" + m.GetLabels()[contract.PoolLabel]}, nil
}

// changed enqueues the pool of an object, and the one that it had before.
func (o *Observer) changed(former, latest any) {
	was, _ := former.(metav1.Object)
	is, _ := latest.(metav1.Object)
	if was != nil && is != nil && was.GetLabels()[contract.PoolLabel] != is.GetLabels()[contract.PoolLabel] {
		o.touched(former)
	}
	o.touched(latest)
}

// touched enqueues the pool of an object.
func (o *Observer) touched(object any) {
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	if m, is := object.(metav1.Object); is {
		o.options.Changed(KeyOf(m.GetNamespace(), m.GetLabels()[contract.PoolLabel]))
	}
}

// KeyOf returns the key of a StatefulCluster.
func KeyOf(namespace, name string) plan.Key {
	return plan.Key{Namespace: namespace, Kind: plan.KindStatefulCluster, Name: name}
}

// Run watches until ctx ends.
func (o *Observer) Run(ctx context.Context) {
	var watches sync.WaitGroup
	watches.Go(func() { o.pods.RunWithContext(ctx) })
	watches.Go(func() { o.claims.RunWithContext(ctx) })
	watches.Go(func() { o.revisions.RunWithContext(ctx) })
	if o.nodes != nil {
		watches.Go(func() { o.nodes.RunWithContext(ctx) })
	}
	watches.Go(func() { o.follow(ctx) })
	watches.Wait()
}

// Synced reports whether the caches are filled.
func (o *Observer) Synced() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.listed && o.pods.HasSynced() && o.claims.HasSynced() && o.revisions.HasSynced() && (o.nodes == nil || o.nodes.HasSynced())
}

// Keys returns the pools of a namespace, or of all namespaces if it is empty.
func (o *Observer) Keys(namespace string) []plan.Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	var keys []plan.Key
	for key := range o.objects {
		if namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}

// Has reports whether the caches show anything of a pool.
func (o *Observer) Has(key plan.Key) bool {
	o.mu.Lock()
	_, exists := o.objects[key]
	o.mu.Unlock()
	return exists || len(inPool(o.pods, key)) > 0 || o.options.Holds.Cached(key).Exists
}

// Cached returns a pool as the caches show it. It makes no request.
func (o *Observer) Cached(key plan.Key) pool.Snapshot {
	s := o.newSnapshot(key, o.options.Holds.Cached(key))
	s.PodsAt, s.ClaimsAt = syncedAt(o.pods), syncedAt(o.claims)
	o.mu.Lock()
	s.Object, s.ObjectsAt = o.objects[key], o.at
	o.mu.Unlock()
	matches := SelectorOf(&s.Object)
	for _, item := range inPool(o.pods, key) {
		if p, is := item.(*podRecord); is {
			s.Pods = append(s.Pods, p.Pod)
			s.Pods[len(s.Pods)-1].Unmatched = !matches(p.labels)
		}
	}
	for _, item := range inPool(o.claims, key) {
		if c, is := item.(*claimRecord); is {
			s.Claims = append(s.Claims, c.Claim)
		}
	}
	o.withNodes(&s)
	arrange(&s)
	o.fill(&s)
	return s
}

// fill adds the revisions of the object, and what dry runs have shown of its template. The content of a revision never
// changes, so a live read does not read revisions.
func (o *Observer) fill(s *pool.Snapshot) {
	for i := range s.Pods {
		s.Pods[i].Asked = s.Pods[i].Asked || slices.Contains(s.Object.PodsToDelete, s.Pods[i].Name)
	}
	for _, item := range inPool(o.revisions, s.Key) {
		r, is := item.(*revision)
		if owner := metav1.GetControllerOfNoCopy(r); is && owner != nil && string(owner.UID) == s.Object.UID {
			s.Revisions = append(s.Revisions, r.Revision)
		}
	}
	slices.SortFunc(s.Revisions, func(a, b pool.Revision) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	o.checks.fill(s)
}

func (o *Observer) newSnapshot(key plan.Key, lease plan.Record) pool.Snapshot {
	return pool.Snapshot{Key: key, Now: o.options.Now(), Hold: lease.Hold, Part: pool.PartOf(lease.Part), Draw: draw}
}

// draw draws an identity at random.
func draw() pool.ID {
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never returns an error
	return pool.ID(hex.EncodeToString(id[:]))
}

// syncedAt returns the version up to which a cache shows the cluster.
func syncedAt(informer cache.SharedIndexInformer) plan.Version {
	version, _ := plan.ParseVersion(informer.GetStore().LastStoreSyncResourceVersion())
	return version
}

func inPool(informer cache.SharedIndexInformer, key plan.Key) []any {
	items, err := informer.GetIndexer().ByIndex(byPool, key.Namespace+"/"+key.Name)
	if err != nil {
		return nil // New has created the index
	}
	return items
}

// Live reads a pool from the API server, again if its hold changes meanwhile: a pod that is gone may be one that the hold hands over.
func (o *Observer) Live(ctx context.Context, key plan.Key) (pool.Snapshot, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	for range liveReads {
		s, err := o.read(ctx, key)
		if !errors.Is(err, errHoldChanged) {
			return s, err
		}
	}
	return pool.Snapshot{}, errHoldChanged
}

// liveReads is how often a pool is read while its hold changes.
const liveReads = 3

var errHoldChanged = errors.New("the Lease changed while the pods were read")

// read reads a pool from the API server: first its hold, then its claims, then its object and its pods. Each list is
// consistent. Claims are created after their pod, so a claim without a pod has none any more. The object is as new as the
// claims, so claims that a deleted object leaves behind have changed since.
func (o *Observer) read(ctx context.Context, key plan.Key) (pool.Snapshot, error) {
	held, err := o.options.Holds.Read(ctx, key)
	if err != nil {
		return pool.Snapshot{}, err
	}
	s := o.newSnapshot(key, held)
	s.Live = true
	if err := o.readClaims(ctx, &s); err != nil {
		return pool.Snapshot{}, err
	}
	var ofObject, ofPods error
	var labelled []labels.Set // those of each pod
	parallel.All(func() { ofObject = o.readObject(ctx, &s) }, func() { labelled, ofPods = o.readPods(ctx, &s) })
	if err := errors.Join(ofObject, ofPods); err != nil {
		return pool.Snapshot{}, err
	}
	matches := SelectorOf(&s.Object)
	for i := range s.Pods {
		s.Pods[i].Unmatched = !matches(labelled[i])
	}
	o.withNodes(&s)
	var ofNodes, ofClaims, ofHold error
	same := false
	parallel.All(func() { ofNodes = o.readNodes(ctx, &s) }, func() { ofClaims = o.readUnlabelled(ctx, &s) }, func() { same, ofHold = o.SameHold(ctx, s) })
	if ofHold == nil && !same {
		ofHold = errHoldChanged
	}
	if err := errors.Join(ofNodes, ofClaims, ofHold); err != nil {
		return pool.Snapshot{}, err
	}
	s.Now = o.options.Now()
	arrange(&s)
	o.fill(&s)
	return s, o.readVolumes(ctx, &s)
}

// readObject reads the object. It is as new as the claims, which were read before. A list of one has a version even if the object does
// not exist; of a quiet kind it takes longer, because the API server waits until its cache is known to be up to date.
func (o *Observer) readObject(ctx context.Context, s *pool.Snapshot) error {
	object, err := o.options.Dynamic.Resource(Resource).Namespace(s.Key.Namespace).Get(ctx, s.Key.Name, metav1.GetOptions{})
	if err == nil {
		s.Object = objectOf(object)
		s.ObjectsAt = max(s.Object.Version, s.ClaimsAt)
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read StatefulCluster %s/%s: %w", s.Key.Namespace, s.Key.Name, err)
	}
	list, err := o.options.Dynamic.Resource(Resource).Namespace(s.Key.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, s.Key.Name).String(),
	})
	if err != nil {
		return fmt.Errorf("read StatefulCluster %s/%s: %w", s.Key.Namespace, s.Key.Name, err)
	}
	s.ObjectsAt, _ = plan.ParseVersion(list.GetResourceVersion())
	if len(list.Items) == 0 {
		return nil
	}
	s.Object = objectOf(&list.Items[0])
	return nil
}

// readPods reads the pods, and returns the labels of each.
func (o *Observer) readPods(ctx context.Context, s *pool.Snapshot) ([]labels.Set, error) {
	list, err := o.options.Client.CoreV1().Pods(s.Key.Namespace).List(ctx, ofPool(s.Key))
	if err != nil {
		return nil, fmt.Errorf("list pods of StatefulCluster %s/%s: %w", s.Key.Namespace, s.Key.Name, err)
	}
	s.PodsAt, _ = plan.ParseVersion(list.ResourceVersion)
	var labelled []labels.Set
	for i := range list.Items {
		s.Pods = append(s.Pods, podOf(&list.Items[i]))
		labelled = append(labelled, list.Items[i].Labels)
	}
	return labelled, nil
}

// SelectorOf returns whether the selector of an object matches labels. An empty one matches all: the object is not known.
func SelectorOf(o *pool.Object) func(labels.Set) bool {
	selector, err := labels.Parse(o.Selector)
	if err != nil {
		return func(labels.Set) bool { return true }
	}
	return func(l labels.Set) bool { return selector.Matches(l) }
}

func (o *Observer) readClaims(ctx context.Context, s *pool.Snapshot) error {
	list, err := o.options.Metadata.Resource(claimResource).Namespace(s.Key.Namespace).List(ctx, ofPool(s.Key))
	if err != nil {
		return fmt.Errorf("list claims of StatefulCluster %s/%s: %w", s.Key.Namespace, s.Key.Name, err)
	}
	s.ClaimsAt, _ = plan.ParseVersion(list.ResourceVersion)
	for i := range list.Items {
		s.Claims = append(s.Claims, claimOf(&list.Items[i]))
	}
	return nil
}

// readUnlabelled reads the claims that pods mount and that lack the labels of the pool: they are not lost.
func (o *Observer) readUnlabelled(ctx context.Context, s *pool.Snapshot) error {
	var mounts []pool.Mount
	for i := range s.Pods {
		for _, m := range s.Pods[i].Mounts {
			if p := &s.Pods[i]; !p.Gated && !slices.ContainsFunc(s.Claims, func(c pool.Claim) bool { return c.Name == m.Claim && c.Pool == s.Object.UID && c.ID == p.ID }) {
				mounts = append(mounts, m)
			}
		}
	}
	found, errs := make([]*pool.UnlabelledClaim, len(mounts)), make([]error, len(mounts))
	parallel.Each(len(mounts), readsAtATime, func(i int) {
		claim, err := o.options.Metadata.Resource(claimResource).Namespace(s.Key.Namespace).Get(ctx, mounts[i].Claim, metav1.GetOptions{})
		switch {
		case err == nil && claim.DeletionTimestamp == nil:
			found[i] = unlabelledOf(claim, mounts[i].Template, s.Object.UID)
		case err != nil && !apierrors.IsNotFound(err):
			errs[i] = fmt.Errorf("read claim %s/%s: %w", s.Key.Namespace, mounts[i].Claim, err)
		}
	})
	for _, claim := range found {
		if claim != nil {
			s.Unlabelled = append(s.Unlabelled, *claim)
		}
	}
	return cmp.Or(errs...)
}

func ofPool(key plan.Key) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: contract.PoolLabel + "=" + key.Name}
}

// SameHold reports whether the Lease of a pool is the one in a snapshot, by a read after the snapshot was made.
func (o *Observer) SameHold(ctx context.Context, s pool.Snapshot) (bool, error) {
	now, err := o.options.Holds.Read(ctx, s.Key)
	return err == nil && now.Exists == s.Hold.Exists && now.Version == s.Hold.Version, err
}

// SameDesiredState reads the object of a snapshot from the API server, and reports whether it asks for the same as far
// as disruptions depend on it.
func (o *Observer) SameDesiredState(ctx context.Context, s pool.Snapshot) (bool, error) {
	read := pool.Snapshot{Key: s.Key}
	if err := o.readObject(ctx, &read); err != nil {
		return false, err
	}
	return asksFor(read.Object) == asksFor(s.Object), nil
}

// asked is what disruptions depend on.
type asked struct {
	uid, hash        string
	deleting, paused bool
	pausedUntil      plan.Moment
	replicas         int
	minReady         time.Duration
	handoverTimeout  time.Duration
	deadline         time.Duration
	keep             pool.KeepPolicy
	strategy         pool.Strategy
	ordered          bool
	scaleLimit       pool.Share
	podsToDelete     string
	liveness         pool.Liveness
}

func asksFor(o pool.Object) asked {
	return asked{o.UID, o.Hash, o.Deleting, o.Paused, o.PausedUntil, o.Replicas, o.MinReady, o.HandoverTimeout, o.Deadline, o.Keep, o.Strategy, o.Ordered, o.ScaleMaxUnavailable, strings.Join(o.PodsToDelete, ","), o.Liveness}
}
