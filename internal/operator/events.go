package operator

import (
	"context"
	"errors"
	"fmt"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
)

// managedSink writes Events to managed namespaces only. client-go keeps Events for minutes, to
// count repetitions, and the namespace may opt out in that time.
type managedSink struct {
	events.EventSink
	managed func(namespace string) bool
	written func(result string)
}

// Results of an attempt to write an Event. client-go drops an Event that the API server refused.
// Without a response, or if the API server cannot keep up, it tries twelve times.
const (
	eventWritten    = "written"
	eventDropped    = "dropped"
	eventUnanswered = "unanswered"
	eventWithheld   = "withheld"
)

// Create implements events.EventSink.
func (s managedSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		s.written(eventWithheld)
		return event, nil
	}
	return s.count(s.EventSink.Create(ctx, event))
}

// Update implements events.EventSink.
func (s managedSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		s.written(eventWithheld)
		return event, nil
	}
	return s.count(s.EventSink.Update(ctx, event))
}

// Patch implements events.EventSink.
func (s managedSink) Patch(ctx context.Context, event *eventsv1.Event, patch []byte) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		s.written(eventWithheld)
		return event, nil
	}
	patched, err := s.EventSink.Patch(ctx, event, patch)
	if apierrors.IsNotFound(err) {
		return patched, err // client-go creates it again
	}
	return s.count(patched, err)
}

// count counts the result of an attempt. If the Event already exists, nothing is lost.
func (s managedSink) count(event *eventsv1.Event, err error) (*eventsv1.Event, error) {
	_, answered := errors.AsType[*apierrors.StatusError](err)
	switch {
	case err == nil:
		s.written(eventWritten)
	case apierrors.IsAlreadyExists(err):
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		s.written(eventUnanswered)
		return event, fmt.Errorf("write Event: %w", err) // client-go tries again after this type of error
	case answered:
		s.written(eventDropped)
	default:
		s.written(eventUnanswered)
	}
	return event, err
}
