package operator

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
)

// managedSink writes Events to managed namespaces only. client-go keeps Events
// for minutes, to count repetitions, so an opt-out can come in between.
type managedSink struct {
	events.EventSink
	managed func(namespace string) bool
}

// Create implements events.EventSink.
func (s managedSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		return event, nil
	}
	return s.EventSink.Create(ctx, event)
}

// Update implements events.EventSink.
func (s managedSink) Update(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		return event, nil
	}
	return s.EventSink.Update(ctx, event)
}

// Patch implements events.EventSink.
func (s managedSink) Patch(ctx context.Context, event *eventsv1.Event, patch []byte) (*eventsv1.Event, error) {
	if !s.managed(event.Namespace) {
		return event, nil
	}
	return s.EventSink.Patch(ctx, event, patch)
}
