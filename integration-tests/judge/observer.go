package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Observer watches pods, StatefulSets, Leases and Namespaces and keeps all events. It must start
// before the operations that the judge verifies.
type Observer struct {
	handle func(watch.Event)

	mu      sync.Mutex
	events  []Event
	failure error // why a watch ended early
}

// watchTimeout is the maximum duration of one watch.
const watchTimeout = 4 * time.Hour

// Watch watches the named namespaces, or all if none is named, until ctx ends. If handle is not nil,
// the observer calls it with every event after it recorded the event, in order for each kind of
// object.
func Watch(ctx context.Context, client kubernetes.Interface, handle func(watch.Event), namespaces ...string) (*Observer, error) {
	w := &Observer{handle: handle}
	if w.handle == nil {
		w.handle = func(watch.Event) {}
	}
	if len(namespaces) == 0 {
		return w, w.start(ctx, client, metav1.NamespaceAll)
	}
	for _, namespace := range namespaces {
		if err := w.start(ctx, client, namespace); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// watchedKind is a kind of objects to watch.
type watchedKind struct {
	name  string
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func (o *Observer) start(ctx context.Context, client kubernetes.Interface, namespace string) error {
	watchNamespaces := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if namespace != metav1.NamespaceAll {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()
		}
		return client.CoreV1().Namespaces().Watch(ctx, options)
	}
	for _, k := range []watchedKind{
		{"Namespaces", watchNamespaces},
		{"pods", client.CoreV1().Pods(namespace).Watch},
		{"StatefulSets", client.AppsV1().StatefulSets(namespace).Watch},
		{"claims", client.CoreV1().PersistentVolumeClaims(namespace).Watch},
		{"Leases", client.CoordinationV1().Leases(namespace).Watch},
	} {
		if err := o.begin(ctx, k, namespace); err != nil {
			return err
		}
	}
	return nil
}

// begin begins to watch one kind.
func (o *Observer) begin(ctx context.Context, k watchedKind, namespace string) error {
	events, err := k.watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(watchTimeout.Seconds()))})
	if err != nil {
		return fmt.Errorf("watch %s of %q: %w", k.name, namespace, err)
	}
	go o.follow(ctx, k, events)
	return nil
}

// WatchStatefulClusters watches StatefulClusters as well, whose kind must exist. Without it, the rules about their numbers
// and their policies are not applied.
func (o *Observer) WatchStatefulClusters(ctx context.Context, client dynamic.Interface, namespace string) error {
	kind := schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: string(statefulClusters)}
	return o.begin(ctx, watchedKind{"StatefulClusters", client.Resource(kind).Namespace(namespace).Watch}, namespace)
}

// follow records events until ctx ends. If the API server ends the watch because the client is slow or
// the server restarts, follow resumes it at the last version, so no event is lost.
func (o *Observer) follow(ctx context.Context, k watchedKind, events watch.Interface) {
	last := ""
	for {
		if version := o.drain(events); version != "" {
			last = version // a resumed watch may end without any event
		}
		var err error
		events, err = k.resume(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || last == "":
			o.fail(fmt.Errorf("watch of %s ended early: %w", k.name, err))
			return
		}
	}
}

// maxUnreachable is how long the API server may be unreachable.
const maxUnreachable = 2 * time.Minute

// resume restarts a watch after a version, as soon as the API server answers.
func (k watchedKind) resume(ctx context.Context, version string) (watch.Interface, error) {
	for began := time.Now(); ; {
		events, err := k.watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(watchTimeout.Seconds())), ResourceVersion: version})
		if err == nil || isExpired(err) || time.Since(began) > maxUnreachable {
			return events, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// isExpired reports whether the events after a version are no longer available.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// drain records events until the watch ends, and returns the version of the last one.
func (o *Observer) drain(events watch.Interface) (last string) {
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error && !isExpired(apierrors.FromObject(event.Object)) {
			return last // an error of the API server itself, for instance without etcd
		}
		o.observe(event)
		if object, err := meta.Accessor(event.Object); err == nil {
			last = object.GetResourceVersion()
		}
	}
	return last
}

// Events returns all events so far, in the order of their arrival. An error means that events were
// lost.
func (o *Observer) Events() ([]Event, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.events), o.failure
}

func (o *Observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failure = err
}

func (o *Observer) observe(event watch.Event) {
	f, known := eventOf(event, time.Now())
	if !known {
		o.fail(fmt.Errorf("watch returned %s: %v", event.Type, event.Object))
		return
	}
	if !f.isEmpty() {
		o.add(f)
	}
	o.handle(event)
}

func (o *Observer) add(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
}

// eventOf converts a watch event. It returns false for objects of other kinds. A Lease that is not
// that of a group becomes an empty event.
func eventOf(event watch.Event, now time.Time) (Event, bool) {
	f := Event{At: now, Version: Version(event.Object)}
	deleted := event.Type == watch.Deleted
	switch o := event.Object.(type) {
	case *corev1.Pod:
		f.Namespace, f.Pod = o.Namespace, PodOf(o)
		f.Pod.Deleted = deleted
	case *appsv1.StatefulSet:
		f.Namespace, f.Zone = o.Namespace, ZoneOf(o)
		f.Zone.Deleted = deleted
	case *coordinationv1.Lease:
		f.Namespace, f.Hold, f.PoolHold = o.Namespace, HoldOf(o), PoolHoldOf(o)
		if f.Hold != nil {
			f.Hold.Deleted = deleted
		}
		if f.PoolHold != nil {
			f.PoolHold.Deleted = deleted
		}
	case *unstructured.Unstructured:
		f.Namespace, f.Pool = o.GetNamespace(), PoolOf(o, deleted)
	case *corev1.PersistentVolumeClaim:
		f.Namespace, f.Claim = o.Namespace, claimOf(o, deleted)
	case *corev1.Namespace:
		f.Namespace, f.NamespaceState = o.Name, &NamespaceState{Labels: o.Labels, Deleted: deleted}
	default:
		return f, false
	}
	return f, true
}

func (e Event) isEmpty() bool {
	return e.Pod == nil && e.Zone == nil && e.Hold == nil && e.NamespaceState == nil && e.Pool == nil && e.PoolHold == nil && e.Claim == nil
}
