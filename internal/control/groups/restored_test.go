package groups_test

import (
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestRestoreIsReportedForAllZones(t *testing.T) {
	for sentence, tc := range map[string]struct {
		world
		want []string
	}{
		"each zone":                   {world{cached: fixture.MustParse("zone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2\n zone-b-0 ready@2\n")}, []string{"wait zone-a because ClusterRestored; wait zone-b because ClusterRestored"}},
		"no namespace that opted out": {world{unmanaged: true, cached: fixture.MustParse("zone-a rev=2\n zone-a-0 ready@2\n")}, nil},
		"no group that was deleted":   {world{cached: group.Snapshot{Key: store}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			c, _ := newController(&tc.world)
			c.ReportRestored(store)
			if !slices.Equal(tc.reported, tc.want) {
				t.Errorf("reported %q, want %q", tc.reported, tc.want)
			}
		})
	}
}

// A record that only a live read may end does not wait for the caches.
func TestLiveReadDropsARecordFromBeforeARestore(t *testing.T) {
	const group = "hold rollout/zone-a\n intent zone-a-0 uid=former version=999 known=10s\nzone-a rev=2 current=1\n zone-a-0 ready@2 version=20\n zone-a-1 ready@1\n"
	w := &world{cached: fixture.MustParse(group), live: fixture.MustParse("live\n" + group)}
	c, _ := newController(w)
	if _, err := c.Reconcile(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if want := []string{"delete zone-a-1 of zone-a because OutdatedRevision; end intent of zone-a-0 because HoldRestored (write rollout/zone-a with zone-a-1)"}; !slices.Equal(w.ran, want) {
		t.Errorf("ran %q, want %q", w.ran, want)
	}
}
