package apiserver_test

import (
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// A zone whose pods decline their preparation is removed from its group. It then has no
// group, and its pods are prepared as before, even while the group's Lease still remembers
// it.
func TestAZoneJustRemovedFromItsGroupIsPreparedBeforeItScalesDown(t *testing.T) {
	t.Parallel()
	for name, unreadable := range map[string]bool{"at once": false, "while the Lease cannot be read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, func(method, _ string) int {
				if method == http.MethodPost {
					return http.StatusServiceUnavailable
				}
				return http.StatusOK
			})
			s.create(zone("zone-a", 3, prepares), zone("zone-b", 2))
			s.remembers(theLease, "zone-b")
			s.never("the downscale of zone-a in its group, whose pods decline", time.Second, func() error { return s.scaleBy(scaled, "zone-a", -1) })
			s.eventually("the hold is free", free)
			if unreadable {
				s.editLease(func(l *coordinationv1.Lease) { l.Annotations[intentsAnnotation] = "garbage" })
				time.Sleep(time.Second)
			}
			requested := s.callsTo("zone-a-2")
			s.change("zone-a", regrouped(""))
			s.never("the downscale of zone-a outside of its group, whose pods decline", 3*time.Second, func() error {
				err := s.scaleBy(scaled, "zone-a", -1)
				if err == nil {
					t.Logf("before its removal zone-a-2 received %q, by now %q", requested, s.callsTo("zone-a-2"))
				}
				return err
			})
		})
	}
}

// While the record of zones in the Lease cannot be read, a zone that lost its label keeps its
// replicas.
func TestAFormerZoneDoesNotScaleDownWhileTheRememberedZonesAreUnreadable(t *testing.T) {
	t.Parallel()
	e := evictorOf(guarded(t))
	e.createOpen(zone("zone-a", 3, gated()), zone("zone-b", 2))
	e.remembers(theLease, "zone-b")
	e.change("zone-b", version(2), gated())
	e.awaitDeletion("zone-b-0")
	e.isBroken("zone-b-0")
	e.gate("zone-a-0", corev1.ConditionFalse)
	e.isBroken("zone-a-0")
	e.editLease(func(l *coordinationv1.Lease) { l.Annotations[zonesAnnotation] = "zone-a and zone-b" })
	e.never("the downscale of zone-a in its group", time.Second, func() error { return e.scaleBy(scaled, "zone-a", -1) })
	e.change("zone-a", regrouped(""))
	e.never("the downscale of zone-a while it is outside of its group and unavailable, and zone-b-0 is down", 6*time.Second, func() error { return e.scaleBy(scaled, "zone-a", -1) })
}

// A replica that observes Leases late also refuses the downscale of a zone that was removed
// from its group.
func TestAReplicaThatSeesLeasesLateGuardsDownscalesOfFormerZones(t *testing.T) {
	t.Parallel()
	e := answeredLate(t, "leases", 15*time.Second)
	e.create(zone("zone-a", 2))
	e.begin(zone("zone-b", 3, gated()))
	e.remembers(theLease, "zone-b")
	e.serve("zone-b-0", "zone-b-1", "zone-b-2")
	e.change("zone-a", version(2), gated(), readyAfter(time.Minute))
	e.awaitDeletion("zone-a-0")
	e.deletePod("zone-b-0") // it crashes
	e.isBroken("zone-b-0")
	e.change("zone-b", regrouped(""))
	e.never("the downscale of zone-b, which was removed from its group, while zone-a-0 is down", 8*time.Second, func() error { return e.scaleBy(scaled, "zone-b", -1) })
}
