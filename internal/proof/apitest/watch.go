package apitest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Event returns the watch event of one change.
func Event(what watch.EventType, object runtime.Object) metav1.WatchEvent {
	return metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Object: typed(object)}}
}

// Watch returns the answer to a watch. The answer sends every event until ctx ends, and
// then calls ended.
func Watch(ctx context.Context, events <-chan metav1.WatchEvent, ended func()) *http.Response {
	body, pen := io.Pipe()
	go func() {
		defer func() { _ = pen.Close() }() // never fails
		defer ended()
		for {
			select {
			case event := <-events:
				text, err := json.Marshal(event)
				if err != nil {
					panic(err)
				}
				_, _ = pen.Write(append(text, '\n')) // fails only if the reader has closed the connection
			case <-ctx.Done():
				return
			}
		}
	}()
	return respond(http.StatusOK, body)
}
