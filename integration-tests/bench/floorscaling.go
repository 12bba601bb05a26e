package main

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// startScalingFloor starts the floor for scaling: a watch of the source, and patches of all zones at
// once. It returns when the watch has started. The loop runs until ctx ends.
func (tb *testbed) startScalingFloor(ctx context.Context, e followerGroup) error {
	object, err := e.source.objects.Get(ctx, e.source.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", e.source.name, err)
	}
	events, err := e.source.objects.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + e.source.name, ResourceVersion: object.GetResourceVersion(),
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", e.source.name, err)
	}
	go func() {
		defer events.Stop()
		if err := tb.copyReplicas(ctx, e, replicasOf(object), events); err != nil && ctx.Err() == nil {
			tb.abort(fmt.Errorf("imitate %s: %w", e.key(), err))
		}
	}()
	return nil
}

// copyReplicas scales the zones to every number that the watch reports.
func (tb *testbed) copyReplicas(ctx context.Context, e followerGroup, known int64, events watch.Interface) error {
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		if wanted := replicasOf(object); wanted != known {
			known = wanted
			if err := tb.scaleZones(ctx, e, wanted); err != nil {
				return err
			}
		}
	}
	return errors.New("the watch has ended")
}

func replicasOf(object *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return n
}

// scaleZones patches the replicas of all zones at once.
func (tb *testbed) scaleZones(ctx context.Context, e followerGroup, replicas int64) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	results := make(chan error, len(e.followers))
	for _, zone := range e.followers {
		go func() {
			_, err := tb.client.AppsV1().StatefulSets(e.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{})
			results <- err
		}()
	}
	var errs []error
	for range e.followers {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}
