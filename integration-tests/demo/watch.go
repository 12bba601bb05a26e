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

// watchResult is a change, or the error that ended the watches.
type watchResult struct {
	stateChange
	err error
}

// watchEverything watches pods, StatefulSets and Leases of all namespaces with one watch for each
// kind, until ctx ends. The channel receives every event after its return, without merging or dropping
// any.
func watchEverything(ctx context.Context, client kubernetes.Interface) (<-chan watchResult, error) {
	seen := make(chan watchResult, 1024)
	sources := map[string]*cache.ListWatch{}
	for resource, getter := range map[string]cache.Getter{
		"pods":         client.CoreV1().RESTClient(),
		"statefulsets": client.AppsV1().RESTClient(),
		"leases":       client.CoordinationV1().RESTClient(),
	} {
		sources[resource] = cache.NewListWatchFromClient(getter, resource, metav1.NamespaceAll, fields.Everything())
	}
	for resource, source := range sources {
		events, err := watchFromNow(ctx, source)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", resource, err)
		}
		go func() {
			if err := forwardEvents(ctx, events, seen); ctx.Err() == nil {
				seen <- watchResult{err: fmt.Errorf("watch %s: %w", resource, err)}
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
func forwardEvents(ctx context.Context, events watch.Interface, seen chan<- watchResult) error {
	defer events.Stop()
	for event := range events.ResultChan() {
		received := time.Now()
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		s, ok := stateChangeOf(event)
		if !ok {
			continue
		}
		s.at = received
		select {
		case seen <- watchResult{stateChange: s}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.New("it has ended")
}

// stateChangeOf converts an event. The second result is false for objects that do not belong to the
// demo.
func stateChangeOf(event watch.Event) (stateChange, bool) {
	s := stateChange{deleted: event.Type == watch.Deleted}
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
