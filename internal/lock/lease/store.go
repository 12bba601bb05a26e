// Package lease stores the decisions of internal/lock/hold: the hold of each group as a Lease in the group's
// namespace. It also elects the leader of the processes.
//
// Every write is a compare-and-swap on the Lease's UID and resourceVersion. A missing Lease is created, never
// updated. After a write, the Store uses the API server's reply and does not wait for the cache. The package
// makes no decisions about groups.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Store reads and writes the holds of workloads. Its methods may be called concurrently, but writes of one group
// must be sequential.
type Store struct {
	client    kubernetes.Interface
	namespace string // of the Leases; empty for all namespaces
	informer  cache.SharedIndexInformer
	actor     string
	restored  chan error // see AwaitRestore
	labels    []string   // the values of the label of the Leases that are watched

	mu       sync.Mutex
	written  map[plan.Key]reply
	ages     ages
	renewals renewals
	records  map[plan.Key]decoded
}

// reply is the last answer of the API server about a group's Lease: the Lease, or the version at which it was
// missing or deleted.
type reply struct {
	lease   *coordinationv1.Lease
	version plan.Version
	own     bool // plan.Hold.Own of the record, if this process wrote it
}

// NewStore returns a Store of the Leases in one namespace, or in all namespaces if namespace is empty: those of groups,
// and of the further kinds that are enabled. Each write records the actor, for information only.
func NewStore(client kubernetes.Interface, namespace, actor string, further ...plan.Kind) *Store {
	labels := []string{contract.HoldLabelOf(plan.KindGroup)}
	for _, kind := range further {
		labels = append(labels, contract.HoldLabelOf(kind))
	}
	indexers := cache.Indexers{byRecordedPod: indexByRecordedPod, byMember: indexByMember, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	s := &Store{
		client:    client,
		namespace: namespace,
		informer:  coordinationinformers.NewFilteredLeaseInformer(client, namespace, 0, indexers, holdsOnly(labels)),
		actor:     actor,
		restored:  make(chan error, 1),
		labels:    labels,
		written:   map[plan.Key]reply{},
		ages:      ages{},
		renewals:  renewals{},
		records:   map[plan.Key]decoded{},
	}
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: s.gone})
	if err != nil {
		panic(fmt.Sprintf("listen to Leases: %v", err)) // only a stopped informer returns an error
	}
	return s
}

// holdsOnly restricts a list or watch to the Leases with one of these values of the label.
func holdsOnly(values []string) func(*metav1.ListOptions) {
	selector := contract.HoldLabel + "=" + values[0]
	if len(values) > 1 {
		selector = contract.HoldLabel + " in (" + strings.Join(values, ",") + ")"
	}
	return func(o *metav1.ListOptions) { o.LabelSelector = selector }
}

// Informer returns the informer that feeds the Store. The caller runs it.
func (s *Store) Informer() cache.SharedIndexInformer { return s.informer }

// Cached returns the newest record that this process knows, from its own requests or its cache. It makes no
// request.
func (s *Store) Cached(key plan.Key) plan.Record {
	newest := s.newest(key)
	if newest.lease != nil && !s.watched(newest.lease) {
		return plan.Record{} // created by hand and not watched, so its record requires a live read
	}
	return s.known(key, newest.lease, newest.own)
}

// known returns the record of a Lease, including for how long this process has known each of its intents.
func (s *Store) known(key plan.Key, lease *coordinationv1.Lease, own bool) plan.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.decoded(key, lease)
	known.Own, known.Intents = own, slices.Clone(known.Intents)
	s.ages.date(key, known.Intents, time.Now())
	s.renewals.date(key, &known.Hold, time.Now())
	return known
}

// Busy reports whether the group has a holder or intents in the newest Lease that this process knows.
func (s *Store) Busy(key plan.Key) bool {
	lease := s.newest(key).lease
	return lease != nil && (deref(lease.Spec.HolderIdentity) != "" || lease.Annotations[contract.IntentsAnnotation] != "")
}

// Read reads the record from the API server. If there is no Lease, the record contains only the downscale
// times that the zone tracker of the predecessor recorded.
func (s *Store) Read(ctx context.Context, key plan.Key) (plan.Record, error) {
	read, err := s.get(ctx, key)
	if err == nil && !read.Exists {
		var times map[string]time.Time
		times, err = s.trackedTimes(ctx, key.Namespace)
		read.Part = record.OfPredecessor(times)
	}
	return read, err
}

func (s *Store) get(ctx context.Context, key plan.Key) (plan.Record, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	before := s.newest(key).version // another goroutine may create the Lease during the request
	lease, err := s.client.CoordinationV1().Leases(key.Namespace).Get(ctx, hold.LeaseName(key), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.remember(key, reply{version: before})
		return plan.Record{}, nil
	case err != nil:
		return plan.Record{}, fmt.Errorf("read hold of %s: %w", key, err)
	}
	if err := s.checkVersion("the Lease of "+key.String(), lease.ResourceVersion, before); err != nil {
		return plan.Record{}, err
	}
	known := s.newest(key)
	own := known.own && known.version == versionOf(lease)
	s.remember(key, reply{lease, versionOf(lease), own})
	return s.known(key, lease, own), nil
}

// Write replaces the Lease from which the record was read. The record has the UID and version of that Lease,
// or none if there was no Lease. An error of class Moved means that another writer changed the Lease since.
// After any error, Write tries to read the Lease again.
func (s *Store) Write(ctx context.Context, key plan.Key, record plan.Record) error {
	return s.replace(ctx, key, record, func(current *coordinationv1.Lease) *coordinationv1.Lease {
		return encode(current, key, record, s.actor)
	})
}

// Label adds the label by which the Store watches Leases to the Lease from which the record was read. It
// changes nothing else. Its errors are those of Write.
func (s *Store) Label(ctx context.Context, key plan.Key, record plan.Record) error {
	if record.UID == "" {
		return nil
	}
	return s.replace(ctx, key, record, func(current *coordinationv1.Lease) *coordinationv1.Lease {
		next := current.DeepCopy()
		next.Labels = with(next.Labels, contract.HoldLabel, contract.HoldLabelOf(key.Kind))
		return next
	})
}

// replace applies become to the Lease from which the record was read, and stores the result.
func (s *Store) replace(ctx context.Context, key plan.Key, record plan.Record, become func(*coordinationv1.Lease) *coordinationv1.Lease) error {
	lease, err := s.put(ctx, key, record, become)
	if err == nil {
		s.remember(key, reply{lease, versionOf(lease), record.Own})
		return nil
	}
	if _, readErr := s.get(ctx, key); readErr != nil {
		return fmt.Errorf("write hold of %s: %w", key, err)
	}
	return fmt.Errorf("write hold of %s: %w", key, classify(err))
}

func (s *Store) put(ctx context.Context, key plan.Key, record plan.Record, become func(*coordinationv1.Lease) *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	leases := s.client.CoordinationV1().Leases(key.Namespace)
	if record.UID == "" {
		return leases.Create(ctx, become(nil), metav1.CreateOptions{})
	}
	current := s.newest(key).lease
	if current == nil || string(current.UID) != record.UID || versionOf(current) != record.Version {
		return nil, errMoved
	}
	return leases.Update(ctx, become(current), metav1.UpdateOptions{})
}

// errMoved means that the Lease is known to have changed since the decision.
var errMoved = reason.WithClass(reason.Moved, errors.New("another process has written it meanwhile"))

// Remove deletes the Lease from which the record was read.
func (s *Store) Remove(ctx context.Context, key plan.Key, record plan.Record) error {
	if record.UID == "" {
		return nil
	}
	uid, version := types.UID(record.UID), record.Version.String()
	err := s.client.CoordinationV1().Leases(key.Namespace).Delete(ctx, hold.LeaseName(key), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		err = fmt.Errorf("remove hold of %s: %w", key, classify(err))
		if _, readErr := s.get(ctx, key); readErr != nil {
			return errors.Join(err, readErr)
		}
		return err
	}
	s.remember(key, reply{version: record.Version})
	return nil
}

// newest returns the later of the last reply and the cached Lease.
func (s *Store) newest(key plan.Key) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.written[key]
	followed, _ := plan.ParseVersion(s.informer.GetStore().LastStoreSyncResourceVersion())
	item, exists, err := s.informer.GetStore().GetByKey(key.Namespace + "/" + hold.LeaseName(key))
	if err != nil {
		return known
	}
	cached, ok := item.(*coordinationv1.Lease)
	switch {
	case exists && ok && versionOf(cached) > known.version:
		return reply{lease: cached, version: versionOf(cached)}
	case exists && ok && known.lease != nil && cached.UID == known.lease.UID && versionOf(cached) == known.version:
		known.lease = cached // the same Lease; keep only one copy in memory
		s.written[key] = known
	case !exists && s.watched(known.lease) && followed > known.version:
		return reply{version: known.version} // another client deleted it
	}
	return known
}

// watched reports whether the cache includes the Lease.
func (s *Store) watched(lease *coordinationv1.Lease) bool {
	return lease != nil && slices.Contains(s.labels, lease.Labels[contract.HoldLabel])
}

// RecordingPod returns the groups of a namespace whose hold records an intent for a pod of that name.
func (s *Store) RecordingPod(namespace, pod string) []plan.Key {
	return s.having(byRecordedPod, namespace+"/"+pod)
}

// Remembering returns the groups of a namespace whose hold records a zone of that name. Groups with zones of
// their own come before groups that only cover pods by a budget.
func (s *Store) Remembering(namespace, zone string) []plan.Key {
	keys := s.having(byMember, namespace+"/"+zone)
	slices.SortFunc(keys, func(a, b plan.Key) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// rank orders groups for Remembering.
func rank(key plan.Key) int {
	if key.Rolled() {
		return 0
	}
	return 1
}

func (s *Store) having(index, value string) []plan.Key {
	leases, err := s.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil // NewStore has created the index
	}
	var keys []plan.Key
	for _, item := range leases {
		if lease, ok := item.(*coordinationv1.Lease); ok {
			if key, ok := KeyOf(lease); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Indexes of Leases by the pods of their intents and by the zones that they record, each with its namespace.
const (
	byRecordedPod = "noted"
	byMember      = "member"
)

func indexByMember(object any) ([]string, error) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return nil, nil
	}
	zones, err := record.RememberedZones(lease.Annotations)
	if err != nil {
		return nil, nil //nolint:nilerr // a hold that cannot be read is respected, and remembers nothing
	}
	var names []string
	for _, zone := range zones {
		names = append(names, lease.Namespace+"/"+zone)
	}
	return names, nil
}

func indexByRecordedPod(object any) ([]string, error) {
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return nil, nil
	}
	var pods []string
	intents, _, err := record.ParseIntents(lease.Annotations[contract.IntentsAnnotation])
	if err != nil {
		return nil, nil //nolint:nilerr // a hold that cannot be read is respected, and notes nothing
	}
	for _, intent := range intents {
		pods = append(pods, lease.Namespace+"/"+intent.Pod)
	}
	return pods, nil
}

// KeyOf returns the key of a hold's Lease. The second result is false if the name and the annotations of the
// Lease do not match.
func KeyOf(lease *coordinationv1.Lease) (plan.Key, bool) {
	key := plan.Key{Namespace: lease.Namespace}
	for _, kind := range plan.Kinds() {
		if name, has := lease.Annotations[contract.NameAnnotation(kind)]; has {
			key.Kind, key.Name = kind, name
		}
	}
	return key, lease.Name == hold.LeaseName(key)
}

func classify(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return reason.WithClass(reason.Moved, err)
	}
	return err
}

func versionOf(lease *coordinationv1.Lease) plan.Version {
	version, _ := plan.ParseVersion(lease.ResourceVersion)
	return version
}

// decode returns the record of a Lease without its rollouts.
func decode(key plan.Key, lease *coordinationv1.Lease) plan.Record {
	r := record.Decode(key.Kind, lease.Annotations)
	r.Exists, r.UID, r.Version = true, string(lease.UID), versionOf(lease)
	r.Holder = plan.Holder(deref(lease.Spec.HolderIdentity))
	r.Duration = time.Duration(deref(lease.Spec.LeaseDurationSeconds)) * time.Second
	r.Transitions = int(deref(lease.Spec.LeaseTransitions))
	r.Unlabelled = lease.Labels[contract.HoldLabel] != contract.HoldLabelOf(key.Kind)
	if lease.Spec.RenewTime != nil {
		r.Renewed = lease.Spec.RenewTime.Time
	}
	if lease.Spec.AcquireTime != nil && !r.Holder.Free() {
		r.Since = lease.Spec.AcquireTime.Time
	}
	return r
}

func encode(current *coordinationv1.Lease, key plan.Key, r plan.Record, actor string) *coordinationv1.Lease {
	next := &coordinationv1.Lease{}
	if current != nil {
		next = current.DeepCopy()
	}
	next.Namespace, next.Name = key.Namespace, hold.LeaseName(key)
	next.Labels = with(next.Labels, contract.HoldLabel, contract.HoldLabelOf(key.Kind))
	for _, kind := range plan.Kinds() {
		delete(next.Annotations, contract.NameAnnotation(kind)) // a Lease has the name annotation of exactly one kind
	}
	next.Annotations = with(next.Annotations, contract.NameAnnotation(key.Kind), key.Name)
	for name, value := range record.Encode(key.Kind, r) {
		next.Annotations = with(next.Annotations, name, value)
	}
	next.Annotations = with(next.Annotations, contract.ActorAnnotation, actor)
	taken := deref(next.Spec.HolderIdentity) != string(r.Holder) || int(deref(next.Spec.LeaseTransitions)) != r.Transitions
	next.Spec.HolderIdentity = new(string(r.Holder))
	next.Spec.LeaseTransitions = new(int32(min(r.Transitions, math.MaxInt32)))
	next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = nil, nil // for a hold without an expiry
	if r.Duration > 0 {
		next.Spec.LeaseDurationSeconds = new(int32(r.Duration / time.Second))
	}
	if !r.Renewed.IsZero() {
		next.Spec.RenewTime = &metav1.MicroTime{Time: r.Renewed}
	}
	if taken && !r.Holder.Free() {
		next.Spec.AcquireTime = &metav1.MicroTime{Time: r.Renewed}
	}
	return next
}

// with sets a key, or removes it if the value is empty. The name of a group may be empty and is always set.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	if value == "" && key != contract.NameAnnotation(plan.KindGroup) {
		delete(m, key)
		return m
	}
	m[key] = value
	return m
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
