package group_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// Each eviction that Evict allows is also allowed by rules that count independently, one
// eviction after the other until no more are allowed. A plan on the resulting hold is safe.
func TestEvictionsAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { mustEvictSafely(t, draw.Legal().Draw(t, "snapshot")) })
}

func TestEvictionsAreSafeInOddSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { mustEvictSafely(t, draw.Odd().Draw(t, "snapshot")) })
}

func mustEvictSafely(t *rapid.T, s group.Snapshot) {
	show(t, s)
	for _, z := range s.Zones {
		for _, pod := range slices.Concat(z.Pods, z.Orphans) {
			ask := plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}
			permit, decision := mayGo(t, s, ask)
			if decision.Need == hold.ReadLive {
				live := s
				live.Live = true
				permit, decision = mayGo(t, live, ask)
			}
			if permit.Allowed() && decision.Need == hold.Write {
				s.Hold = group.HoldOf(decision.Record)
			}
		}
	}
	mustBeSafe(t, s)
}

func mayGo(t *rapid.T, s group.Snapshot, ask plan.EvictionRequest) (plan.EvictionAnswer, hold.Decision) {
	permit, decision := fixture.Granting(s, ask)
	if v := invariant.CheckEviction(s, ask, permit, decision); v != nil {
		t.Fatalf("%v\n%s", v, fixture.PrintSnapshot(s))
	}
	return permit, decision
}

func TestEvictionsDoNotChangeTheSnapshotAndDependOnNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		show(t, s)
		_, pod := drawPod(t, s)
		if pod == nil {
			return
		}
		ask := plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}
		before := fixture.Clone(s)
		want, _ := fixture.Granting(s, ask)
		if diff := cmp.Diff(before, s, sameRegex); diff != "" {
			t.Fatalf("the snapshot changed (-before +after)\n%s", diff)
		}
		s.Hold.Intents = rapid.Permutation(s.Hold.Intents).Draw(t, "intents")
		if got := group.Evict(s, ask); cmp.Diff(want, got) != "" && !doubled(s.Hold.Intents) {
			t.Fatalf("shuffled intents give another answer\n%s", cmp.Diff(want, got))
		}
	})
}

// doubled reports whether a pod is recorded twice. Only one of these records counts.
func doubled(intents []plan.Intent) bool {
	seen := map[string]bool{}
	for _, i := range intents {
		if seen[i.Pod] {
			return true
		}
		seen[i.Pod] = true
	}
	return false
}

func TestAPodThatIsNotReadyIsEvictedWhateverOtherPodsAreUnavailable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		s.Budgets, s.Unread = nil, false
		show(t, s)
		_, pod := drawPod(t, s)
		if pod == nil || pod.Up() {
			return
		}
		p := group.Evict(s, plan.EvictionRequest{Pod: pod.Name, UID: pod.UID})
		bound := p.Version == pod.Version || pod.Phase == plan.Terminating
		if !p.Allowed() || p.NeedsRecord() || !bound {
			t.Fatalf("%s is not ready, and the answer is %+v", pod.Name, p)
		}
	})
}

// Rollouts and downscales make progress during evictions that are carried out or not. The group
// reaches its goal once no more pods are evicted.
func TestProgressBesideEvictions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		s.Budgets = usable(s.Budgets)
		w := fixture.NewWorld(s)
		show(t, w.Snapshot())
		w.Zones(mend)
		granted := map[string]bool{}
		for range rapid.IntRange(0, 25).Draw(t, "seconds with evictions") {
			if w.Round(); len(w.Snapshot().Zones) == 0 {
				break
			}
			if _, pod := drawPod(t, w.Snapshot()); pod != nil && rapid.Bool().Draw(t, "is evicted") {
				permit := w.Evict(pod.Name)
				granted[pod.UID] = granted[pod.UID] || permit.Allowed()
			}
			if _, pod := drawPod(t, w.Snapshot()); pod != nil && granted[pod.UID] && rapid.Bool().Draw(t, "is evicted") {
				w.Leave(pod.Name)
			}
			w.Tick()
		}
		mustReachGoal(t, w)
	})
}

// A zone may ask for more pods than can be checked one by one.
func TestAnEvictionIsJudgedBesideAZoneOfTooManyReplicas(t *testing.T) {
	s := fixture.MustParse(`
zpdb store limit=2 regex="zone-[ab]-([0-9]+)"
zone-a rev=1
  zone-a-0 ready@1
zone-b rev=1 replicas=2147483647
  zone-b-0 ready@1
`)
	s.Live = true
	ask := plan.EvictionRequest{Pod: "zone-a-0", UID: s.Zones[0].Pods[0].UID}
	permit, decision := fixture.Granting(s, ask)
	if !permit.Allowed() || decision.Need != hold.Write {
		t.Fatalf("%s, %v", permit.Because, decision.Need)
	}
	if v := invariant.CheckEviction(s, ask, permit, decision); v != nil {
		t.Error(v)
	}
}
