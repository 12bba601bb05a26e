package lease_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// written is the time of the predecessor's last write to the ConfigMap.
var written = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// tracks creates the predecessor's ConfigMap with this data on the server.
func (r *room) tracks(data map[string]string) {
	r.server.meddle(func(q *http.Request) *http.Response {
		if strings.HasSuffix(q.URL.Path, "/namespaces/team/configmaps/rollout-operator-zone-tracker") {
			return apitest.Answer(http.StatusOK, &corev1.ConfigMap{Data: data, ObjectMeta: metav1.ObjectMeta{
				CreationTimestamp: metav1.NewTime(written.Add(-time.Hour)),
				ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "a"}, {Manager: "b", Time: new(metav1.NewTime(written))}},
			}})
		}
		return nil
	})
}

func TestAGroupWithoutALeaseTakesOverTrackedTimes(t *testing.T) {
	r := newRoom(t)
	r.tracks(map[string]string{
		"zone-a": `{"lastDownscaled":"2026-01-05T11:00:00Z"}`,
		"zone-b": `{"LastDownscaled":"2026-01-05T13:00:00+02:00"}`,
	})
	got, err := r.Read(t.Context(), store)
	if err != nil || got.Exists {
		t.Fatalf("got %+v, %v", got, err)
	}
	eleven := written.Add(-time.Hour)
	if diff := cmp.Diff(map[string]time.Time{"zone-a": eleven, "zone-b": eleven}, group.HoldOf(got).Downscaled); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Every text results in the same time, and a Lease can represent that time.
func TestATrackedTimeThatCannotBeIsThatOfTheConfigMap(t *testing.T) {
	for _, text := range []string{
		"", "yesterday", "{}", "null", `{"lastDownscaled":"yesterday"}`,
		`{"lastDownscaled":"9999-12-31T23:59:59-23:00"}`, `{"lastDownscaled":"0000-01-01T00:00:00+01:00"}`,
	} {
		r := newRoom(t)
		r.tracks(map[string]string{"zone-a": text})
		got, err := r.Read(t.Context(), store)
		if at := group.HoldOf(got).Downscaled["zone-a"]; err != nil || !at.Equal(written) {
			t.Errorf("%s: scaled down at %s, %v", text, at, err)
		}
		if err := r.Write(t.Context(), store, got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTimesThatMayBeTrackedAreNotGuessed(t *testing.T) {
	r := newRoom(t)
	r.server.meddle(func(q *http.Request) *http.Response {
		if strings.Contains(q.URL.Path, "/configmaps/") {
			return refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return nil
	})
	if _, err := r.Read(t.Context(), store); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want that the ConfigMap may not be read", err)
	}
}

func TestAGroupWithALeaseReadsNoTracker(t *testing.T) {
	r := newRoom(t)
	r.server.change(stored, func(l *coordinationv1.Lease) bool { return true })
	if _, err := r.Read(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if path := r.server.last(http.MethodGet).path; !strings.Contains(path, "/leases/") || len(r.server.sent()) != 1 {
		t.Errorf("requests %q, the last is for %s", r.server.sent(), path)
	}
}
