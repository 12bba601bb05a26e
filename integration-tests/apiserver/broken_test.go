package apiserver_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// broken lists causes for which a pod of a new revision never becomes Ready.
var broken = map[string]struct {
	plays string
	event string // the Warning that the operator records together with the wait; empty if the pod might only be slow
}{
	"a crash loop":                        {localcluster.PlayCrashLoop, "PodFailing"},
	"an image that cannot be pulled":      {localcluster.PlayImagePullFailure, "PodFailing"},
	"a sidecar in a crash loop":           {localcluster.PlaySidecarCrashLoop, "PodFailing"},
	"a readiness probe that never passes": {localcluster.PlayNeverReady, ""},
}

func TestABrokenRevisionStopsAtOnePodAndAGoodOneHeals(t *testing.T) {
	t.Parallel()
	for name, bad := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.create(zone("zone-a", 2, sidecar()), zone("zone-b", 2, sidecar()))
			s.changeAll(version(2), plays(bad.plays))
			s.awaitDeletion("zone-a-0")
			s.isBroken("zone-a-0")
			s.nothingIsDeleted("while the first pod of the new revision is not Ready")
			s.wantDeletions("zone-a-0")
			if bad.event != "" {
				s.awaitEvent("Warning", bad.event, "zone-a")
			}
			s.changeBackwards(version(3), plays(""))
			s.settledSoon()
			s.wantDeletions("zone-a-0", "zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
		})
	}
}

func TestTwoBrokenZonesHealWithoutHelp(t *testing.T) {
	t.Parallel()
	for name, bad := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.rules.unordered = true // a pod that is down goes first
			s.create(zone("zone-a", 2, sidecar()), zone("zone-b", 2, sidecar()), zone("zone-c", 2, sidecar()))
			s.changeAll(version(2), plays(bad.plays))
			s.awaitDeletion("zone-a-0")
			s.deletePod("zone-b-1")
			s.isBroken("zone-a-0")
			s.isBroken("zone-b-1")
			s.nothingIsDeleted("while two zones are broken")
			s.changeBackwards(version(3), plays(""))
			s.settledSoon()
			got := slices.Sorted(slices.Values(s.deletions()))
			want := []string{"zone-a-0", "zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1", "zone-c-0", "zone-c-1"}
			if !slices.Equal(got, want) {
				t.Errorf("operators deleted %q, want %q\n%s", got, want, s.describe())
			}
		})
	}
}

// isBroken waits until a pod runs the newest template and is not Ready.
func (s *scene) isBroken(pod string) {
	s.t.Helper()
	s.eventually(pod+" is broken", func(now present) error {
		p := now.pods[pod]
		switch {
		case p == nil || p.DeletionTimestamp != nil || p.Status.PodIP == "":
			return errors.New("it has not been created again")
		case isReady(p):
			return errors.New("it is Ready")
		}
		return nil
	})
}

func TestABrokenRevisionOfAnEntireZoneIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3, maxUnavailable("3")), zone("zone-b", 2))
	s.change("zone-a", version(2), plays(localcluster.PlayCrashLoop))
	for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-a-2"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
	}
	s.change("zone-a", version(3), plays(""), maxUnavailable("1"))
	s.settledSoon()
	got := slices.Sorted(slices.Values(s.deletions()))
	if want := []string{"zone-a-0", "zone-a-0", "zone-a-1", "zone-a-1", "zone-a-2", "zone-a-2"}; !slices.Equal(got, want) {
		t.Errorf("operators deleted %q, want %q", got, want)
	}
}

func TestARevertHealsABrokenRevision(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), plays(localcluster.PlayCrashLoop))
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.changeBackwards(version(1), plays(""))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-0")
}

func TestAPausedZoneThatIsUnavailableBlocksTheOthers(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.change("zone-a", paused(true), version(2), gated())
	s.deletePod("zone-a-1") // its replacement has the newest template, and its gate is closed
	s.isBroken("zone-a-1")
	s.change("zone-b", version(2))
	s.nothingIsDeleted("while the paused zone is unavailable")
	s.wantDeletions()
	s.gate("zone-a-1", "True")
	s.finishes("zone-b")
	s.nothingIsDeleted("of the paused zone")
	s.wantDeletions("zone-b-0", "zone-b-1")
	s.awaitEvent("Normal", "Paused", "zone-a")
}

func TestAPausedZoneIsSkippedAndContinuesWhenResumed(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unordered = true // zone-a comes last
	s.create(zone("zone-a", 2), zone("zone-b", 2), zone("zone-c", 2))
	s.change("zone-a", paused(true))
	s.changeAll(version(2))
	s.finishes("zone-b")
	s.finishes("zone-c")
	s.nothingIsDeleted("of the paused zone")
	s.wantDeletions("zone-b-0", "zone-b-1", "zone-c-0", "zone-c-1")
	s.change("zone-a", paused(false))
	s.settledSoon()
	s.wantDeletions("zone-b-0", "zone-b-1", "zone-c-0", "zone-c-1", "zone-a-0", "zone-a-1")
}

func TestAZonePausedMidRolloutStopsAndGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.change("zone-a", version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.change("zone-a", paused(true))
	s.awaitWaiting("Paused", "zone-a")
	s.opensGates("zone-a-0")
	s.comesUp("zone-a-0")
	s.eventually("the Lease is given back", free)
	s.nothingIsDeleted("of the paused zone")
	s.wantDeletions("zone-a-0")
	s.change("zone-b", version(2))
	s.finishes("zone-b")
	s.rules.unordered = true
	s.change("zone-a", paused(false))
	s.opensGates("zone-a-1", "zone-a-2")
	s.settledSoon()
	s.wantEachOnce()
}

func TestAZoneThatIsNotOnDeleteStopsTheGroupVisibly(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2, strategy("RollingUpdate")))
	s.change("zone-a", version(2))
	s.nothingIsDeleted("while a zone has another update strategy")
	s.wantDeletions()
	event := s.awaitEvent("Warning", "WrongUpdateStrategy", "zone-a")
	if _, metrics := s.operator.get("/metrics"); !hasSeries(metrics, "lockstep_group_zone_waiting", s.name, `zone="zone-a"`, `reason="WrongUpdateStrategy"`) {
		t.Errorf("the wait is not among the metrics; the Event is %q", event.Note)
	}
	s.change("zone-b", strategy("OnDelete"))
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1")
}

func TestAStrategyChangedMidRolloutStopsTheGroup(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.change("zone-a", version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.change("zone-b", strategy("RollingUpdate"))
	s.awaitWaiting("WrongUpdateStrategy", "zone-a")
	s.opensGates("zone-a-0")
	s.comesUp("zone-a-0")
	s.eventually("the Lease is given back", free)
	s.nothingIsDeleted("while a zone has another update strategy")
	s.wantDeletions("zone-a-0")
	s.change("zone-b", strategy("OnDelete"))
	s.opensGates("zone-a-1", "zone-a-2")
	s.settledSoon()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
}

func TestAnEventIsSentOncePerTransition(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), plays(localcluster.PlayCrashLoop))
	s.awaitEvent("Warning", "PodFailing", "zone-a")
	s.nothingIsDeleted("while the first pod fails")
	list, err := s.world.admin.EventsV1().Events(s.name).List(t.Context(), listOptions)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, e := range list.Items {
		if e.ReportingController == "lockstep" {
			times[e.Reason+" on "+e.Regarding.Name]++
			if e.Series != nil {
				times[e.Reason+" on "+e.Regarding.Name] += int(e.Series.Count)
			}
		}
	}
	for what, n := range times {
		if n > 1 {
			t.Errorf("reported %d times: %s", n, what)
		}
	}
	if len(times) == 0 {
		t.Errorf("no Event of lockstep among %d", len(list.Items))
	}
}
