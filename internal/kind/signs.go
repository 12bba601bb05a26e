package kind

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// steady is for how long a watch has to be open before that counts for something: one
// that came to nothing is shown by client-go as one that has just ended.
const steady = time.Second

// Heard passes on what a watch tells and calls sign with each of it, bookmarks among it,
// and once when the watch has stayed open for a while. An error is no sign. A watch that
// the API server still serves gives one a minute or so: that is how often it sends bookmarks.
func Heard(events watch.Interface, sign func()) watch.Interface {
	h := &heard{Interface: events, passed: make(chan watch.Event), stopped: make(chan struct{})}
	go h.pass(sign)
	return h
}

type heard struct {
	watch.Interface
	passed  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

// ResultChan implements watch.Interface.
func (h *heard) ResultChan() <-chan watch.Event { return h.passed }

// Stop implements watch.Interface.
func (h *heard) Stop() {
	h.stop.Do(func() { close(h.stopped) })
	h.Interface.Stop()
}

func (h *heard) pass(sign func()) {
	defer close(h.passed)
	open := time.NewTimer(steady)
	defer open.Stop()
	for {
		select {
		case event, more := <-h.Interface.ResultChan():
			if !more {
				return
			}
			if event.Type != watch.Error {
				sign()
			}
			select {
			case h.passed <- event:
			case <-h.stopped:
				return
			}
		case <-open.C:
			sign()
		case <-h.stopped:
			return
		}
	}
}
