package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runFloorLoop is the floor for rollouts: a watch and deletes. It begins when changed is closed.
func (tb *testbed) runFloorLoop(ctx context.Context, g *group, changed <-chan struct{}) error {
	seen, err := tb.watchPods(ctx, g.namespace, groupLabel+"="+g.name)
	if err != nil {
		return err
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, zone := range g.zoneNames() {
		if err := tb.awaitObserved(ctx, g, zone); err != nil {
			return err
		}
	}
	for _, pod := range g.podNames() {
		if err := tb.client.CoreV1().Pods(g.namespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete pod %s/%s: %w", g.namespace, pod, err)
		}
		if err := awaitReplacement(seen, pod, g.imageName()); err != nil {
			return err
		}
	}
	return nil
}

// awaitReplacement waits until the watch shows the pod ready and with the image.
func awaitReplacement(seen <-chan podEvent, pod, image string) error {
	for s := range seen {
		if is := stateOf(s, image); s.pod.Name == pod && is.ready && is.updated {
			return nil
		}
	}
	return errors.New("the watch of pods has ended")
}

// retryInterval is short compared with a rollout. With it, a thousand loops still leave enough
// capacity of the API server to the StatefulSet controller.
const retryInterval = 5 * time.Millisecond

// awaitObserved waits until the StatefulSet controller has observed the new template.
func (tb *testbed) awaitObserved(ctx context.Context, g *group, zone string) error {
	for {
		set, err := tb.client.AppsV1().StatefulSets(g.namespace).Get(ctx, zone, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s/%s: %w", g.namespace, zone, err)
		}
		if set.Status.ObservedGeneration == set.Generation {
			return nil
		}
		if err := pause(ctx, retryInterval); err != nil {
			return err
		}
	}
}
