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

// imitate is the floor of scaling: nothing but a watch of the dial, and patches of
// all zones at once. It returns once it watches; the rest is done until ctx ends.
func (a *arena) imitate(ctx context.Context, e ensemble) error {
	object, err := e.dial.objects.Get(ctx, e.dial.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read %s: %w", e.dial.name, err)
	}
	events, err := e.dial.objects.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + e.dial.name, ResourceVersion: object.GetResourceVersion(),
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", e.dial.name, err)
	}
	go func() {
		defer events.Stop()
		if err := a.copyReplicas(ctx, e, replicasOf(object), events); err != nil && ctx.Err() == nil {
			a.fail(fmt.Errorf("imitate %s: %w", e.key(), err))
		}
	}()
	return nil
}

// copyReplicas gives zones every number that the watch tells.
func (a *arena) copyReplicas(ctx context.Context, e ensemble, known int64, events watch.Interface) error {
	for event := range events.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		if asked := replicasOf(object); asked != known {
			known = asked
			if err := a.resize(ctx, e, asked); err != nil {
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

// resize gives all zones a number at once.
func (a *arena) resize(ctx context.Context, e ensemble, replicas int64) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	results := make(chan error, len(e.takes))
	for _, zone := range e.takes {
		go func() {
			_, err := a.client.AppsV1().StatefulSets(e.namespace).Patch(ctx, zone, types.MergePatchType, patch, metav1.PatchOptions{})
			results <- err
		}()
	}
	var errs []error
	for range e.takes {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}
