package apitest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watchers are the watches of a fake API server. They receive the changes of things of type
// T. The zero Watchers has no watches. Its methods may be called concurrently.
type Watchers[T any] struct {
	mu   sync.Mutex
	all  map[*watcher[T]]bool
	told []told[T]
}

// told is an event that a watch receives if it begins at an earlier version.
type told[T any] struct {
	thing   T
	version uint64
	event   metav1.WatchEvent
}

type watcher[T any] struct {
	name  string
	wants func(T) bool
	tell  chan metav1.WatchEvent
	end   context.CancelFunc
}

// ahead is the number of events that a watch may be behind before Tell blocks.
const ahead = 1000

// Watch returns the answer to a watch. It sends the first events, then the events of the
// things that the watch wants, from its resourceVersion on. It ends with the request, by
// End, or after the timeout that the request sets. End and Names identify the watch by its
// name.
func (w *Watchers[T]) Watch(q *http.Request, name string, wants func(T) bool, first ...metav1.WatchEvent) *http.Response {
	ctx, end := context.WithTimeout(q.Context(), lasting(q))
	one := &watcher[T]{name, wants, make(chan metav1.WatchEvent, ahead), end}
	for _, event := range first {
		one.tell <- event
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if from := versionOf(q.URL.Query().Get("resourceVersion")); from > 0 && len(first) == 0 {
		for _, t := range w.told {
			if t.version > from && wants(t.thing) {
				one.tell <- t.event
			}
		}
	}
	if w.all == nil {
		w.all = map[*watcher[T]]bool{}
	}
	w.all[one] = true
	return Watch(ctx, one.tell, func() {
		end()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, one)
	})
}

// lasting returns the timeout of a watch; without timeoutSeconds an hour, as on an API
// server.
func lasting(q *http.Request) time.Duration {
	seconds, err := strconv.Atoi(q.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		return time.Hour
	}
	return time.Duration(seconds) * time.Second
}

func versionIn(event metav1.WatchEvent) uint64 {
	object, err := meta.Accessor(event.Object.Object)
	if err != nil {
		return 0
	}
	return versionOf(object.GetResourceVersion())
}

// versionOf returns a text as a version; 0 if the text is not a version.
func versionOf(text string) uint64 {
	version, _ := strconv.ParseUint(text, 10, 64)
	return version
}

// Tell sends an event of a thing to every watch that wants the thing.
func (w *Watchers[T]) Tell(thing T, event metav1.WatchEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Type != string(watch.Bookmark) {
		w.told = append(w.told, told[T]{thing, versionIn(event), event})
	}
	for one := range w.all {
		if one.wants(thing) {
			one.tell <- event
		}
	}
}

// End ends the watches whose names satisfy such.
func (w *Watchers[T]) End(such func(name string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if such(one.name) {
			one.end()
		}
	}
}

// Names returns the names of the watches, sorted.
func (w *Watchers[T]) Names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for one := range w.all {
		names = append(names, one.name)
	}
	slices.Sort(names)
	return names
}
