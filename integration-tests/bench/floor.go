package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deleteInTurn is the floor: nothing but a watch and deletes. It begins once the
// templates are changed.
func (a *arena) deleteInTurn(ctx context.Context, g *group, changed <-chan struct{}) error {
	seen, err := a.follow(ctx, g.namespace, groupLabel+"="+g.name)
	if err != nil {
		return err
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, zone := range g.zoneNames() {
		if err := a.observed(ctx, g, zone); err != nil {
			return err
		}
	}
	for _, pod := range g.podNames() {
		if err := a.client.CoreV1().Pods(g.namespace).Delete(ctx, pod, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete pod %s/%s: %w", g.namespace, pod, err)
		}
		if err := replaced(seen, pod, g.imageName()); err != nil {
			return err
		}
	}
	return nil
}

// replaced waits until the watch shows the pod with the image, and Ready.
func replaced(seen <-chan sighting, pod, image string) error {
	for s := range seen {
		if is := stateOf(s, image); s.pod.Name == pod && is.ready && is.renewed {
			return nil
		}
	}
	return errors.New("the watch of pods has ended")
}

// askAgain is short beside a rollout, and lets a thousand loops at once leave the API
// server to the controller that they wait for.
const askAgain = 5 * time.Millisecond

// observed waits until the StatefulSet controller knows the new template.
func (a *arena) observed(ctx context.Context, g *group, zone string) error {
	for {
		set, err := a.client.AppsV1().StatefulSets(g.namespace).Get(ctx, zone, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read %s/%s: %w", g.namespace, zone, err)
		}
		if set.Status.ObservedGeneration == set.Generation {
			return nil
		}
		if err := pause(ctx, askAgain); err != nil {
			return err
		}
	}
}
