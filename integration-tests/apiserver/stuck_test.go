package apiserver_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// stuckCase is a way for a group to be stuck, and the wait that outputs must then contain.
type stuckCase struct {
	bring  func(*scene)
	zone   string       // the zone that waits
	pod    string       // the pod that blocks it; empty: none
	remark bool         // no zone waits, but a person should know
	from   reportedWait // the wait that causes this one and that outputs list first; empty: this one has no other cause
}

const never = time.Hour

// stuckCases lists stuck cases by the reason that every output must contain. None of them ends without
// help.
var stuckCases = map[string]stuckCase{
	"PodMissing": {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, removedAfter(never)), zone("zone-b", 2))
		s.changeAll(version(2))
		s.awaitDeletion("zone-a-0")
		s.forbidPods()
		s.endsLingering("zone-a-0")
	}},
	"PodStarting": {zone: "zone-a", pod: "zone-a-0", bring: stuckBy(plays(localcluster.PlayNeverReady))},
	"PodFailing":  {zone: "zone-a", pod: "zone-a-0", bring: stuckBy(plays(localcluster.PlayCrashLoop))},
	"PodTerminating": {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, removedAfter(never)), zone("zone-b", 2))
		s.changeAll(version(2))
	}},
	"PodNotYetAvailable": {zone: "zone-a", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.change("zone-a", minReady(3600), version(2))
	}},
	"OtherZoneUnavailable": {zone: "zone-a", pod: "zone-b-1", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.change("zone-b", version(2), plays(localcluster.PlayNeverReady), paused(true))
		s.deletePod("zone-b-1")
		s.isBroken("zone-b-1")
		s.change("zone-a", version(2))
	}},
	"NotItsTurn": {zone: "zone-b", from: reportedWait{"zone-a", "PodStarting", "zone-a-0"}, bring: stuckBy(plays(localcluster.PlayNeverReady))},
	"GroupHeld": {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.heldByHand(never)
		s.changeAll(version(2))
	}},
	"SurplusPods": {zone: "zone-b", pod: "zone-b-1", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, removedAfter(never)))
		s.change("zone-b", replicas(1))
	}},
	"DownscaleTooSoon": {zone: "zone-b", bring: func(s *scene) {
		apart := setAnnotated(apartAnnotation, "2h")
		s.create(zone("zone-a", 2, apart), zone("zone-b", 2, follows("zone-a"), apart))
		s.change("zone-a", forced("1"))
	}},
	"LeaderNotReady": {zone: "zone-b", pod: "zone-a-1", from: reportedWait{"zone-a", "PodStarting", "zone-a-1"}, bring: func(s *scene) {
		s.create(zone("zone-a", 1), zone("zone-b", 1, follows("zone-a"), setAnnotated(afterLeaderAnnotation, "true")))
		s.change("zone-a", replicas(2), plays(localcluster.PlayNeverReady))
	}},
	"ReferenceMissing":     {zone: "zone-a", bring: having(mirrors("web"))},
	"ReferenceKindUnknown": {zone: "zone-a", bring: having(mirrorsKind("Nothing", "example.com/v1", "web"))},
	"InvalidReference":     {zone: "zone-a", bring: having(setAnnotated("grafana.com/rollout-mirror-replicas-from-resource-name", "web"))},
	"PodNotAcknowledged": {zone: "zone-a", pod: "zone-a-1", bring: func(s *scene) {
		s.declines("zone-a-1")
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("1s")), zone("zone-b", 1))
		s.setsReplicas("web", 1)
	}},
	"DownscaleDelayed": {zone: "zone-a", pod: "zone-a-1", bring: func(s *scene) {
		s.answersLike(nil)
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("1h")), zone("zone-b", 1))
		s.setsReplicas("web", 1)
	}},
	"PreparationFailed": {zone: "zone-b", bring: func(s *scene) {
		s.declines("zone-b-1")
		s.create(zone("zone-a", 2), zone("zone-b", 2, prepares, follows("zone-a")))
		s.change("zone-a", forced("1"))
	}},

	"Paused": {zone: "zone-a", bring: stuckBy(paused(true))},
	"WrongUpdateStrategy": {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, strategy(appsv1.RollingUpdateStatefulSetStrategyType)))
		s.change("zone-a", version(2))
	}},
	"StaleHold": {zone: "zone-b", pod: "zone-a-0", bring: func(s *scene) {
		s.create(zone("zone-a", 2, removedAfter(never)), zone("zone-b", 2))
		s.changeAll(version(2))
		s.awaitDeletion("zone-a-0")
		s.change("zone-a", paused(true))
		s.editLease(func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = new("manual/maintenance"), new(int32(1))
			l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Minute)}
		})
	}},
	"HoldUnreadable": {zone: "zone-a", bring: func(s *scene) {
		stuckBy(plays(localcluster.PlayNeverReady))(s)
		s.awaitDeletion("zone-a-0")
		s.editLease(func(l *coordinationv1.Lease) { l.Annotations[intentsAnnotation] = "{" })
	}},
	"InvalidDownscaleTime": {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, setAnnotated(apartAnnotation, "often")))
		s.change("zone-a", forced("1"))
	}},
	"InvalidPrepareCall": {zone: "zone-b", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a"), labelled("grafana.com/prepare-downscale", "true")))
		s.change("zone-a", forced("1"))
	}},
	"DownscaleNotAllowed": {zone: "zone-b", bring: func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2, follows("zone-a"), labelled("grafana.com/no-downscale", "true")))
		s.change("zone-a", forced("1"))
	}},
	"LeaderUnknown": {zone: "zone-a", bring: having(follows("zone-x"))},
	"LeaderInCycle": {zone: "zone-a", bring: func(s *scene) {
		s.create(zone("zone-a", 1, follows("zone-b")), zone("zone-b", 1, follows("zone-a")))
	}},
	"InvalidDelay": {zone: "zone-a", bring: func(s *scene) {
		s.template("web", 2)
		s.create(zone("zone-a", 2, mirrors("web"), delays("often")), zone("zone-b", 2))
	}},

	"InvalidMaxUnavailable": {zone: "zone-a", remark: true, bring: having(maxUnavailable("0%"))},
	"ReplicasForced":        {zone: "zone-a", remark: true, bring: having(forced("1"))},
	"InvalidPausedUntil": {zone: "zone-a", remark: true, bring: having(func(s *appsv1.StatefulSet) {
		paused(true)(s)
		set(&s.Annotations, "lockstep.dev/paused-until", "tomorrow")
	})},
	"PauseExpired": {zone: "zone-a", remark: true, bring: having(func(s *appsv1.StatefulSet) {
		paused(true)(s)
		set(&s.Annotations, "lockstep.dev/paused-until", "2026-01-05T12:00:00Z")
	})},
	"InvalidForceReplicas": {zone: "zone-a", remark: true, bring: having(forced("many"))},
	"InvalidGroup":         {zone: "zone-a", remark: true, bring: having(named("a b"))},
	"NoEffect":             {zone: "zone-a", remark: true, bring: having(labelled("grafana.com/no-downscale", "yes"))},
}

// notPlights lists the other reasons for a wait, and why these tests do not cover them.
var notPlights = map[string][]string{
	"it passes before it can be observed": {"PodDisruptionPending", "QueuedBehindOtherZone", "PreparationCancelled", "ReferenceNotRead"},
	"only the answer of a webhook shows it": {
		"ObjectChanged", "ParentUnknown", "CacheNotSynced", "PodOnHostNetwork", "ObjectUnreadable", "ReplicasUnknown",
		"EvictionInProgress", "PartitionUnavailable", "PartitionDelayPending", "EvictionsNotAllowed", "SeveralBudgets",
		"PartitionUnknown", "EvictionUnreadable", "OrdinalsChanged", "GroupChanged",
	},
	"a condition of the budget shows it": {"BudgetInvalid", "NoPodsCovered", "SeveralGroups"},
	"it takes an operator, an API server or a controller of its own, which TestLastingFailuresAreReported, TestAMissingPermissionIsNamed and others have": {
		"CacheStale", "RequestFailing", "RequestForbidden", "StatusBehind", "ReferenceForbidden", "ReferenceUnreadable",
	},
	"TestARestoreOfEtcdIsNoticedReportedAndResolved has it":                                       {"ClusterRestored"},
	"TestPodsAreNotReplacedBeforeTheirStatefulSetHasAdoptedThem has it":                           {"PodNotAdopted"},
	"TestAZoneOrphanedDuringARolloutBlocksTheOthersUntilItIsAvailable and its neighbours have it": {"ZoneLeftGroup"},
	"TestTheSmallestZoneIsWrittenBackOfAllGroups and its neighbours have it":                      {"ReportContested", "ReportFailed", "PodNotNotified"},
	"TestAnotherWriterOfReplicasIsNamedAndOverwrittenMoreSlowly has it":                           {"ReplicasContested"},
	"TestAGroupWithMoreZonesThanTheHoldCanRecord has it, with more than a hundred pods":           {"TooManyIntents"},
	"TestAGroupWithoutANameIsManagedAndReported has it":                                           {"EmptyGroupName"},
	"it blocks other zones, which show OtherZoneUnavailable":                                      {"ZoneDeleting", "ZoneShrinking"},
	"the API server refuses such an object":                                                       {"ReplicasOutOfRange"},
	"it takes a right to be missing, which TestBudgetsInAClusterWithoutTheirKind has":             {"BudgetsUnread"},
	"it must never happen": {"InvariantViolated"},
	"a StatefulCluster has it, which its own tests show": {
		"NodeSilent", "TemplateUnchecked", "HandoverUnderway", "TooManyUnhealthy", "TemplateInvalid", "UpdateUnderway", "UpdatesByDeletion", "EvictionWaits", "UpdateWaits", "AdoptionWaits",
		"InPlaceImpossible", "UpdatesPaused", "ExpansionRefused", "VolumeWaitsForNode", "ProgressDeadlineExceeded", "ReplacementPaused", "LabelsChanged", "ObjectDeleting", "GraceUnavailable", "CreationPrevented",
	},
}

func TestEveryReasonToWaitHasATestOrAnException(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for code := range stuckCases {
		known[code] = true
	}
	for why, codes := range notPlights {
		for _, code := range codes {
			if known[code] {
				t.Errorf("%s is tested already, and listed as untested: %s", code, why)
			}
			known[code] = true
		}
	}
	for code, kind := range documentedReasons(t) {
		if kind != "outcome" && !known[code] {
			t.Errorf("%s is neither tested nor listed as untested", code)
		}
		delete(known, code)
	}
	if len(known) > 0 {
		t.Errorf("these are no reasons: %q", sortedKeys(known))
	}
}

// documentedReasons returns all reasons with their kinds: "outcome", "wait" or "needs a person".
func documentedReasons(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, entry := range strings.Split(string(text), "\n## ")[1:] {
		code, about, _ := strings.Cut(entry, "\n")
		_, kind, _ := strings.Cut(about, ", ")
		reasons[code], _, _ = strings.Cut(kind, ".")
	}
	return reasons
}

func TestEveryOutputShowsTheSameReasonForAStuckGroup(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	for _, code := range someOf(random, 6, slices.Sorted(maps.Keys(stuckCases))) {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s, p := managed(t), stuckCases[code]
			user := s.person()
			p.bring(s)
			if p.remark {
				s.awaitRemark(code, p.zone, true)
			} else {
				s.awaitWaiting(code, p.zone)
			}
			s.logs(code, p)
			s.showsStuckCase(code, p)
			user.isShown(code, p)
			s.hasEvent(code, p)
		})
	}
}

// stuckBy starts a rollout of a group of two zones that cannot finish.
func stuckBy(o option) func(*scene) {
	return func(s *scene) {
		s.create(zone("zone-a", 2), zone("zone-b", 2))
		s.changeAll(version(2), o)
	}
}

// having gives one of two zones a wrong setting.
func having(o option) func(*scene) {
	return func(s *scene) { s.create(zone("zone-a", 1, o), zone("zone-b", 1)) }
}

func labelled(key, value string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Labels, key, value) }
}

// heldByHand makes a person hold the group for a time.
func (s *scene) heldByHand(d time.Duration) {
	s.t.Helper()
	s.changeAll(version(9))
	s.settled() // so that there is a Lease
	s.holdsByHand(d)
}
