package dynamicwatch

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// SilentFor is how long an API server may send nothing about a kind that is watched with
	// ShortWatch and WithHeartbeats.
	SilentFor = 3 * time.Minute

	// watchDuration is the duration of one watch. Not every API server sends bookmarks. An
	// API server that accepts the next watch is alive.
	watchDuration = 2 * time.Minute
	// grace is the additional time that an API server has to end a watch.
	grace = 10 * time.Second
	// minOpen is how long a watch must stay open before that counts as a heartbeat. client-go
	// shows a failed watch as a watch that has just ended.
	minOpen = time.Second
)

// ShortWatch returns the options of a watch for WithHeartbeats.
func ShortWatch(o metav1.ListOptions) metav1.ListOptions {
	seconds := int64(watchDuration / time.Second)
	o.TimeoutSeconds = &seconds
	return o
}

// WithHeartbeats forwards the events of a watch, for as long as ShortWatch asks for. It calls
// heartbeat with each event, bookmarks included, and once when the watch has stayed open for a
// while. An error is no heartbeat. If the watch begins with the objects that exist, heartbeats begin
// once all of them have been sent; WithHeartbeats calls listed then.
func WithHeartbeats(events watch.Interface, o metav1.ListOptions, listed, heartbeat func()) watch.Interface {
	h := &heartbeats{Interface: events, forwarded: make(chan watch.Event), stopped: make(chan struct{}), listed: listed, heartbeat: heartbeat}
	h.initialEvents = o.SendInitialEvents != nil && *o.SendInitialEvents
	go h.forward()
	return h
}

type heartbeats struct {
	watch.Interface
	initialEvents     bool // not all objects that exist have been sent yet
	listed, heartbeat func()
	forwarded         chan watch.Event
	stopped           chan struct{}
	stop              sync.Once
}

// ResultChan implements watch.Interface.
func (h *heartbeats) ResultChan() <-chan watch.Event { return h.forwarded }

// Stop implements watch.Interface.
func (h *heartbeats) Stop() {
	h.stop.Do(func() { close(h.stopped) })
	h.Interface.Stop()
}

func (h *heartbeats) forward() {
	defer close(h.forwarded)
	open, end := time.NewTimer(minOpen), time.NewTimer(watchDuration+grace)
	defer open.Stop()
	defer end.Stop()
	for {
		select {
		case event, more := <-h.Interface.ResultChan():
			if !more {
				return
			}
			h.received(event)
			select {
			case h.forwarded <- event:
			case <-h.stopped:
				return
			}
		case <-open.C:
			if !h.initialEvents {
				h.heartbeat()
			}
		case <-end.C:
			h.Interface.Stop()
			return
		case <-h.stopped:
			return
		}
	}
}

func (h *heartbeats) received(event watch.Event) {
	switch {
	case event.Type == watch.Error:
	case !h.initialEvents:
		h.heartbeat()
	case endsInitialEvents(event):
		h.initialEvents = false
		h.listed()
	}
}

// endsInitialEvents reports whether an event says that all objects that exist have been sent
// (KEP-3157).
func endsInitialEvents(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
