package kind

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// SilentFor is for how long an API server may tell nothing of a kind that is watched
	// as ShortWatch and WithSigns have it.
	SilentFor = 3 * time.Minute

	// lasts is for how long one watch is asked for. Not every API server sends bookmarks,
	// and one that takes the next watch is there.
	lasts = 2 * time.Minute
	// grace is what an API server is given to end a watch by itself.
	grace = 10 * time.Second
	// steady is for how long a watch has to be open before that counts for something: one
	// that came to nothing is shown by client-go as one that has just ended.
	steady = time.Second
)

// ShortWatch returns what a watch is asked for that WithSigns listens to.
func ShortWatch(o metav1.ListOptions) metav1.ListOptions {
	seconds := int64(lasts / time.Second)
	o.TimeoutSeconds = &seconds
	return o
}

// WithSigns passes on what a watch tells, for as long as ShortWatch asks for. It calls sign with
// each of it, bookmarks among it, and once when the watch has stayed open for a while. An
// error is no sign. Where the watch begins with all that exists nothing is one until all
// of it has been told, which all hears.
func WithSigns(events watch.Interface, o metav1.ListOptions, all, sign func()) watch.Interface {
	h := &heard{Interface: events, passed: make(chan watch.Event), stopped: make(chan struct{}), all: all, sign: sign}
	h.begins = o.SendInitialEvents != nil && *o.SendInitialEvents
	go h.pass()
	return h
}

type heard struct {
	watch.Interface
	begins    bool // it has not told all yet that exists
	all, sign func()
	passed    chan watch.Event
	stopped   chan struct{}
	stop      sync.Once
}

// ResultChan implements watch.Interface.
func (h *heard) ResultChan() <-chan watch.Event { return h.passed }

// Stop implements watch.Interface.
func (h *heard) Stop() {
	h.stop.Do(func() { close(h.stopped) })
	h.Interface.Stop()
}

func (h *heard) pass() {
	defer close(h.passed)
	open, end := time.NewTimer(steady), time.NewTimer(lasts+grace)
	defer open.Stop()
	defer end.Stop()
	for {
		select {
		case event, more := <-h.Interface.ResultChan():
			if !more {
				return
			}
			h.hear(event)
			select {
			case h.passed <- event:
			case <-h.stopped:
				return
			}
		case <-open.C:
			if !h.begins {
				h.sign()
			}
		case <-end.C:
			h.Interface.Stop()
			return
		case <-h.stopped:
			return
		}
	}
}

func (h *heard) hear(event watch.Event) {
	switch {
	case event.Type == watch.Error:
	case !h.begins:
		h.sign()
	case endsTheBeginning(event):
		h.begins = false
		h.all()
	}
}

// endsTheBeginning reports whether all has been told by now that exists (KEP-3157).
func endsTheBeginning(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
