package observe

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

func TestAFailedReadIsNotTakenForTheSame(t *testing.T) {
	server := newLibrary(newSet("zone-a"))
	server.refuses = "get team/statefulsets"
	o := newObserver(t, server.client(t))
	show(o, newSet("zone-a"))
	if same, err := o.SameDesiredState(t.Context(), o.Cached(store)); same || err == nil {
		t.Errorf("%t, %v, want an error", same, err)
	}
}

func TestChangesOfLiveStatefulSetsAreDetected(t *testing.T) {
	for change, tc := range map[string]struct {
		change func(*appsv1.StatefulSet)
		want   bool
	}{
		"nothing":                   {func(*appsv1.StatefulSet) {}, true},
		"the status":                {func(s *appsv1.StatefulSet) { s.ResourceVersion, s.Status.ReadyReplicas = "99", 2 }, true},
		"another group":             {func(s *appsv1.StatefulSet) { s.Labels[contract.GroupLabel] = "other" }, false},
		"no group":                  {func(s *appsv1.StatefulSet) { delete(s.Labels, contract.GroupLabel) }, false},
		"a pause":                   {func(s *appsv1.StatefulSet) { s.Annotations = map[string]string{contract.PausedAnnotation: "true"} }, false},
		"another update strategy":   {func(s *appsv1.StatefulSet) { s.Generation++; s.Spec.UpdateStrategy.Type = "RollingUpdate" }, false},
		"another object":            {func(s *appsv1.StatefulSet) { s.UID = "another" }, false},
		"the object does not exist": {nil, false},
	} {
		t.Run(change, func(t *testing.T) {
			a, b := newSet("zone-a"), newSet("zone-b")
			stored := []runtime.Object{a}
			if tc.change != nil {
				changed := b.DeepCopy()
				tc.change(changed)
				stored = append(stored, changed)
			}
			server := newLibrary(stored...)
			o := newObserver(t, server.client(t))
			show(o, a)
			show(o, b)
			same, err := o.SameDesiredState(t.Context(), o.Cached(store))
			if err != nil || same != tc.want {
				t.Errorf("%t, %v, want %t", same, err, tc.want)
			}
			got := server.requests()
			slices.Sort(got)
			if diff := cmp.Diff([]string{"get team/statefulsets zone-a", "get team/statefulsets zone-b"}, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// A plan counts as confirmed from the beginning of the read, so a slow API server must not delay
// it once for each zone.
func TestStatefulSetsAreReadAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newSet("zone-a"), newSet("zone-b"), newSet("zone-c")
		server := &meeting{RoundTripper: newLibrary(a, b, c), complete: make(chan struct{})}
		server.missing.Store(3)
		o := newObserver(t, apitest.Client(t, server))
		show(o, a)
		show(o, b)
		show(o, c)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if same, err := o.SameDesiredState(ctx, o.Cached(store)); !same || err != nil {
			t.Errorf("%t, %v: a request waits until the API server has answered another one", same, err)
		}
	})
}

// meeting is an API server that answers no request before all requests have arrived.
type meeting struct {
	http.RoundTripper
	missing  atomic.Int32
	complete chan struct{}
}

func (m *meeting) RoundTrip(q *http.Request) (*http.Response, error) {
	if m.missing.Add(-1) == 0 {
		close(m.complete)
	}
	select {
	case <-m.complete:
		return m.RoundTripper.RoundTrip(q)
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}
