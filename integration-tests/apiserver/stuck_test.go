package apiserver_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// plight is a way for a group to be stuck, and what is then to be named.
type plight struct {
	bring  func(*scene)
	zone   string // that waits
	pod    string // that stands in the way; empty: none
	remark bool   // nothing waits: a person should know
}

const never = time.Hour

// plights by the reason that everything has to name. In each of them nothing moves
// until somebody helps.
var plights = map[reason.Code]plight{
	reason.PodMissing: {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, goneAfter(short)), zone("zone-b", 2))
		s.changeAll(version(2))
		s.awaitDeletion("zone-a-0")
		s.forbidPods()
	}},
	reason.PodStarting: {zone: "zone-a", pod: "zone-a-0", bring: stuckBy(plays(localcluster.PlayNeverReady))},
	reason.PodFailing:  {zone: "zone-a", pod: "zone-a-0", bring: stuckBy(plays(localcluster.PlayCrashLoop))},
	reason.PodLeaving: {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, goneAfter(never)), zone("zone-b", 2))
		s.changeAll(version(2))
	}},
	reason.PodNotYetStable: {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.change("zone-a", minReady(3600), version(2))
	}},
	reason.OtherZoneNotWhole: {zone: "zone-a", pod: "zone-b-1", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.change("zone-b", version(2), plays(localcluster.PlayNeverReady), paused(true))
		s.deletePod("zone-b-1")
		s.isBroken("zone-b-1")
		s.change("zone-a", version(2))
	}},
	reason.NotItsTurn: {zone: "zone-b", bring: stuckBy(plays(localcluster.PlayNeverReady))},
	reason.GroupHeld: {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.heldByHand(never)
		s.changeAll(version(2))
	}},
	reason.SurplusPods: {zone: "zone-b", pod: "zone-b-1", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, goneAfter(never)))
		s.change("zone-b", replicas(1))
	}},
	reason.DownscaleTooSoon: {zone: "zone-b", bring: func(s *scene) {
		apart := noted(apartAnnotation, "2h")
		s.create(zone("zone-a", 2, apart), zone("zone-b", 2, follows("zone-a"), apart))
		s.change("zone-a", forced("1"))
	}},
	reason.LeaderNotReady: {zone: "zone-b", bring: func(s *scene) {
		s.create(zone("zone-a", 1), zone("zone-b", 1, follows("zone-a"), noted(afterLeaderAnnotation, "true")))
		s.change("zone-a", replicas(2), plays(localcluster.PlayNeverReady))
	}},
	reason.ReferenceMissing:     {zone: "zone-a", bring: having(mirrors("web"))},
	reason.ReferenceKindUnknown: {zone: "zone-a", bring: having(mirrorsKind("Nothing", "example.com/v1", "web"))},
	reason.InvalidReference:     {zone: "zone-a", bring: having(noted("grafana.com/rollout-mirror-replicas-from-resource-name", "web"))},
	reason.PodNotAgreed: {zone: "zone-a", pod: "zone-a-1", bring: func(s *scene) {
		s.declines("zone-a-1")
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("1s")), zone("zone-b", 1))
		s.asks("web", 1)
	}},
	reason.DownscaleDelayed: {zone: "zone-a", pod: "zone-a-1", bring: func(s *scene) {
		s.answersLike(nil)
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("1h")), zone("zone-b", 1))
		s.asks("web", 1)
	}},
	reason.PreparationFailed: {zone: "zone-b", bring: func(s *scene) {
		s.declines("zone-b-1")
		s.create(zone("zone-a", 2), zone("zone-b", 2, prepares, follows("zone-a")))
		s.change("zone-a", forced("1"))
	}},

	reason.Paused: {zone: "zone-a", bring: stuckBy(paused(true))},
	reason.WrongUpdateStrategy: {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, strategy(appsv1.RollingUpdateStatefulSetStrategyType)))
		s.change("zone-a", version(2))
	}},
	reason.StaleHold: {zone: "zone-b", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, goneAfter(never)), zone("zone-b", 2))
		s.changeAll(version(2))
		s.awaitDeletion("zone-a-0")
		s.change("zone-a", paused(true))
		s.editLease(func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = new("manual/maintenance"), new(int32(1))
			l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Minute)}
		})
	}},
	reason.HoldUnreadable: {zone: "zone-a", bring: func(s *scene) {
		stuckBy(plays(localcluster.PlayNeverReady))(s)
		s.awaitDeletion("zone-a-0")
		s.editLease(func(l *coordinationv1.Lease) { l.Annotations[intentsAnnotation] = "{" })
	}},
	reason.InvalidDownscaleTime: {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, noted(apartAnnotation, "often")))
		s.change("zone-a", forced("1"))
	}},
	reason.InvalidPrepareCall: {zone: "zone-b", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a"), labelled("grafana.com/prepare-downscale", "true")))
		s.change("zone-a", forced("1"))
	}},
	reason.DownscaleBarred: {zone: "zone-b", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a"), labelled("grafana.com/no-downscale", "true")))
		s.change("zone-a", forced("1"))
	}},
	reason.LeaderUnknown: {zone: "zone-a", bring: having(follows("zone-x"))},
	reason.LeaderInCycle: {zone: "zone-a", bring: having(follows("zone-a"))},
	reason.InvalidDelay: {zone: "zone-a", bring: func(s *scene) {
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("often")), zone("zone-b", 2))
	}},

	reason.InvalidMaxUnavailable: {zone: "zone-a", remark: true, bring: having(maxUnavailable("0%"))},
	reason.ReplicasForced:        {zone: "zone-a", remark: true, bring: having(forced("1"))},
	reason.InvalidForceReplicas:  {zone: "zone-a", remark: true, bring: having(forced("many"))},
}

// notPlights are the other reasons for which something waits, and why they are not
// driven here.
var notPlights = map[string][]reason.Code{
	"it passes before anybody could look": {reason.PodAboutToLeave, reason.OthersCameFirst, reason.PreparationUndone, reason.ReferenceUnseen},
	"only a webhook says so, to whoever asked": {
		reason.ObjectMoved, reason.ParentUnknown, reason.CacheEmpty, reason.PodOnHostNetwork, reason.ObjectUnreadable, reason.ReplicasUnknown,
		reason.EvictionUnderway, reason.PartitionNotWhole, reason.PartitionTooFresh, reason.EvictionsBarred, reason.SeveralBudgets,
		reason.PartitionUnknown, reason.EvictionUnreadable,
	},
	"a condition of the budget says so": {reason.BudgetInvalid, reason.NothingCovered, reason.SeveralGroups},
	"it takes an operator, an API server or a controller of its own, which TestWhatKeepsARequestFromItsEndIsTold, TestAMissingPermissionIsNamed and others have": {
		reason.CacheBehind, reason.RequestFailing, reason.RequestForbidden, reason.StatusBehind, reason.ReferenceForbidden, reason.ReferenceUnreadable,
	},
	"TestTheSmallestZoneIsWrittenBackOfAllGroups and its neighbours have it":         {reason.ReportContested, reason.ReportFailed, reason.PodNotTold},
	"TestAGroupThatIsLargerThanWhatCanBeNoted has it, with more than a hundred pods": {reason.TooManyIntents},
	"TestAGroupWithoutANameIsManagedAndSaidToBe has it":                              {reason.EmptyGroupName},
	"it stands in the way of other zones, which say OtherZoneNotWhole":               {reason.ZoneDeleting, reason.ZoneShrinking},
	"the API server refuses such an object":                                          {reason.ReplicasOutOfRange},
	"it must never happen":                                                           {reason.InvariantViolated},
}

func TestEveryReasonToWaitIsDrivenOrSaidNotToBe(t *testing.T) {
	t.Parallel()
	known := map[reason.Code]bool{}
	for code := range plights {
		known[code] = true
	}
	for why, codes := range notPlights {
		for _, code := range codes {
			if known[code] {
				t.Errorf("%s is known already, and said not to be: %s", code, why)
			}
			known[code] = true
		}
	}
	for _, entry := range reason.All() {
		if entry.Kind != reason.Deed && !known[entry.Code] {
			t.Errorf("%s is neither driven nor said not to be", entry.Code)
		}
	}
}

func TestWhateverAGroupIsStuckByEverythingSaysTheSame(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	for _, code := range someOf(random, 6, slices.Sorted(maps.Keys(plights))) {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			s, p := managed(t), plights[code]
			p.bring(s)
			if p.remark {
				s.awaitRemark(string(code), p.zone, true)
			} else {
				s.awaitWaiting(string(code), p.zone)
				s.logsWait(code, p)
			}
			s.tellsOf(code, p)
		})
	}
}

// logsWait waits until a line of the log names code, zone and pod.
func (s *scene) logsWait(code reason.Code, p plight) {
	s.t.Helper()
	want := strings.TrimSpace(fmt.Sprintf("wait %s because %s %s", p.zone, code, p.pod))
	s.eventually("the log says: "+want, func(present) error {
		for line := range strings.Lines(s.operator.Logs()) {
			if strings.Contains(line, `"`+s.name+`"`) && strings.Contains(line, want) {
				return nil
			}
		}
		return errors.New("no line says so")
	})
}

// tellsOf waits for an Event, which names the pod as well. A wait that usually passes
// is told of after a minute.
func (s *scene) tellsOf(code reason.Code, p plight) {
	s.t.Helper()
	s.patience = max(s.patience, 90*time.Second)
	s.eventually(fmt.Sprintf("an Event %s on %s names %q", code, p.zone, p.pod), func(present) error {
		list, err := s.world.admin.EventsV1().Events(s.name).List(s.t.Context(), listOptions)
		if err != nil {
			return err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Reason == string(code) && e.Regarding.Name == p.zone && strings.Contains(e.Note, p.pod) {
				return nil
			}
			seen = append(seen, fmt.Sprintf("%s on %s: %s", e.Reason, e.Regarding.Name, e.Note))
		}
		return fmt.Errorf("there is %q", seen)
	})
}

// stuckBy lets a group of two zones begin a rollout that does not get far.
func stuckBy(o option) func(*scene) {
	return func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.changeAll(version(2), o)
	}
}

// having gives one of two zones something that is wrong.
func having(o option) func(*scene) {
	return func(s *scene) { s.create(zone("zone-a", 1, o), zone("zone-b", 1)) }
}

func labelled(key, value string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Labels, key, value) }
}

// heldByHand lets a person hold the group for a while.
func (s *scene) heldByHand(d time.Duration) {
	s.t.Helper()
	s.changeAll(version(9))
	s.settled() // so that there is a Lease
	s.editLease(func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity, l.Spec.RenewTime = new("manual/maintenance"), &metav1.MicroTime{Time: time.Now()}
		l.Spec.LeaseDurationSeconds = new(int32(d / time.Second))
	})
}
