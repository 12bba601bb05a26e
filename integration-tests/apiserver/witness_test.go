package apiserver_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// witness watches a namespace as admin, from before its first object. It keeps the history for the
// judge, and the current objects for tests that wait.
type witness struct {
	*judge.Observer

	mu       sync.Mutex
	pods     map[string]*corev1.Pod
	sets     map[string]*appsv1.StatefulSet
	leases   map[string]*coordinationv1.Lease // of groups
	recorded map[string]time.Time             // by UID of a pod: since when a Lease has its intent
	changed  chan struct{}                    // closed and replaced at every change
}

// watchNamespace watches a namespace until ctx ends.
func watchNamespace(ctx context.Context, in *world, namespace string) (*witness, error) {
	w := &witness{
		pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{}, leases: map[string]*coordinationv1.Lease{},
		recorded: map[string]time.Time{}, changed: make(chan struct{}),
	}
	var err error
	if w.Observer, err = judge.Watch(ctx, in.admin, w.take, namespace); err != nil {
		return nil, err
	}
	return w, w.WatchStatefulClusters(ctx, in.dynamic, namespace)
}

func (w *witness) take(event watch.Event) {
	gone := event.Type == watch.Deleted
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o := event.Object.(type) {
	case *corev1.Pod:
		keep(w.pods, o.Name, o, gone)
	case *appsv1.StatefulSet:
		keep(w.sets, o.Name, o, gone)
	case *coordinationv1.Lease:
		if judge.HoldOf(o) == nil {
			return // the leader Lease, or a Lease of another program
		}
		keep(w.leases, o.Name, o, gone)
		w.keepTimes(o)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// keepTimes keeps the times of the intents in a Lease.
func (w *witness) keepTimes(lease *coordinationv1.Lease) {
	var intents struct {
		Pods []struct {
			UID   string
			Since time.Time
		}
	}
	if json.Unmarshal([]byte(lease.Annotations[intentsAnnotation]), &intents) != nil {
		return // a test wrote something else
	}
	for _, pod := range intents.Pods {
		w.recorded[pod.UID] = pod.Since
	}
}

// recordedSince returns since when a Lease has the intent of a pod, or zero if none has.
func (w *witness) recordedSince(uid string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recorded[uid]
}

func keep[T any](all map[string]T, name string, object T, gone bool) {
	if gone {
		delete(all, name)
	} else {
		all[name] = object
	}
}

// present is the last known state of the namespace.
type present struct {
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.StatefulSet
	leases  map[string]*coordinationv1.Lease
	changed <-chan struct{} // closed at the next change
}

func (w *witness) now() present {
	w.mu.Lock()
	defer w.mu.Unlock()
	return present{pods: maps.Clone(w.pods), sets: maps.Clone(w.sets), leases: maps.Clone(w.leases), changed: w.changed}
}

func isReady(p *corev1.Pod) bool { return judge.PodOf(p).Ready }

func last[T any](all []T) T { return all[len(all)-1] }

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
