package judge

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Witness watches pods, StatefulSets, Leases and Namespaces and keeps all that it
// is told. It should begin before what is to be judged.
type Witness struct {
	told func(watch.Event)

	mu    sync.Mutex
	facts []Fact
	ended error // why a watch ended before its time
}

// longest is how long one watch may last.
const longest = 4 * time.Hour

// Watch begins to watch the named namespaces, or all where none is named, and does
// so until ctx ends. Beside the judge it hands every event to told, if that is not
// nil, once it has taken it in itself: those of one kind of object one after the other.
func Watch(ctx context.Context, client kubernetes.Interface, told func(watch.Event), namespaces ...string) (*Witness, error) {
	w := &Witness{told: told}
	if w.told == nil {
		w.told = func(watch.Event) {}
	}
	if len(namespaces) == 0 {
		return w, w.begin(ctx, client, metav1.NamespaceAll)
	}
	for _, namespace := range namespaces {
		if err := w.begin(ctx, client, namespace); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// kind is one of the things that are watched.
type kind struct {
	name  string
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func (w *Witness) begin(ctx context.Context, client kubernetes.Interface, namespace string) error {
	homes := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if namespace != metav1.NamespaceAll {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, namespace).String()
		}
		return client.CoreV1().Namespaces().Watch(ctx, o)
	}
	for _, k := range []kind{
		{"Namespaces", homes},
		{"pods", client.CoreV1().Pods(namespace).Watch},
		{"StatefulSets", client.AppsV1().StatefulSets(namespace).Watch},
		{"Leases", client.CoordinationV1().Leases(namespace).Watch},
	} {
		events, err := k.watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(longest.Seconds()))})
		if err != nil {
			return fmt.Errorf("watch %s of %q: %w", k.name, namespace, err)
		}
		go w.follow(ctx, k, events)
	}
	return nil
}

// follow takes events in until ctx ends. The API server ends a watch whose reader
// is slow, or may be away for a while, and the watch is resumed where it stopped, so
// nothing is missed.
func (w *Witness) follow(ctx context.Context, k kind, events watch.Interface) {
	last := ""
	for {
		if version := w.drain(events); version != "" {
			last = version // a watch that was resumed may end without having told anything
		}
		var err error
		events, err = k.resume(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || last == "":
			w.end(fmt.Errorf("the watch of %s ended before its time: %w", k.name, err))
			return
		}
	}
}

// away is how long there may be no API server to watch.
const away = 2 * time.Minute

// resume goes on with a watch after a version, as soon as somebody answers.
func (k kind) resume(ctx context.Context, version string) (watch.Interface, error) {
	for began := time.Now(); ; {
		events, err := k.watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(longest.Seconds())), ResourceVersion: version})
		if err == nil || tooLate(err) || time.Since(began) > away {
			return events, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tooLate tells that what came after a version is no longer known.
func tooLate(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// drain takes events in until there are no more, and returns the version of the last.
func (w *Witness) drain(events watch.Interface) (last string) {
	defer events.Stop()
	for event := range events.ResultChan() {
		if event.Type == watch.Error && !tooLate(apierrors.FromObject(event.Object)) {
			return last // of the API server's own, for instance without its store
		}
		w.take(event)
		if object, err := meta.Accessor(event.Object); err == nil {
			last = object.GetResourceVersion()
		}
	}
	return last
}

// Facts returns all that was told so far, in the order of arrival. An error says
// that something was missed.
func (w *Witness) Facts() ([]Fact, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.facts), w.ended
}

func (w *Witness) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = err
}

func (w *Witness) take(event watch.Event) {
	f, known := factOf(event, time.Now())
	if !known {
		w.end(fmt.Errorf("a watch told %s: %v", event.Type, event.Object))
		return
	}
	if !f.empty() {
		w.add(f)
	}
	w.told(event)
}

func (w *Witness) add(f Fact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = append(w.facts, f)
}

// factOf reads an event. The second result is false for what is no object of a
// kind that is watched. A Lease of something else than a group makes an
// empty fact.
func factOf(event watch.Event, now time.Time) (Fact, bool) {
	f := Fact{At: now, Version: Version(event.Object)}
	gone := event.Type == watch.Deleted
	switch o := event.Object.(type) {
	case *corev1.Pod:
		f.Namespace, f.Pod = o.Namespace, PodOf(o)
		f.Pod.Gone = gone
	case *appsv1.StatefulSet:
		f.Namespace, f.Zone = o.Namespace, ZoneOf(o)
		f.Zone.Gone = gone
	case *coordinationv1.Lease:
		f.Namespace, f.Hold = o.Namespace, HoldOf(o)
		if f.Hold != nil {
			f.Hold.Gone = gone
		}
	case *corev1.Namespace:
		f.Namespace, f.Home = o.Name, &Home{Labels: o.Labels, Gone: gone}
	default:
		return f, false
	}
	return f, true
}

func (f Fact) empty() bool {
	return f.Pod == nil && f.Zone == nil && f.Hold == nil && f.Home == nil
}
