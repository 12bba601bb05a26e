package admission_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// scalable is an evictable cluster that also admits downscales.
type scalable struct{ *evictable }

func (s scalable) Set(_, name string) (observe.Set, bool) {
	zone, exists := s.group.Zone(name)
	return observe.Set{UID: zone.UID, Version: zone.Version, Held: exists, Key: s.group.Key}, exists
}

func (s scalable) LiveSet(_ context.Context, namespace, name string) (observe.Set, error) {
	set, _ := s.Set(namespace, name)
	return set, nil
}

func (scalable) ClaimsOfGroups(context.Context, string, string) ([]lease.Claim, error) {
	return nil, nil
}

// downscale judges the downscale of zone-a from 3 to 2 replicas.
func (s scalable) downscale(t *testing.T) admission.Verdict {
	t.Helper()
	return s.downscaleOf(t, agreeingPods{})
}

// downscaleOf judges the same downscale with other pods.
func (s scalable) downscaleOf(t *testing.T, pods admission.Pods) admission.Verdict {
	t.Helper()
	webhook := &admission.PrepareDownscale{Observer: s, Holds: kept(s.holdStore), Pods: pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
	return webhook.Judge(t.Context(), downscaleOfZoneA())
}

// givenUp are pods that decline. In the meantime the leader, which runs in the same process, has
// cancelled the downscale after a live read, and the hold is free.
type givenUp struct{ holds *holdStore }

func (g givenUp) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	g.holds.mu.Lock()
	defer g.holds.mu.Unlock()
	g.holds.record.Own, g.holds.record.Holder, g.holds.record.Downscale = true, "", group.Downscale{}
	return true, errors.New("503")
}

// preparesPodThatIsDown requires preparation of the last pod of zone-a, which is down, before it
// is deleted.
func preparesPodThatIsDown(c *evictable) {
	zone := &c.group.Zones[0]
	zone.Prepares, zone.Call = true, group.Call{Port: 80, Path: "/prepare", Service: "pods"}
	zone.Pods[2].IP = "10.0.0.1"
}

// staleAboutZoneB is a cluster whose caches do not show yet that a pod of zone-b is down.
// The last pod of zone-a is down as well.
func staleAboutZoneB(parts ...fixture.Part) *evictable {
	zoneA := func(z *group.Zone) { z.UID, z.Version = "uid-a", 7 }
	c := cluster(append([]fixture.Part{
		fixture.Zone("zone-a", "1", zoneA, fixture.Budget(3), fixture.Pods("1", "1"), fixture.Pod(2, plan.Failing, "1")),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1")),
	}, parts...)...)
	c.live = func(s *group.Snapshot) { s.Zones[1].Pods[1].Phase = plan.Starting }
	return c
}

// unlabelledRollout is a cluster in which zone-b is rolled under a Lease that lost its
// label. The caches show neither that nor that a pod of zone-a is down.
func unlabelledRollout() *evictable {
	c := cluster(
		fixture.Zone("zone-a", "1", func(z *group.Zone) { z.UID, z.Version = "uid-a", 7 }, fixture.Pods("1", "1", "1")),
		fixture.Zone("zone-b", "1", fixture.Budget(2), fixture.Pods("1", "1")),
	)
	held := fixture.Clone(c.group)
	fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-1"))(&held)
	c.unwatched, c.unwatched.Own, c.unwatched.Unlabelled = held.Hold, false, true
	c.live = func(s *group.Snapshot) {
		s.Zones[0].Pods[0].Phase = plan.Starting
		if !s.Hold.Exists {
			s.Hold = c.unwatched
		}
	}
	return c
}

// A hold lets a process evict from its caches only if the process has read the other zones live
// under the hold. This is not the case after a write without a live read, or with one that the
// caches need not have reached.
func TestEvictionNeedsALiveReadUnderAnInheritedHold(t *testing.T) {
	inherited := func(s *group.Snapshot) { s.Hold.Own = false }
	for sentence, tc := range map[string]struct {
		cluster *evictable
		pod     string
		before  func(*testing.T, *evictable)
	}{
		"another process wrote it": {staleAboutZoneB(fixture.Held(plan.EvictionOperation.For("zone-a")), inherited), "zone-a-0", nil},
		"this process recorded a downscale of pods that are down": {staleAboutZoneB(), "zone-a-0", func(t *testing.T, c *evictable) {
			t.Helper()
			says(t, scalable{c}.downscale(t), http.StatusOK, reason.DownscaleAdmitted)
		}},
		"this process recorded that pods are prepared": {staleAboutZoneB(), "zone-a-0", func(t *testing.T, c *evictable) {
			t.Helper()
			preparesPodThatIsDown(c)
			says(t, scalable{c}.downscale(t), http.StatusOK, reason.DownscaleAdmitted)
			if len(c.written) != 2 {
				t.Errorf("%d writes, want the record and the admission", len(c.written))
			}
		}},
		"this process recorded that pods of a cancelled downscale are notified to stay": {staleAboutZoneB(), "zone-a-0", func(t *testing.T, c *evictable) {
			t.Helper()
			preparesPodThatIsDown(c)
			says(t, scalable{c}.downscaleOf(t, givenUp{c.holdStore}), http.StatusTooManyRequests, reason.PreparationFailed)
			if d := c.record.Downscale; d.Stage != group.Undoing {
				t.Errorf("the hold contains %s at the stage %q, want %q", d, d.Stage, group.Undoing)
			}
		}},
		"this process recorded a place in the queue": {staleAboutZoneB(fixture.Held(plan.RolloutOperation.For("zone-a")), inherited), "zone-a-0", func(t *testing.T, c *evictable) {
			t.Helper()
			says(t, c.judge(t, "zone-b-0"), http.StatusTooManyRequests, reason.GroupHeld)
			if len(c.record.Waiting) != 1 {
				t.Errorf("%d wait, want 1", len(c.record.Waiting))
			}
		}},
		"this process gave a Lease its label back": {unlabelledRollout(), "zone-b-0", func(t *testing.T, c *evictable) {
			t.Helper()
			says(t, scalable{c}.downscale(t), http.StatusTooManyRequests, reason.GroupHeld)
			if c.record.Holder != plan.RolloutOperation.For("zone-b") {
				t.Errorf("the hold is %+v", c.record)
			}
		}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := tc.cluster
			if tc.before != nil {
				tc.before(t, c)
			}
			c.groupReads = 0
			says(t, c.judge(t, tc.pod), http.StatusTooManyRequests, reason.OtherZoneUnavailable)
			if c.groupReads != 1 {
				t.Errorf("%d live reads, want 1", c.groupReads)
			}
		})
	}
}
