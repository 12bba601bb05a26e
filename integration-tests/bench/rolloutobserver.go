package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// podEvent is a watch event of a pod and the time of its arrival.
type podEvent struct {
	kind watch.EventType
	pod  *corev1.Pod
	at   time.Time
}

// watchPods lists pods and then watches them. The existing pods come first, as added. The channel is
// closed when the watch ends.
func (tb *testbed) watchPods(ctx context.Context, namespace, selector string) (<-chan podEvent, error) {
	return tb.watchPodsOf(ctx, namespace, metav1.ListOptions{LabelSelector: selector})
}

// watchPodsOf is watchPods with any selector.
func (tb *testbed) watchPodsOf(ctx context.Context, namespace string, which metav1.ListOptions) (<-chan podEvent, error) {
	pods := tb.watcher.CoreV1().Pods(namespace)
	list, err := retryProtocolError(ctx, func() (*corev1.PodList, error) { return pods.List(ctx, which) })
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	watchSince := func(version string) (watch.Interface, error) {
		since := which
		since.ResourceVersion = version
		return retryProtocolError(ctx, func() (watch.Interface, error) { return pods.Watch(ctx, since) })
	}
	events, err := watchSince(list.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	podEvents := make(chan podEvent, len(list.Items)+1000) // the time is taken on arrival, even if the reader is busy
	for i := range list.Items {
		podEvents <- podEvent{watch.Added, &list.Items[i], time.Now()}
	}
	go func() {
		defer close(podEvents)
		for version := list.ResourceVersion; err == nil; {
			var more bool
			if version, more = forward(ctx, events, podEvents, version); !more {
				return
			}
			events, err = watchSince(version)
		}
	}()
	return podEvents, nil
}

// forward forwards the events of one watch until it ends, and returns the version of the last one. A
// busy API server ends a watch that does not keep up; more is true if another watch can continue.
func forward(ctx context.Context, events watch.Interface, to chan<- podEvent, version string) (_ string, more bool) {
	defer events.Stop()
	for event := range events.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return version, false
		}
		version = pod.ResourceVersion
		select {
		case to <- podEvent{event.Type, pod, time.Now()}:
		case <-ctx.Done():
			return version, false
		}
	}
	return version, ctx.Err() == nil
}

// retryProtocolError repeats a request if the connection has no free stream. The API server still
// counts the streams of watches that have just ended, and refuses new ones.
func retryProtocolError[T any](ctx context.Context, request func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		answer, err := request()
		if err == nil || tries == 100 || !strings.Contains(err.Error(), "PROTOCOL_ERROR") {
			return answer, err
		}
		if err := pause(ctx, retryInterval); err != nil {
			return answer, err
		}
	}
}

// rolloutObserver records the events of one rollout of some groups.
type rolloutObserver struct {
	groups       map[string]*groupRollout
	unfinished   int                 // groups that are not finished
	onDisruption func(disrupted int) // called for every disrupted pod; may be nil
	disrupted    int
}

// groupRollout is one rollout of one group. Its times are those of watch events.
type groupRollout struct {
	group       *group
	pods        map[string]state
	disruptions []disruption           // in order
	readyAt     map[string][]time.Time // when a pod of the new revision became ready
	updated     int                    // ready pods of the new revision
	finished    time.Time
	log         map[string][]string // all events of each pod, for error messages
}

// disruption is a pod that was deleted or evicted by any client.
type disruption struct {
	pod            string
	at             time.Time
	stateBefore    state
	otherZonesDown []string // pods of other zones that were down at that time
}

// state is the state of a pod.
type state struct{ terminating, ready, updated bool }

func newRolloutObserver(groups []*group) *rolloutObserver {
	o := &rolloutObserver{groups: map[string]*groupRollout{}, unfinished: len(groups)}
	for _, g := range groups {
		o.groups[g.key()] = &groupRollout{group: g, pods: map[string]state{}, readyAt: map[string][]time.Time{}, log: map[string][]string{}}
	}
	return o
}

// observe records an event.
func (o *rolloutObserver) observe(e podEvent) {
	r := o.groups[e.pod.Namespace+"/"+e.pod.Labels[groupLabel]]
	if r == nil {
		return
	}
	wasUnfinished := r.finished.IsZero()
	if r.observe(e) {
		o.disrupted++
		if o.onDisruption != nil {
			o.onDisruption(o.disrupted)
		}
	}
	if wasUnfinished && !r.finished.IsZero() {
		o.unfinished--
	}
}

// observe records an event and reports whether it is a disruption.
func (r *groupRollout) observe(e podEvent) (isDisruption bool) {
	name := e.pod.Name
	previous, existed := r.pods[name]
	current := stateOf(e, r.group.imageName())
	r.log[name] = append(r.log[name], e.String())
	if current.terminating && existed && !previous.terminating {
		r.disruptions = append(r.disruptions, disruption{name, e.at, previous, r.unavailableInOtherZones(name)})
		isDisruption = true
	}
	if previous.ready && previous.updated {
		r.updated--
	}
	if e.kind == watch.Deleted {
		delete(r.pods, name)
		return isDisruption
	}
	r.pods[name] = current
	if !current.ready || !current.updated {
		return isDisruption
	}
	r.updated++
	if !previous.ready || !previous.updated {
		r.readyAt[name] = append(r.readyAt[name], e.at)
	}
	if r.updated == r.group.size() && r.finished.IsZero() {
		r.finished = e.at
	}
	return isDisruption
}

// String returns the complete state as one line.
func (s podEvent) String() string {
	current := stateOf(s, "")
	return fmt.Sprintf("%s %-8s uid %.8s version %s %s terminating %t ready %t", s.at.Format("15:04:05.000"), s.kind,
		s.pod.UID, s.pod.ResourceVersion, s.pod.Spec.Containers[0].Image, current.terminating, current.ready)
}

func stateOf(e podEvent, image string) state {
	current := state{terminating: e.kind == watch.Deleted || e.pod.DeletionTimestamp != nil}
	current.updated = strings.HasSuffix(e.pod.Spec.Containers[0].Image, image)
	current.ready = !current.terminating && slices.ContainsFunc(e.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return current
}

// unavailableInOtherZones returns the pods of other zones that are not ready.
func (r *groupRollout) unavailableInOtherZones(pod string) []string {
	var all []string
	for _, other := range r.group.podNames() {
		if zoneOf(other) != zoneOf(pod) && !r.pods[other].ready {
			all = append(all, other)
		}
	}
	return all
}

// eventLog returns all events of all pods.
func (r *groupRollout) eventLog() string {
	var b strings.Builder
	for _, pod := range r.group.podNames() {
		fmt.Fprintf(&b, "\n  %s\n    %s", pod, strings.Join(r.log[pod], "\n    "))
	}
	return b.String()
}
