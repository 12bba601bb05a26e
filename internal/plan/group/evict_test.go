package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// three is a group of three zones with three pods each, all of them Ready.
const three = `
	zone-a rev=1
	  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
	zone-b rev=1
	  zone-b-0 ready@1 zone-b-1 ready@1 zone-b-2 ready@1
	zone-c rev=1
	  zone-c-0 ready@1 zone-c-1 ready@1 zone-c-2 ready@1`

// inTheWay is a zone whose StatefulSet was created again with another selector, while its pods
// ran.
const inTheWay = "zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\n"

// Each case is a group, and the answer to the eviction of zone-a-0.
func TestEvict(t *testing.T) {
	partitions := `zpdb store regex="zone-[a-c]-([0-9]+)"`
	const lost = "zone-a rev=1 replicas=2\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n" // zone-a-1 is missing
	for sentence, tc := range map[string]struct{ group, want string }{
		"a ready pod is recorded before its eviction is allowed": {three, "yes, recorded zone-a-0"},
		"a hold of its zone is joined":                           {"hold rollout/zone-a\n" + three, "yes, recorded zone-a-0"},
		"an eviction waits for the hold of another zone": {
			"hold rollout/zone-b\n intent zone-b-1\n" + three,
			"GroupHeld zone-b-1 of zone-b (rollout/zone-b); 1 pod not ready in zone-b",
		},
		"the refusal of a group with missing pods names the zone with the hold": {
			"hold rollout/zone-c\n intent zone-c-0\nzone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2 replicas=2\n zone-b-0 ready@2\nzone-c rev=2 current=1\n zone-c-0 ready@1\n",
			"GroupHeld zone-c-0 of zone-c (rollout/zone-c); 1 pod not ready in zone-c",
		},
		"the hold of an available zone is taken over": {"hold rollout/zone-b\n" + three, "yes, recorded zone-a-0"},
		"a granted eviction in another zone is respected": {
			"hold eviction/zone-b\n intent zone-b-1 granted\n" + three,
			"GroupHeld zone-b-1 of zone-b (eviction/zone-b); 1 pod not ready in zone-b",
		},
		"a hold from outside is respected": {"hold manual/maintenance\n" + three, "GroupHeld (held from outside lockstep)"},
		"a downscale in another zone is respected": {
			"hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted\n" + three, "GroupHeld zone-b (downscale/zone-b)",
		},
		"no eviction is allowed while the intents of the hold cannot be read": {"hold eviction/zone-a unreadable=\"no JSON\"\n" + three, "HoldUnreadable"},
		"a missing pod of another zone blocks an eviction": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-0 ready@1\n",
			"OtherZoneUnavailable zone-b-1 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"a refusal counts pods that are not ready and missing pods separately": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=5\n zone-b-0 starting@1 zone-b-1 terminating@1 zone-b-2 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 2 pods not ready, 2 pods unknown in zone-b",
		},
		"the budget of a zone is one pod": {
			"zone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"no running pod is evicted while budgets cannot be read": {
			"zpdbs unread\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\n", "CacheNotSynced",
		},
		"without a budget for evictions, the budget for rollouts applies": {
			"zone-a rev=1 budget=2\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, recorded zone-a-0",
		},
		"a budget for evictions replaces the budget for rollouts": {
			"zpdb store limit=1\nzone-a rev=1 budget=2\n zone-a-0 ready@1 zone-a-1 starting@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a budget for evictions also applies if it allows more": {
			"zpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, recorded zone-a-0",
		},
		"a percentage is of the zone's replicas, and at least one pod": {
			"zpdb store percent=1\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "yes, recorded zone-a-0",
		},
		"a percentage is rounded down": {
			"zpdb store percent=50\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"an unbound grant also applies to the pod that replaced the recorded pod": {
			"zpdb store limit=3\nhold eviction/zone-a\n intent zone-a-0 granted unbound known=5s uid=former version=5\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1\n",
			"EvictionInProgress zone-a-0; 1 pod not ready in zone-a",
		},
		"a budget does not cover pods that it does not select": {
			"zpdb store limit=0 select=\"app=other\"\n" + three, "yes, recorded zone-a-0",
		},
		"a limit of 0 allows no eviction": {"zpdb store limit=0\n" + three, "EvictionsNotAllowed (store)"},
		"a limit of 0 allows no eviction of a running pod that is not Ready": {
			"zpdb store limit=0\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\n", "EvictionsNotAllowed (store)",
		},
		"a running pod that is not Ready is evicted if the budget always allows unhealthy pods": {
			"zpdb store limit=0 unhealthy=AlwaysAllow\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\n", "yes, at version 10",
		},
		"a pod that never ran is evicted, whatever the budget is": {
			"zpdb store limit=0\nzone-a rev=1\n zone-a-0 starting@1\n", "yes, at version 10",
		},
		"the eviction of a terminating pod is allowed again at any version": {"zone-a rev=1\n zone-a-0 terminating@1\n", "yes"},
		"a pod that is not ready is evicted, whatever operation has the hold": {
			"hold rollout/zone-b\n intent zone-b-0\nzone-a rev=1\n zone-a-0 failing@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"a pod that is not ready is not evicted if the budget has to be healthy": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 starting@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready in zone-b",
		},
		"no intent is recorded for a pod that is not ready if the budget is healthy": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"no eviction is allowed under several budgets": {"zpdb one\nzpdb two limit=3\n" + three, "SeveralBudgets zone-a-0 (one and two)"},
		"a budget that cannot be used allows nothing":  {"zpdb store invalid=\"no limit\"\n" + three, "BudgetInvalid zone-a-0 (store)"},
		"a pod that the rollout deletes is not evicted": {
			"hold rollout/zone-a\n intent zone-a-0\nzone-a rev=2 current=1\n zone-a-0 ready@1\n", "PodDisruptionPending zone-a-0; 1 pod not ready in zone-a",
		},
		"an eviction that was granted a moment ago may be under way": {
			"hold eviction/zone-a\n intent zone-a-0 granted known=9s\n" + three, "EvictionInProgress zone-a-0; 1 pod not ready in zone-a",
		},
		"a granted eviction that no client can carry out any more ends by a live read": {
			"live\nhold eviction/zone-a\n intent zone-a-0 granted known=70s\n" + three, "yes, recorded zone-a-0",
		},
		"after a grant ended, the operation that waits comes first": {
			"live\nhold eviction/zone-a\n intent zone-a-0 granted known=70s\n waiting downscale/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (downscale)",
		},
		"the operation that was refused earlier comes first": {"hold free\n waiting downscale/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (downscale)"},
		"the zone that has waited longest comes first":       {"hold free\n waiting eviction/zone-a since 6s seen 1s\n waiting downscale/zone-b since 5s seen 1s\n" + three, "yes, recorded zone-a-0"},
		"an eviction of the same zone overtakes an operation that waits for evicted pods": {
			"hold eviction/zone-a\n intent zone-a-1 granted\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "yes, recorded zone-a-0 before others",
		},
		"an eviction overtakes only within the limit": {
			"hold eviction/zone-a\n intent zone-a-1 granted\n waiting eviction/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"no eviction overtakes if only pods that overtook are still missing": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"a pod that is away for long waits for the rest of its node, so the eviction goes before an operation that came later or shortly before": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook since=5m\n waiting eviction/zone-b since 9m59s seen 1s\nzpdb store limit=2\n" + lost, "yes, recorded zone-a-0 before others",
		},
		"an operation that has waited twice as long goes before it": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook since=5m\n waiting eviction/zone-b since 10m1s seen 1s\nzpdb store limit=2\n" + lost, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"a pod that is up waits for nothing, however old its record is": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook since=5m\n waiting eviction/zone-b since 9m59s seen 1s\nzpdb store limit=2\n" + three, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"a pod that is away for less than two minutes waits for nothing": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook since=119s\n waiting eviction/zone-b since 2m seen 1s\nzpdb store limit=2\n" + lost, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"an eviction during a rollout of its zone overtakes as well": {
			"hold rollout/zone-a\n intent zone-a-1\n waiting downscale/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "yes, recorded zone-a-0 before others",
		},
		"an eviction overtakes while another pod of the zone with the hold is not ready": {
			"hold eviction/zone-a\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"yes, recorded zone-a-0 before others",
		},
		"a recorded pod beyond the spec does not count as the pod that is not ready": {
			"hold eviction/zone-a\n intent zone-a-2 granted overtook\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=3\n" +
				"zone-a rev=1 replicas=2\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"yes, recorded zone-a-0 before others",
		},
		"no eviction overtakes under a free hold, which begins a new turn": {
			"hold free\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"QueuedBehindOtherZone zone-b (eviction)",
		},
		"pods of all zones share one turn if partitions count": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1\n waiting downscale/zone-b since 5s seen 1s\n" + partitions + three,
			"yes, recorded zone-a-0 in partition 0 before others",
		},
		"a turn of partitions ends like other turns": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1 overtook\n waiting downscale/zone-b since 5s seen 1s\n" + partitions + three,
			"QueuedBehindOtherZone zone-b (downscale)",
		},
		"an operation without a recent request loses its place": {
			"hold free\n waiting downscale/zone-b since 5m seen 36s\n" + three, "yes, recorded zone-a-0",
		},
		"the only zone of a group has its budget": {"zone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "yes, recorded zone-a-0"},
		"a pod beyond the spec costs as much as others: the spec may be older than the pod": {
			"zone-a rev=1 replicas=1 start=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a recorded pod beyond the spec counts": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "SurplusPods zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a terminating pod beyond the spec counts": {
			"zone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1\n", "SurplusPods zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a recorded and deleted pod beyond the spec counts until a live read": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1\n", "PodDisruptionPending zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a recorded and deleted pod beyond the spec does not count after a live read": {
			"live\nhold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1\n", "yes, recorded zone-a-0",
		},
		"an orphan that its zone does not request is evicted like a pod beyond the spec": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, recorded zone-a-0",
		},
		"an orphan beyond the spec is evicted within the budget of its zone": {
			"zone-a rev=1 start=10\n zone-a-10 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodStarting zone-a-10 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"an orphan beyond the spec is evicted only while other zones are available": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready in zone-b",
		},
		"an orphan that is not ready is evicted": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 starting@1\nzone-b rev=1\n zone-b-0 starting@1\n", "yes, at version 10",
		},
		"an orphan with the name of a missing pod is evicted": {
			"zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, recorded zone-a-0",
		},
		"orphans are evicted one after the other": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodDisruptionPending zone-a-1 (1 of at most 1 down); 2 pods unknown in zone-a",
		},
		"no orphan is evicted before the replacement of another one is ready": {
			"zone-a rev=1 replicas=2\n zone-a-1 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
		"no orphan is evicted while another pod is not ready, however young the orphan is": {
			"zone-a rev=1 replicas=2 minReady=2h\n zone-a-1 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=3h\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
		"a pod of another zone stays while orphans have the names of missing pods": {
			"zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way is evicted while orphans have the names of all missing pods of another zone": {
			inTheWay + "zone-b rev=1 replicas=2\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n", "yes, recorded zone-a-0",
		},
		"an orphan in the way takes over the hold of a zone with orphans in the way": {"live\nhold eviction/zone-b\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n", "yes, recorded zone-a-0"},
		"an orphan in the way stays once an orphan of another zone is recorded": {
			"hold eviction/zone-b\n intent zone-b-0 granted\n" + inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-0 ready@1 zone-b-1 ready@1\n",
			"GroupHeld zone-b-0 of zone-b (eviction/zone-b); 2 pods unknown in zone-b",
		},
		"an orphan in the way stays once an orphan of another zone was deleted": {
			inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-1 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 2 pods unknown in zone-b",
		},
		"an orphan in the way stays while the replacement of another orphan starts": {
			inTheWay + "zone-b rev=1 replicas=2\n zone-b-0 starting@1\n orphan zone-b-1 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready, 1 pod unknown in zone-b",
		},
		"an orphan in the way stays while an orphan of another zone is not ready": {
			inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 starting@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way stays while an orphan of another zone is not available yet": {
			inTheWay + "zone-b rev=1 replicas=1 minReady=2h\n orphan zone-b-0 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way stays while another zone has pods beyond its spec": {
			inTheWay + "zone-b rev=1 replicas=1\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan beyond the spec stays while orphans are in the way in another zone": {
			"zone-a rev=1 replicas=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way is evicted while orphans are ready in a zone that left the group": {
			"live\nrelabelled zone-b rev=1 replicas=2\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n" + inTheWay, "yes, recorded zone-a-0",
		},
		"in a partition, an orphan in the way is evicted while orphans are ready in a zone that left the group": {
			partitions + "\nlive\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay + "zone-c rev=1\n zone-c-0 ready@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"an orphan in the way stays while an orphan of a zone that left the group is not ready": {
			"live\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 starting@1\n" + inTheWay,
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"an orphan in the way stays once an orphan of a zone that left the group is recorded": {
			"live\nhold eviction/zone-a\n intent zone-b-0 zone=zone-b granted\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay, "GroupHeld zone-b-0 (by a zone that left the group)",
		},
		"an orphan in the way stays while a partition eviction in a zone that left the group is recorded": {
			partitions + "\nhold eviction/partitions\n intent zone-b-1 zone=zone-b granted partition=1\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay + "zone-c rev=1\n zone-c-0 ready@1\n",
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"an orphan in the way stays while a zone has no StatefulSet": {
			"live\norphaned zone-b\n zone-b-0 ready@1\n" + inTheWay, "ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet was deleted without its pods)",
		},
		"a pod stays while orphans are ready in a zone that left the group": {
			"live\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"an orphan of a StatefulSet that left the group stays while it is ready": {
			"relabelled zone-a rev=1 replicas=1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"a zone that no budget covers any more blocks no eviction": {
			"relabelled zone-b uncovered rev=1\n zone-b-0 starting@1\nzone-a rev=1\n zone-a-0 ready@1\n", "yes, recorded zone-a-0",
		},
		"an eviction in a zone that no budget covers any more blocks other zones": {
			"hold eviction/zone-b\n intent zone-b-0 granted\nrelabelled zone-b uncovered rev=1\n zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"GroupHeld zone-b-0 (by a zone that left the group)",
		},
		"a pod of a zone that no budget covers any more is not judged by this budget": {
			"relabelled zone-a uncovered rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "CacheStale zone-a-0",
		},
		"a pod of a zone that left the group stays while it is ready": {
			"orphaned zone-a\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet was deleted without its pods)",
		},
		"a pod of a zone that left the group is evicted if it is not ready": {
			"orphaned zone-a\n zone-a-0 starting@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"an unready pod of a zone that left the group stays if its budget allows no eviction": {
			"zpdb store limit=0\norphaned zone-a\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "EvictionsNotAllowed (store)",
		},
		"an unready pod of a zone that left the group stays if its budget has to be healthy": {
			"zpdb store limit=1 unhealthy=IfHealthyBudget\norphaned zone-a\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet was deleted without its pods)",
		},
		"no budget applies to a pod of an ignored StatefulSet": {
			"zpdb store limit=0\nrelabelled zone-a ignored rev=1\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"a ready pod of a zone that left the group stays if its budget allows no eviction": {
			"zpdb store limit=0\norphaned zone-a\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "EvictionsNotAllowed (store)",
		},
		"no eviction is allowed in a zone that left while the hold cannot be read": {
			"hold free unreadable=\"no JSON\"\nrelabelled zone-a rev=1 replicas=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "HoldUnreadable",
		},
		"a pod of another zone stays while a zone that left may return": {
			"live\norphaned zone-b\n zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n", "ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet was deleted without its pods)",
		},
		"percentages refer to the replicas after a recorded downscale": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 admitted\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"percentages refer to the replicas after a downscale that is being prepared": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 preparing\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a downscale of a former StatefulSet does not change percentages": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 admitted uid=former\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"yes, recorded zone-a-0",
		},
		"in a partition, a recorded and deleted pod of another zone counts until a live read": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=zone\nzpdb store regex=\"(zone)-[a-c]-[0-9]+\"\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=1\n zone-b-0 ready@1\n",
			"PartitionUnavailable (partition zone); 1 pod unknown in partition zone",
		},

		"in a partition, an orphan in the way is evicted while an orphan has the name of the missing pod of another zone": {
			partitions + "\n" + inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-0 ready@1 zone-b-1 ready@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"in a partition, an orphan in the way takes over the hold of a zone with orphans in the way": {
			"live\nhold rollout/zone-b\n" + partitions + "\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"in a partition, an orphan in the way stays once the other orphan of its partition is recorded": {
			"hold eviction/partitions\n intent zone-b-0 granted partition=0\n" + partitions + "\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"in a partition, an orphan in the way stays while the other orphan has not been Ready for long enough": {
			partitions + " delay=10m\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1 for=9m59s\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"in a partition, a pod stays while an orphan has the name of the missing pod of another zone": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a partition with only an orphan counts as missing in other zones": {
			partitions + "\nzone-a rev=1 start=1\n zone-a-1 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1 start=1\n zone-b-1 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"in the only zone, the budget counts pods even with partitions": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"in the only zone, a granted eviction of another partition counts": {
			"hold eviction/partitions\n intent zone-a-1 granted partition=1\n" + partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n",
			"PodDisruptionPending zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"in the only zone, a pod is evicted within the budget": {
			partitions + " limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, recorded zone-a-0 in partition 0",
		},

		"a pod is evicted if its partition is available in other zones": {partitions + three, "yes, recorded zone-a-0 in partition 0"},
		"unavailable pods of other partitions do not block an eviction": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1 zone-b-1 failing@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"an unavailable pod of the same partition blocks an eviction": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n", "PartitionUnavailable (partition 0); 1 pod not ready in partition 0",
		},
		"a pod of a partition is evicted within the limit": {
			partitions + " limit=2\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\nzone-c rev=1\n zone-c-0 ready@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"a missing pod does not count in other partitions": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-0 ready@1\n", "yes, recorded zone-a-0 in partition 0",
		},
		"a missing pod counts in its own partition": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-1 ready@1\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a partition that a zone does not have counts as missing": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=0\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"too many missing pods to check count in every partition": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2000000000\n zone-b-0 ready@1\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a grant of the same partition in another zone counts": {
			"hold eviction/partitions\n intent zone-b-0 granted partition=0\n" + partitions + three, "PartitionUnavailable (partition 0); 1 pod not ready in partition 0",
		},
		"grants of other partitions do not block an eviction": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1\n" + partitions + three, "yes, recorded zone-a-0 in partition 0",
		},
		"a rollout blocks evictions by partition, also in its own zone": {
			"hold rollout/zone-a\n intent zone-a-1\n" + partitions + three, "GroupHeld zone-a-1 of zone-a (rollout/zone-a)",
		},
		"a downscale blocks evictions by partition": {
			"hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted\n" + partitions + three, "GroupHeld zone-b (downscale/zone-b)",
		},
		"a pod without a known partition stays": {"zpdb store regex=\"other-([0-9]+)\"\n" + three, "PartitionUnknown zone-a-0 (store)"},
		"a pod that has been Ready for long enough counts": {
			partitions + " delay=10m\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=10m\n", "yes, recorded zone-a-0 in partition 0",
		},
		"a pod that has not been Ready for long enough does not count": {
			partitions + " delay=10m\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=9m59s\n",
			"PartitionDelayPending (partition 0); 1 pod not ready in partition 0, 1s left",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(flush(tc.group))
			got := permitted(s, group.Evict(s, plan.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"}))
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func permitted(s group.Snapshot, p plan.EvictionAnswer) string {
	switch {
	case !p.Allowed():
		text := p.Because.String()
		if down := p.Tally.String(); down != "" {
			text += "; " + down
		}
		if p.Because.Code == "PartitionDelayPending" {
			text += fmt.Sprintf(", %s left", p.Because.Until.Sub(s.Now))
		}
		return text
	case p.NeedsRecord():
		text := "yes, recorded " + p.Record.Pod
		if p.Record.Partition != "" {
			text += " in partition " + p.Record.Partition
		}
		if p.Record.Overtook {
			text += " before others"
		}
		return text
	case p.Version == 0:
		return "yes"
	}
	return fmt.Sprintf("yes, at version %s", p.Version)
}

func TestAnEvictionIsJudgedByTheRequestedPod(t *testing.T) {
	ask := plan.EvictionRequest{Pod: "zone-a-0", UID: "another"}
	if got := group.Evict(fixture.MustParse(flush(three)), ask).Because.Code; got != "CacheStale" {
		t.Errorf("caches that show another pod: got %q", got)
	}
	if got := group.Evict(fixture.MustParse("live\n"+flush(three)), ask).Because.Code; got != "CacheStale" {
		t.Errorf("a live view that shows another pod: got %q", got)
	}
}

func TestAGrantEndsByALiveReadAfterItsTime(t *testing.T) {
	const held = "hold eviction/zone-a\n intent zone-a-0 granted"
	for sentence, tc := range map[string]struct {
		group string
		want  plan.IntentStatus
	}{
		"a grant counts while it may be carried out":               {held + " known=44s\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"a live read does not end a grant that may be carried out": {"live\n" + held + " known=44s\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"caches alone never end a grant":                           {held + " known=1h\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"a live read after its time ends a grant":                  {"live\n" + held + " known=70s\nzone-a rev=1\n zone-a-0 ready@1 version=12\n", plan.Obsolete},
		"a grant of a terminating pod does not end":                {"live\n" + held + " known=1h\nzone-a rev=1\n zone-a-0 terminating@1 version=12\n", plan.Open},
		"a grant of a missing pod does not end":                    {"live\n" + held + " known=1h\nzone-a rev=1 replicas=1\n", plan.Open},
		"another version of the pod changes nothing":               {held + " known=1s\nzone-a rev=1\n zone-a-0 ready@1 version=50\n", plan.Open},
		"a ready replacement ends a grant":                         {held + "\nzone-a rev=1\n zone-a-0 ready@1 uid=next version=50\n", plan.Done},
		"a replacement that is not ready does not end a grant":     {held + "\nzone-a rev=1\n zone-a-0 starting@1 uid=next version=50\n", plan.Open},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			if got := s.IntentStatus(s.Hold.Intents[0]); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// flush removes the tabs at the beginnings of the lines of a scenario in a test.
func flush(text string) string { return strings.ReplaceAll(text, "\n\t", "\n") }
