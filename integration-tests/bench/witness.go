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

// sighting is what a watch told of a pod, and when.
type sighting struct {
	kind watch.EventType
	pod  *corev1.Pod
	at   time.Time
}

// follow lists pods and then watches them. What is there comes first, as added.
// The channel is closed when the watch ends.
func (a *arena) follow(ctx context.Context, namespace, selector string) (<-chan sighting, error) {
	pods := a.watcher.CoreV1().Pods(namespace)
	list, err := whereThereIsRoom(ctx, func() (*corev1.PodList, error) {
		return pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
	})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	events, err := whereThereIsRoom(ctx, func() (watch.Interface, error) {
		return pods.Watch(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.ResourceVersion})
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	seen := make(chan sighting, len(list.Items)+1000) // stamped on arrival, however busy the reader
	for i := range list.Items {
		seen <- sighting{watch.Added, &list.Items[i], time.Now()}
	}
	go func() {
		defer close(seen)
		defer events.Stop()
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				return // the watch cannot go on
			}
			select {
			case seen <- sighting{event.Type, pod, time.Now()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return seen, nil
}

// whereThereIsRoom asks again where a connection has no room: of a thousand watches that
// have just ended on it, the API server still counts some, and refuses what comes next.
func whereThereIsRoom[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		answer, err := ask()
		if err == nil || tries == 100 || !strings.Contains(err.Error(), "PROTOCOL_ERROR") {
			return answer, err
		}
		if err := pause(ctx, askAgain); err != nil {
			return answer, err
		}
	}
}

// witness keeps what a watch tells of one rollout of some groups.
type witness struct {
	groups map[string]*history
	left   int            // groups that are not finished
	onDown func(down int) // told of every pod that is taken down; may be nil
	down   int
}

// history is one rollout of one group. Times are those at which the watch told.
type history struct {
	group    *group
	pods     map[string]state
	downs    []down                 // in order
	readyAt  map[string][]time.Time // when a pod of the new revision became Ready
	renewed  int                    // pods of the new revision that are Ready
	finished time.Time
	told     map[string][]string // of each pod, everything, for the case that something is wrong
}

// down is a pod that was taken down, by whomever.
type down struct {
	pod    string
	at     time.Time
	was    state
	beside []string // pods of other zones that were down at that moment
}

// state of a pod.
type state struct{ leaving, ready, renewed bool }

func newWitness(groups []*group) *witness {
	w := &witness{groups: map[string]*history{}, left: len(groups)}
	for _, g := range groups {
		w.groups[g.key()] = &history{group: g, pods: map[string]state{}, readyAt: map[string][]time.Time{}, told: map[string][]string{}}
	}
	return w
}

// see takes a sighting in.
func (w *witness) see(s sighting) {
	h := w.groups[s.pod.Namespace+"/"+s.pod.Labels[groupLabel]]
	if h == nil {
		return
	}
	unfinished := h.finished.IsZero()
	if h.see(s) {
		w.down++
		if w.onDown != nil {
			w.onDown(w.down)
		}
	}
	if unfinished && !h.finished.IsZero() {
		w.left--
	}
}

// see takes a sighting in and reports whether it is of a pod that was taken down.
func (h *history) see(s sighting) (isDown bool) {
	name := s.pod.Name
	before, known := h.pods[name]
	is := stateOf(s, h.group.imageName())
	h.told[name] = append(h.told[name], s.String())
	if is.leaving && known && !before.leaving {
		h.downs = append(h.downs, down{name, s.at, before, h.downBeside(name)})
		isDown = true
	}
	if before.ready && before.renewed {
		h.renewed--
	}
	if s.kind == watch.Deleted {
		delete(h.pods, name)
		return isDown
	}
	h.pods[name] = is
	if !is.ready || !is.renewed {
		return isDown
	}
	h.renewed++
	if !before.ready || !before.renewed {
		h.readyAt[name] = append(h.readyAt[name], s.at)
	}
	if h.renewed == h.group.size() && h.finished.IsZero() {
		h.finished = s.at
	}
	return isDown
}

// String returns one line that tells the whole state.
func (s sighting) String() string {
	is := stateOf(s, "")
	return fmt.Sprintf("%s %-8s uid %.8s version %s %s leaving %t ready %t", s.at.Format("15:04:05.000"), s.kind,
		s.pod.UID, s.pod.ResourceVersion, s.pod.Spec.Containers[0].Image, is.leaving, is.ready)
}

func stateOf(s sighting, image string) state {
	is := state{leaving: s.kind == watch.Deleted || s.pod.DeletionTimestamp != nil}
	is.renewed = strings.HasSuffix(s.pod.Spec.Containers[0].Image, image)
	is.ready = !is.leaving && slices.ContainsFunc(s.pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return is
}

// downBeside returns the pods of other zones that are not Ready.
func (h *history) downBeside(pod string) []string {
	var all []string
	for _, other := range h.group.podNames() {
		if zoneOf(other) != zoneOf(pod) && !h.pods[other].ready {
			all = append(all, other)
		}
	}
	return all
}

// story returns what the watch told of all pods.
func (h *history) story() string {
	var b strings.Builder
	for _, pod := range h.group.podNames() {
		fmt.Fprintf(&b, "\n  %s\n    %s", pod, strings.Join(h.told[pod], "\n    "))
	}
	return b.String()
}
