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

// Words of lockstep on the objects of a cluster.
const (
	optInLabel        = "lockstep.dev/enabled"
	groupLabel        = "rollout-group"
	intentsAnnotation = "lockstep.dev/intents"
)

// observation is what the watches deliver: what is seen, or why nothing can be seen
// any more.
type observation struct {
	sighting
	err error
}

// watchEverything watches pods, StatefulSets and Leases of all namespaces, one
// watch per kind, until ctx ends. It shows what happens after it has returned; no
// message is merged with another or left out.
func watchEverything(ctx context.Context, client kubernetes.Interface) (<-chan observation, error) {
	seen := make(chan observation, 1024)
	sources := map[string]*cache.ListWatch{}
	for resource, getter := range map[string]cache.Getter{
		"pods":         client.CoreV1().RESTClient(),
		"statefulsets": client.AppsV1().RESTClient(),
		"leases":       client.CoordinationV1().RESTClient(),
	} {
		sources[resource] = cache.NewListWatchFromClient(getter, resource, metav1.NamespaceAll, fields.Everything())
	}
	for resource, source := range sources {
		events, err := eventsFromNow(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", resource, err)
		}
		go func() {
			if err := pass(ctx, events, seen); ctx.Err() == nil {
				seen <- observation{err: fmt.Errorf("watch %s: %w", resource, err)}
			}
		}()
	}
	return seen, nil
}

func eventsFromNow(ctx context.Context, source *cache.ListWatch) (watch.Interface, error) {
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

// pass hands on what is seen, with the time at which it came.
func pass(ctx context.Context, events watch.Interface, seen chan<- observation) error {
	defer events.Stop()
	for event := range events.ResultChan() {
		received := time.Now()
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		s, ok := see(event)
		if !ok {
			continue
		}
		s.at = received
		select {
		case seen <- observation{sighting: s}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.New("it has ended")
}

// see reads an event; the second result is false for objects that are none of ours.
func see(event watch.Event) (sighting, bool) {
	s := sighting{gone: event.Type == watch.Deleted}
	switch o := event.Object.(type) {
	case *corev1.Pod:
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.Kind != "StatefulSet" {
			return s, false
		}
		s.pod = &pod{
			namespace: o.Namespace, zone: owner.Name, name: o.Name, uid: string(o.UID),
			revision: o.Labels[appsv1.ControllerRevisionHashLabelKey],
			ready:    isReady(o), leaving: o.DeletionTimestamp != nil,
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

// intentsIn counts the pods that are noted in a Lease.
func intentsIn(annotation string) int {
	var noted struct {
		Pods []json.RawMessage `json:"pods"`
	}
	if json.Unmarshal([]byte(annotation), &noted) != nil {
		return 0
	}
	return len(noted.Pods)
}
