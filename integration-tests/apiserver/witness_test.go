package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// witness watches pods, StatefulSets and Leases of a namespace, as admin and from
// before the first of them. It keeps the whole history for the judge, and the
// present for those who wait for something.
type witness struct {
	mu      sync.Mutex
	facts   []fact
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.StatefulSet
	leases  map[string]*coordinationv1.Lease
	ended   error         // why a watch ended before its time
	changed chan struct{} // closed and replaced at every change
}

// watchNamespace begins to watch and does so until ctx ends.
func watchNamespace(ctx context.Context, client kubernetes.Interface, namespace string) (*witness, error) {
	w := &witness{
		pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{}, leases: map[string]*coordinationv1.Lease{},
		changed: make(chan struct{}),
	}
	forHours := metav1.ListOptions{TimeoutSeconds: new(int64(4 * 3600))}
	begin := map[string]func() (watch.Interface, error){
		"pods":         func() (watch.Interface, error) { return client.CoreV1().Pods(namespace).Watch(ctx, forHours) },
		"StatefulSets": func() (watch.Interface, error) { return client.AppsV1().StatefulSets(namespace).Watch(ctx, forHours) },
		"Leases":       func() (watch.Interface, error) { return client.CoordinationV1().Leases(namespace).Watch(ctx, forHours) },
	}
	for what, watching := range begin {
		events, err := watching()
		if err != nil {
			return nil, fmt.Errorf("watch %s of %s: %w", what, namespace, err)
		}
		go func() {
			defer events.Stop()
			for event := range events.ResultChan() {
				w.take(event)
			}
			if ctx.Err() == nil {
				w.end(fmt.Errorf("the watch of %s ended before the test", what))
			}
		}()
	}
	return w, nil
}

func (w *witness) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = err
}

func (w *witness) take(event watch.Event) {
	now, gone := time.Now(), event.Type == watch.Deleted
	w.mu.Lock()
	defer w.mu.Unlock()
	f := fact{at: now, version: resourceVersion(event.Object)}
	switch o := event.Object.(type) {
	case *corev1.Pod:
		f.pod = podStateOf(o, gone)
		keep(w.pods, o.Name, o, gone)
	case *appsv1.StatefulSet:
		f.zone = zoneStateOf(o, gone)
		keep(w.sets, o.Name, o, gone)
	case *coordinationv1.Lease:
		if f.hold = holdStateOf(o, gone); f.hold == nil {
			return // the operator's leadership, or somebody else's
		}
		keep(w.leases, o.Name, o, gone)
	default:
		w.ended = fmt.Errorf("a watch told %s: %v", event.Type, event.Object)
		return
	}
	w.facts = append(w.facts, f)
	close(w.changed)
	w.changed = make(chan struct{})
}

func keep[T any](all map[string]T, name string, object T, gone bool) {
	if gone {
		delete(all, name)
	} else {
		all[name] = object
	}
}

func resourceVersion(object runtime.Object) uint64 {
	m, err := meta.Accessor(object)
	if err != nil {
		return 0 // an error from the watch, which take refuses
	}
	version, _ := strconv.ParseUint(m.GetResourceVersion(), 10, 64)
	return version
}

func podStateOf(p *corev1.Pod, gone bool) *podState {
	state := &podState{
		name: p.Name, uid: string(p.UID), revision: p.Labels[appsv1.ControllerRevisionHashLabelKey],
		ready: isReady(p), leaving: p.DeletionTimestamp != nil, gone: gone,
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		state.owner = string(owner.UID)
	}
	return state
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func zoneStateOf(s *appsv1.StatefulSet, gone bool) *zoneState {
	group, grouped := s.Labels[groupLabel]
	state := &zoneState{
		name: s.Name, uid: string(s.UID), group: group, grouped: grouped, gone: gone,
		replicas: int(*s.Spec.Replicas), budget: budgetOf(s),
		paused:   s.Annotations[pausedAnnotation] == "true",
		onDelete: s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
		revision: s.Status.UpdateRevision,
	}
	if s.Spec.Ordinals != nil {
		state.start = int(s.Spec.Ordinals.Start)
	}
	return state
}

// budgetOf reads rollout-max-unavailable as it is documented.
func budgetOf(s *appsv1.StatefulSet) int {
	text := strings.TrimSpace(s.Annotations[maxUnavailableAnnotation])
	digits, isPercentage := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 1 || (isPercentage && n > 100):
		return 1
	case isPercentage:
		return max(1, n*int(*s.Spec.Replicas)/100)
	}
	return n
}

func holdStateOf(l *coordinationv1.Lease, gone bool) *holdState {
	if l.Labels[holdLabel] != "group" {
		return nil
	}
	state := &holdState{group: l.Annotations[groupAnnotation], gone: gone}
	if l.Spec.HolderIdentity != nil {
		state.holder = *l.Spec.HolderIdentity
	}
	for _, pod := range intentsOf(l) {
		state.noted = append(state.noted, pod.UID)
	}
	return state
}

// intent is what the tests read of a noted pod.
type intent struct{ Pod, UID string }

func intentsOf(l *coordinationv1.Lease) []intent {
	var noted struct{ Pods []intent }
	if text := l.Annotations[intentsAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &noted); err != nil {
			return []intent{{Pod: "unreadable: " + text}}
		}
	}
	return noted.Pods
}

// present is everything in the namespace as last heard of.
type present struct {
	pods    map[string]*corev1.Pod
	sets    map[string]*appsv1.StatefulSet
	leases  map[string]*coordinationv1.Lease
	changed <-chan struct{} // closed when this is no longer the present
}

func (w *witness) now() present {
	w.mu.Lock()
	defer w.mu.Unlock()
	return present{pods: maps.Clone(w.pods), sets: maps.Clone(w.sets), leases: maps.Clone(w.leases), changed: w.changed}
}

func (w *witness) history() ([]fact, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.facts), w.ended
}

// String tells a fact as one line of a failure's report.
func (f fact) String() string {
	when := f.at.Format("05.000") + " " + strconv.FormatUint(f.version, 10)
	switch {
	case f.pod != nil:
		return fmt.Sprintf("%s pod %s %s ready=%t leaving=%t gone=%t", when, f.pod.name, f.pod.revision, f.pod.ready, f.pod.leaving, f.pod.gone)
	case f.zone != nil:
		return fmt.Sprintf("%s zone %s replicas=%d revision=%s paused=%t gone=%t", when, f.zone.name, f.zone.replicas, f.zone.revision, f.zone.paused, f.zone.gone)
	}
	return fmt.Sprintf("%s lease of %q holder=%q notes=%d gone=%t", when, f.hold.group, f.hold.holder, len(f.hold.noted), f.hold.gone)
}
