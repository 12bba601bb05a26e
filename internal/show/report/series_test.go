package report_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/show/report"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// shelf contains the Events that API servers would store.
type shelf struct {
	mu    sync.Mutex
	names map[string]bool
	notes []string // of the first version of each Event
	again int      // how often a stored Event was counted again
}

func (s *shelf) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[e.Name] = true
	s.notes = append(s.notes, e.Note)
	return e, nil
}

func (s *shelf) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) { return e, nil }

func (s *shelf) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.names[e.Name] {
		return nil, apierrors.NewNotFound(eventsv1.Resource("events"), e.Name) // client-go may send this before the request that creates the Event
	}
	s.again++
	return e, nil
}

func (s *shelf) stored() (notes []string, again int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.notes)), s.again
}

// client-go counts Events that differ only in their note as one, with the note of the first.
func TestEventsOfOneReasonShowTheirOwnNotes(t *testing.T) {
	stored := &shelf{names: map[string]bool{}}
	broadcaster := events.NewBroadcaster(stored)
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	reporter := report.New(broadcaster.NewRecorder(scheme.Scheme, "lockstep"), telemetry.NewMetrics("test"))
	s := fixture.MustParse(settled)
	for _, to := range []int{2, 3, 4, 3} {
		step := group.SetReplicas{Zone: "zone-a", From: 1, To: to, Because: reason.LeaderFollowed}
		reporter.Group(s, nil, []plan.Receipt{{Step: step}})
	}
	var want []string
	for _, to := range []string{"2", "3", "4"} {
		want = append(want, "set spec.replicas from 1 to "+to)
	}
	var got []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		notes, again := stored.stored()
		got = nil
		for _, note := range notes {
			begin, _, _ := strings.Cut(note, ":")
			got = append(got, begin)
		}
		if len(got) == len(want) && again > 0 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, again := stored.stored(); again == 0 {
		t.Error("a repeated Event with the same note is not counted")
	}
}
