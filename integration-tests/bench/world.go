package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// patience is how long nothing may happen in a rollout.
const patience = 2 * time.Minute

// world is the pods of a group as a watch tells of them.
type world struct {
	pods    map[string]*corev1.Pod
	readyAt map[string]time.Time // by zone: when the last replacement became Ready
	gaps    []time.Duration
	last    time.Time // when a pod last became Ready
}

// follow watches the group's pods until done says so. It is asked once at the
// beginning and after every event.
func (g *group) follow(ctx context.Context, done func(*world) bool) (*world, error) {
	w := &world{pods: map[string]*corev1.Pod{}, readyAt: map[string]time.Time{}, last: time.Now()}
	list, err := g.client.CoreV1().Pods(g.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range list.Items {
		w.pods[list.Items[i].Name] = &list.Items[i]
	}
	events, err := g.client.CoreV1().Pods(g.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	defer events.Stop()
	for !done(w) {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				return nil, errors.New("the watch of pods has ended")
			}
			w.see(event)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(patience):
			return nil, fmt.Errorf("nothing has happened in %s for %s", g.namespace, patience)
		}
	}
	return w, nil
}

// see takes an event in and measures the gap that it may end.
func (w *world) see(event watch.Event) {
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	before := w.pods[pod.Name]
	zone := pod.Labels["zone"]
	leaves := event.Type == watch.Deleted || pod.DeletionTimestamp != nil
	if before != nil && before.DeletionTimestamp == nil && leaves {
		if at, ok := w.readyAt[zone]; ok {
			w.gaps = append(w.gaps, time.Since(at))
			delete(w.readyAt, zone)
		}
	}
	if event.Type == watch.Deleted {
		delete(w.pods, pod.Name)
		return
	}
	if isReady(pod) && !isReady(before) {
		w.last = time.Now()
		w.readyAt[zone] = w.last
	}
	w.pods[pod.Name] = pod
}

// ready counts the pods that are Ready and run the image, or any image if it is "".
func (w *world) ready(image string) int {
	count := 0
	for name := range w.pods {
		if w.replaced(name, image) {
			count++
		}
	}
	return count
}

func (w *world) replaced(name, image string) bool {
	pod := w.pods[name]
	return isReady(pod) && (image == "" || strings.HasSuffix(pod.Spec.Containers[0].Image, image))
}

func isReady(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
