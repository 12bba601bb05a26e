package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A group takes over the times of the predecessor's zone tracker. After its first downscale, it
// does not need the ConfigMap any more.
func TestTimesOfThePredecessorsZoneTrackerCount(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	const tracker = "rollout-operator-zone-tracker"
	configMaps := s.world.admin.CoreV1().ConfigMaps(s.name)
	data := map[string]string{"zone-a": fmt.Sprintf(`{"lastDownscaled":%q}`, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))}
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tracker}, Data: data}, createOptions); err != nil {
		t.Fatal(err)
	}
	anHourApart := func(s *appsv1.StatefulSet) { set(&s.Labels, "grafana.com/min-time-between-zones-downscale", "1h") }
	s.create(zone("zone-a", 3, anHourApart), zone("zone-b", 3, anHourApart))

	refused := func(when string) {
		t.Helper()
		err := s.scaleBy(scaled, "zone-b", -1)
		if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "DownscaleTooSoon zone-a") {
			t.Errorf("%s: got %v, want a 429 since zone-a was scaled down a minute ago", when, err)
		}
	}
	s.eventually("the operator sees that both zones are available", func(present) error {
		if err := s.tryDownscale("zone-b"); !apierrors.IsTooManyRequests(err) || strings.Contains(err.Error(), "OtherZoneUnavailable") {
			return fmt.Errorf("got %w", err)
		}
		return s.tryDownscale("zone-a")
	})
	refused("by the ConfigMap")
	if err := s.scaleBy(scaled, "zone-a", -1); err != nil {
		t.Fatalf("the zone that was scaled down last may continue: %v", err)
	}
	s.settled()
	if err := configMaps.Delete(t.Context(), tracker, deleteOptions); err != nil {
		t.Fatal(err)
	}
	refused("by the Lease")
}
