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

// Watchers are the watches of a server that a test plays, which tells them of changes
// to things of type T. The zero Watchers has none. Its methods may be called from any
// goroutine.
type Watchers[T any] struct {
	mu   sync.Mutex
	all  map[*watcher[T]]bool
	told []told[T]
}

// told is what a watch hears that begins at an earlier version.
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

// ahead is how many events a watch may be behind before telling it of more blocks.
const ahead = 1000

// Watch returns the answer to a watch, which tells the first events, and then what is
// told of things that it wants, from its resourceVersion on, until the request or the
// watch is ended, or has lasted for as long as it was asked for. End and Names know the
// watch by name.
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

// lasting returns for how long a watch is asked for: at most an hour, as from an API server.
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

// versionOf reads a version; 0 for a text that is none.
func versionOf(text string) uint64 {
	version, _ := strconv.ParseUint(text, 10, 64)
	return version
}

// Tell tells every watch that wants a thing what happened to it.
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

// End ends the watches whose names are such.
func (w *Watchers[T]) End(such func(name string) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		if such(one.name) {
			one.end()
		}
	}
}

// Names returns what is watched, sorted.
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
