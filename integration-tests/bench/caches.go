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

// filled waits until a process that has just been started says that it is ready, which
// it is when its caches are full, and returns how long that took. The second result is
// false where it does not tell.
func (a *arena) filled(ctx context.Context, r *racer, began time.Time) (time.Duration, bool, error) {
	const pollEvery, toTell = 10 * time.Millisecond, 10 * time.Second
	for time.Since(began) < patience {
		answer, err := r.processes[0].get(ctx, "/ready")
		switch {
		case err == nil && answer.code == http.StatusOK:
			return time.Since(began), true, nil
		case errors.Is(err, errSilent) && time.Since(began) > toTell:
			a.say("%s does not tell when its caches are full", r.name)
			return 0, false, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return 0, false, err
		}
	}
	return 0, false, fmt.Errorf("wait for the caches of %s: not full after %s", r.name, patience)
}

// readAll is the floor of full caches: it reads all pods and StatefulSets in the way
// in which caches are filled, both at the same time, and keeps nothing.
func readAll(ctx context.Context, client kubernetes.Interface) (time.Duration, error) {
	began := time.Now()
	failed := make(chan error)
	for _, begin := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
		client.CoreV1().Pods("").Watch, client.AppsV1().StatefulSets("").Watch,
	} {
		go func() { failed <- readFirst(ctx, begin) }()
	}
	err := errors.Join(<-failed, <-failed)
	return time.Since(began), err
}

// readFirst reads what a watch begins with.
func readFirst(ctx context.Context, begin func(context.Context, metav1.ListOptions) (watch.Interface, error)) error {
	events, err := begin(ctx, metav1.ListOptions{
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
