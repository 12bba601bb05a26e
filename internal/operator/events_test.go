package operator

import (
	"context"
	"errors"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answers gives the same answer to every attempt.
type answers struct{ err error }

func (a answers) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, a.err
}

func (a answers) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return e, a.err
}

func (a answers) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	return e, a.err
}

func TestOutcomesOfEventsAreCounted(t *testing.T) {
	kind := schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	for sentence, tc := range map[string]struct {
		namespace string
		err       error
		want      []string // of Create, Update and Patch
	}{
		"an accepted Event is written":                        {"team", nil, []string{"written", "written", "written"}},
		"a rejected Event is dropped":                         {"team", apierrors.NewForbidden(kind, "e", nil), []string{"dropped", "dropped", "dropped"}},
		"one without an answer is tried again":                {"team", errors.New("no route"), []string{"unanswered", "unanswered", "unanswered"}},
		"one is tried again if the API server cannot keep up": {"team", apierrors.NewTooManyRequests("slow down", 1), []string{"unanswered", "unanswered", "unanswered"}},
		"an Event that exists already is not lost":            {"team", apierrors.NewAlreadyExists(kind, "e"), nil},
		"a deleted Event is created again":                    {"team", apierrors.NewNotFound(kind, "e"), []string{"dropped", "dropped"}},
		"an Event for a namespace that opted out is withheld": {"other", nil, []string{"withheld", "withheld", "withheld"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			sink := managedSink{answers{tc.err}, func(namespace string) bool { return namespace == "team" }, func(result string) { got = append(got, result) }}
			event := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: tc.namespace}}
			_, created := sink.Create(t.Context(), event)
			_, updated := sink.Update(t.Context(), event)
			_, patched := sink.Patch(t.Context(), event, nil)
			if !slices.Equal(got, tc.want) {
				t.Errorf("counted %v, want %v", got, tc.want)
			}
			if tc.namespace == "team" && !(errors.Is(created, tc.err) && errors.Is(updated, tc.err) && errors.Is(patched, tc.err)) {
				t.Errorf("the answer is not handed on: %v, %v, %v", created, updated, patched)
			}
			if _, drops := patched.(*apierrors.StatusError); drops && slices.Contains(got, "unanswered") { //nolint:errorlint // client-go looks at the type
				t.Errorf("client-go does not try again after %T", patched)
			}
		})
	}
}
