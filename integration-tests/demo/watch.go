package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// These are lockstep's labels and annotations.
const (
	optInLabel        = "lockstep.dev/enabled"
	groupLabel        = "rollout-group"
	intentsAnnotation = "lockstep.dev/intents"
)

// observation is an event, or the error that ended the watches.
type observation[E any] struct {
	event E
	err   error
}

// watchGroups watches pods, StatefulSets and Leases of all namespaces.
func watchGroups(ctx context.Context, client kubernetes.Interface) (<-chan observation[stateChange], error) {
	return watchAll(ctx, stateChangeOf, map[string]*cache.ListWatch{
		"pods":         listWatch(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll),
		"statefulsets": listWatch(client.AppsV1().RESTClient(), "statefulsets", metav1.NamespaceAll),
		"leases":       listWatch(client.CoordinationV1().RESTClient(), "leases", metav1.NamespaceAll),
	})
}

func listWatch(getter cache.Getter, resource, namespace string) *cache.ListWatch {
	return cache.NewListWatchFromClient(getter, resource, namespace, fields.Everything())
}

// watchAll watches one source for each kind of object, until ctx ends. The channel receives every event after its return that
// convert accepts, without merging or dropping any.
func watchAll[E any](ctx context.Context, convert func(watch.Event, time.Time) (E, bool), sources map[string]*cache.ListWatch) (<-chan observation[E], error) {
	seen := make(chan observation[E], 1024)
	for resource, source := range sources {
		events, err := watchFromNow(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", resource, err)
		}
		go func() {
			if err := forwardEvents(ctx, events, convert, seen); ctx.Err() == nil {
				seen <- observation[E]{err: fmt.Errorf("watch %s: %w", resource, err)}
			}
		}()
	}
	return seen, nil
}

func watchFromNow(ctx context.Context, source *cache.ListWatch) (watch.Interface, error) {
	list, err := source.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, err
	}
	now, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	return watchtools.NewRetryWatcherWithContext(ctx, now.GetResourceVersion(), source)
}

// forwardEvents sends events with the time of their arrival.
func forwardEvents[E any](ctx context.Context, events watch.Interface, convert func(watch.Event, time.Time) (E, bool), seen chan<- observation[E]) error {
	defer events.Stop()
	for event := range events.ResultChan() {
		received := time.Now()
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		converted, ok := convert(event, received)
		if !ok {
			continue
		}
		select {
		case seen <- observation[E]{event: converted}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.New("it has ended")
}

// stateChangeOf converts an event that arrived at a time. The second result is false for objects that do not belong to the
// groups.
func stateChangeOf(event watch.Event, at time.Time) (stateChange, bool) {
	s := stateChange{at: at, deleted: event.Type == watch.Deleted}
	switch o := event.Object.(type) {
	case *corev1.Pod:
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.Kind != "StatefulSet" {
			return s, false
		}
		s.pod = &pod{
			namespace: o.Namespace, zone: owner.Name, name: o.Name, uid: string(o.UID),
			revision: o.Labels[appsv1.ControllerRevisionHashLabelKey],
			ready:    isReady(o), terminating: o.DeletionTimestamp != nil,
		}
	case *appsv1.StatefulSet:
		if o.Status.ObservedGeneration < o.Generation {
			return s, false // the status is about an older spec
		}
		s.set = &set{
			namespace: o.Namespace, name: o.Name,
			updateRevision: o.Status.UpdateRevision, currentRevision: o.Status.CurrentRevision,
		}
	case *coordinationv1.Lease:
		s.lease = &lease{namespace: o.Namespace, name: o.Name, intents: intentsIn(o.Annotations[intentsAnnotation])}
		if o.Spec.HolderIdentity != nil {
			s.lease.holder = *o.Spec.HolderIdentity
		}
	default:
		return s, false
	}
	return s, true
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// intentsIn counts the pod intents in a Lease.
func intentsIn(annotation string) int {
	var noted struct {
		Pods []json.RawMessage `json:"pods"`
	}
	if json.Unmarshal([]byte(annotation), &noted) != nil {
		return 0
	}
	return len(noted.Pods)
}
