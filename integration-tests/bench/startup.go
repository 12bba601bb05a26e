package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// awaitFullCaches waits until a started process reports that it is ready, which it does when its
// caches are full, and returns how long that took. The second result is false if the process does not
// report it.
func (tb *testbed) awaitFullCaches(ctx context.Context, c *contender, began time.Time) (time.Duration, bool, error) {
	const pollEvery, toTell = 10 * time.Millisecond, 10 * time.Second
	for time.Since(began) < stallTimeout {
		answer, err := c.processes[0].get(ctx, "/ready")
		switch {
		case err == nil && answer.code == http.StatusOK:
			return time.Since(began), true, nil
		case errors.Is(err, errNoAddress) && time.Since(began) > toTell:
			tb.report("%s does not report when its caches are full", c.name)
			return 0, false, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return 0, false, err
		}
	}
	return 0, false, fmt.Errorf("wait for the caches of %s: not full after %s", c.name, stallTimeout)
}

// readAll is the floor for full caches: it reads all pods and StatefulSets at the same time, as
// informers do, and keeps nothing.
func readAll(ctx context.Context, client kubernetes.Interface) (time.Duration, error) {
	began := time.Now()
	failed := make(chan error)
	for _, startWatch := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
		client.CoreV1().Pods("").Watch, client.AppsV1().StatefulSets("").Watch,
	} {
		go func() { failed <- readInitialEvents(ctx, startWatch) }()
	}
	err := errors.Join(<-failed, <-failed)
	return time.Since(began), err
}

// readInitialEvents reads the initial events of a watch.
func readInitialEvents(ctx context.Context, startWatch func(context.Context, metav1.ListOptions) (watch.Interface, error)) error {
	events, err := startWatch(ctx, metav1.ListOptions{
		SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	})
	if err != nil {
		return fmt.Errorf("read everything: %w", err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if object, ok := event.Object.(metav1.Object); ok && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			return nil
		}
	}
	return errors.New("read everything: the watch has ended")
}
