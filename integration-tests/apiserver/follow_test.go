package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	leaderAnnotation      = "grafana.com/rollout-downscale-leader"
	afterLeaderAnnotation = "grafana.com/rollout-upscale-only-when-leader-ready"
	forceAnnotation       = "grafana.com/rollout-force-replicas"
	apartAnnotation       = "grafana.com/min-time-between-zones-downscale"
)

// setAnnotated sets an annotation of the StatefulSet itself.
func setAnnotated(key, value string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Annotations, key, value) }
}

func follows(leader string) option { return setAnnotated(leaderAnnotation, leader) }

// forced sets the annotation that forces a number of replicas. The empty text removes it.
func forced(text string) option { return setAnnotated(forceAnnotation, text) }

// ungated returns a managed scene without webhooks. Its downscales are judged as well: only
// lockstep may make any.
func ungated(t *testing.T) *scene {
	t.Helper()
	s := managed(t)
	s.rules.guarded = true
	return s
}

// sized waits until zones are available with these numbers of replicas, and the group is free.
func (s *scene) sized(want map[string]int32) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("zones have %v replicas", want), func(now present) error {
		for name, n := range want {
			if got := *now.sets[name].Spec.Replicas; got != n {
				return fmt.Errorf("%s has %d", name, got)
			}
		}
		return nil
	})
	s.settled()
}

// everywhere runs a test in two namespaces concurrently, with and without webhooks.
func everywhere(t *testing.T, try func(*scene)) {
	t.Helper()
	for name, begin := range map[string]func(*testing.T) *scene{"with webhooks": guarded, "without webhooks": ungated} {
		for _, namespace := range []string{"one", "another"} {
			t.Run(name+", "+namespace, func(t *testing.T) {
				t.Parallel()
				try(begin(t))
			})
		}
	}
}

func TestZonesFollowTheirLeaderUpAndDown(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a")), zone("zone-c", 2, follows("zone-b")))
		began := time.Now()
		s.change("zone-a", forced("4"))
		s.sized(map[string]int32{"zone-a": 4, "zone-b": 4, "zone-c": 4})
		s.change("zone-a", forced("1"))
		s.sized(map[string]int32{"zone-a": 1, "zone-b": 1, "zone-c": 1})
		s.neverIdled(began)
		s.awaitEvent("Normal", "LeaderFollowed", "zone-c")
		s.awaitEvent("Normal", "ReplicasForced", "zone-a")
	})
}

func TestAFollowerScalesUpWhileDownscalesAreForbidden(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.create(zone("zone-a", 1, setAnnotated(apartAnnotation, "often")), zone("zone-b", 1, follows("zone-a")), zone("zone-c", 3, follows("zone-c")))
	s.change("zone-a", forced("3"), setAnnotated(downscaledAnnotation, "yesterday"))
	s.sized(map[string]int32{"zone-a": 3, "zone-b": 3})
	s.change("zone-a", forced("1"))
	s.awaitWaiting("InvalidDownscaleTime", "zone-a")
}

func TestAFollowerScalesDownNoSoonerThanTheMinimumTime(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		apart := setAnnotated(apartAnnotation, "20s") // the verifier reads it as well
		s.create(zone("zone-a", 3, apart), zone("zone-b", 3, follows("zone-a"), apart))
		s.change("zone-a", forced("2"))
		s.eventually("zone-a was scaled down", func(now present) error {
			if n := *now.sets["zone-a"].Spec.Replicas; n != 2 {
				return fmt.Errorf("it has %d replicas", n)
			}
			return nil
		})
		s.awaitWaiting("DownscaleTooSoon", "zone-b")
		s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
	})
}

func TestAnInvalidLeaderIsReportedAndBlocksNoOtherZone(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.create(
		zone("zone-a", 2), zone("zone-b", 1, follows("zone-a")), zone("zone-c", 1, follows("zone-x")),
		zone("zone-d", 1, follows("zone-e")), zone("zone-e", 3, follows("zone-d")), zone("zone-f", 1, follows("zone-f")), zone("zone-g", 2, follows("zone-f")),
	)
	s.sized(map[string]int32{"zone-b": 2})
	s.awaitEvent("Warning", "LeaderUnknown", "zone-c")
	for _, name := range []string{"zone-d", "zone-e"} {
		s.awaitEvent("Warning", "LeaderInCycle", name)
		s.awaitWaiting("LeaderInCycle", name)
	}
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2, "zone-c": 1, "zone-d": 1, "zone-e": 3, "zone-f": 1, "zone-g": 1})
	for _, name := range []string{"zone-c", "zone-e", "zone-f"} {
		s.change(name, follows("zone-a"))
	}
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2, "zone-c": 2, "zone-d": 2, "zone-e": 2, "zone-f": 2, "zone-g": 2})
}

func TestForcedReplicasAreVisibleWhileTheyLast(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a")))
	s.change("zone-b", forced("many"))
	s.awaitEvent("Warning", "InvalidForceReplicas", "zone-b")
	s.change("zone-b", forced("3"))
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 3})
	s.awaitEvent("Normal", "ReplicasForced", "zone-b")
	s.awaitRemark("ReplicasForced", "zone-b", true)
	s.change("zone-b", forced(""))
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
	s.awaitRemark("ReplicasForced", "zone-b", false)
}

// awaitRemark waits until the metrics contain, or do not contain, a remark about a zone.
func (s *scene) awaitRemark(reason, zone string, stands bool) {
	s.t.Helper()
	series := fmt.Sprintf(`lockstep_group_zone_remarks{group="store",namespace=%q,reason=%q,zone=%q} 1`, s.name, reason, zone)
	s.eventually(fmt.Sprintf("metrics with %s: %t", series, stands), func(present) error {
		if _, metrics := s.operator.get("/metrics"); strings.Contains(metrics, series) != stands {
			return errors.New("not so")
		}
		return nil
	})
}

func TestACarefulFollowerScalesUpOnceItsLeaderIsAvailable(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.begin(zone("zone-a", 1, gated()), zone("zone-b", 1, follows("zone-a"), setAnnotated(afterLeaderAnnotation, "true")))
	s.isBroken("zone-a-0")
	s.gate("zone-a-0", corev1.ConditionTrue)
	s.settled()
	s.change("zone-a", forced("2"))
	s.awaitWaiting("LeaderNotReady", "zone-b")
	s.stays("zone-b waits for zone-a-1", aWhile, func(now present) error {
		if n := *now.sets["zone-b"].Spec.Replicas; n != 1 {
			return fmt.Errorf("it has %d replicas", n)
		}
		return nil
	})
	s.isBroken("zone-a-1")
	s.gate("zone-a-1", corev1.ConditionTrue)
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
}

func TestAFollowerThatMustNotScaleDownBlocksNoRollout(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	barred := func(s *appsv1.StatefulSet) { set(&s.Labels, "grafana.com/no-downscale", "true") }
	s.create(zone("zone-a", 2), zone("zone-b", 3, barred))
	s.change("zone-b", follows("zone-a"))
	s.awaitWaiting("DownscaleNotAllowed", "zone-b")
	s.changeAll(version(2))
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 3})
	s.change("zone-b", func(s *appsv1.StatefulSet) { set(&s.Labels, "grafana.com/no-downscale", "") })
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
}

// The leader determines the replicas of a follower. lockstep reverts the edit of a person,
// once.
func TestAManualScaleOfAFollowerIsOverruledOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a")))
		s.isOverruledOnce("zone-b")
	})
}

// isOverruledOnce gives a zone two more replicas, and fails the test unless this is set back and
// the zone is not changed otherwise.
func (s *scene) isOverruledOnce(zone string) {
	s.t.Helper()
	before := s.witness.now().sets[zone]
	if err := s.scaleBy(scaled, zone, 2); err != nil {
		s.t.Fatal(err)
	}
	twice := func(now present) error {
		if edits := now.sets[zone].Generation - before.Generation; edits != 2 {
			return fmt.Errorf("its spec has changed %d times", edits)
		}
		return nil
	}
	s.eventually(zone+" is set back", twice)
	s.sized(map[string]int32{zone: *before.Spec.Replicas})
	s.stays(zone+" is not changed", aWhile, twice)
}

func TestARolloutAndFollowersBothFinish(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.create(zone("zone-a", 3), zone("zone-b", 3, follows("zone-a")), zone("zone-c", 3, follows("zone-a")))
		s.changeAll(version(2), readyAfter(short))
		s.awaitDeletions(2)
		s.change("zone-a", forced("2"))
		s.sized(map[string]int32{"zone-a": 2, "zone-b": 2, "zone-c": 2})
		s.change("zone-a", forced("4"), version(3))
		s.sized(map[string]int32{"zone-a": 4, "zone-b": 4, "zone-c": 4})
	})
}

func TestPodsOfFollowersArePreparedOnceBeforeTheirRemoval(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		s.answersLike(nil)
		s.create(zone("zone-a", 4, prepares), zone("zone-b", 4, prepares, follows("zone-a")))
		s.change("zone-a", forced("2"))
		s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
		for _, pod := range []string{"zone-a-2", "zone-a-3", "zone-b-2", "zone-b-3"} {
			if received := s.callsTo(pod); received != "POST 200" && !(strings.HasPrefix(received, "POST 200, ") && strings.HasSuffix(received, "POST 200")) {
				s.t.Errorf("%s received %q", pod, received)
			}
		}
		for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1"} {
			if received := s.callsTo(pod); received != "" {
				s.t.Errorf("%s stays and received %q", pod, received)
			}
		}
	})
}

func TestAFollowerWhosePodDeclinesLetsOtherZonesContinue(t *testing.T) {
	t.Parallel()
	s := ungated(t)
	s.patience = longPatience
	agrees := s.declines("zone-b-1")
	s.create(zone("zone-a", 3, forced("3")), zone("zone-b", 3, prepares, follows("zone-a")))
	s.change("zone-b", forced("1"))
	s.awaitEvent("Warning", "PreparationFailed", "zone-b")
	s.noPreparedPodStays("zone-b-1", "zone-b-2")
	s.change("zone-a", version(2))
	s.eventually("zone-a rolls although zone-b is due for a downscale", func(now present) error { return finished(now, "zone-a") })
	agrees()
	s.sized(map[string]int32{"zone-a": 3, "zone-b": 1})
	s.removedPrepared("zone-b-1")
	s.removedPrepared("zone-b-2")
}

func TestZonesScaleUpWhilePodsOfAnotherAreCalled(t *testing.T) {
	t.Parallel()
	everywhere(t, func(s *scene) {
		requested, goOn := make(chan struct{}, 100), make(chan struct{}) // a pod that is too slow may be called again
		s.answersLike(func(method, _ string) int {
			if method == http.MethodPost {
				requested <- struct{}{}
				<-goOn
			}
			return http.StatusOK
		})
		s.create(zone("zone-a", 1), zone("zone-b", 2, prepares))
		s.change("zone-b", forced("1"))
		<-requested
		s.change("zone-a", forced("3"))
		s.eventually("zone-a is scaled up", func(now present) error {
			if n := *now.sets["zone-a"].Spec.Replicas; n != 3 {
				return fmt.Errorf("it has %d replicas", n)
			}
			return nil
		})
		if n := *s.witness.now().sets["zone-b"].Spec.Replicas; n != 2 {
			s.t.Errorf("zone-b has %d replicas before its pod has answered", n)
		}
		close(goOn)
		s.sized(map[string]int32{"zone-a": 3, "zone-b": 1})
	})
}
