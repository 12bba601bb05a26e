package group_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// three is a group of three zones with three pods each, all of them up.
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
	for promise, tc := range map[string]struct{ group, want string }{
		"a pod that serves is noted before the yes": {three, "yes, noted zone-a-0"},
		"a hold of its zone is joined":              {"hold rollout/zone-a\n" + three, "yes, noted zone-a-0"},
		"the hold of another zone is respected": {
			"hold rollout/zone-b\n intent zone-b-1\n" + three,
			"GroupHeld zone-b-1 of zone-b (rollout/zone-b); 1 pod not ready in zone-b",
		},
		"what is down is told of the zone in the way": {
			"hold rollout/zone-c\n intent zone-c-0\nzone-a rev=2\n zone-a-0 ready@2\nzone-b rev=2 replicas=2\n zone-b-0 ready@2\nzone-c rev=2 current=1\n zone-c-0 ready@1\n",
			"GroupHeld zone-c-0 of zone-c (rollout/zone-c); 1 pod not ready in zone-c",
		},
		"a hold whose zone is whole is taken over": {"hold rollout/zone-b\n" + three, "yes, noted zone-a-0"},
		"a granted eviction in another zone is respected": {
			"hold eviction/zone-b\n intent zone-b-1 granted\n" + three,
			"GroupHeld zone-b-1 of zone-b (eviction/zone-b); 1 pod not ready in zone-b",
		},
		"a hold from outside is respected": {"hold manual/maintenance\n" + three, "GroupHeld (held from outside lockstep)"},
		"a downscale in another zone is respected": {
			"hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted\n" + three, "GroupHeld zone-b (downscale/zone-b)",
		},
		"intents that cannot be read are respected": {"hold eviction/zone-a unreadable=\"no JSON\"\n" + three, "HoldUnreadable"},
		"another zone that misses a pod refuses": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-0 ready@1\n",
			"OtherZoneUnavailable zone-b-1 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"what is down and what is missing are told apart": {
			"zone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=5\n zone-b-0 starting@1 zone-b-1 terminating@1 zone-b-2 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 2 pods not ready, 2 pods unknown in zone-b",
		},
		"the budget of a zone is one pod": {
			"zone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"nobody who runs goes while budgets cannot be read": {
			"zpdbs unread\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\n", "CacheNotSynced",
		},
		"without a budget of evictions that of rollouts counts": {
			"zone-a rev=1 budget=2\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, noted zone-a-0",
		},
		"a budget of evictions counts instead": {
			"zpdb store limit=1\nzone-a rev=1 budget=2\n zone-a-0 ready@1 zone-a-1 starting@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"also where it allows more": {
			"zpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, noted zone-a-0",
		},
		"a percentage is of the zone's replicas, and at least one pod": {
			"zpdb store percent=1\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "yes, noted zone-a-0",
		},
		"a percentage is rounded down": {
			"zpdb store percent=50\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"an unbound grant is under way also for the pod that came after the one that is noted": {
			"zpdb store limit=3\nhold eviction/zone-a\n intent zone-a-0 granted unbound known=5s uid=former version=5\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1\n",
			"EvictionInProgress zone-a-0; 1 pod not ready in zone-a",
		},
		"what a budget does not select it does not cover": {
			"zpdb store limit=0 select=\"app=other\"\n" + three, "yes, noted zone-a-0",
		},
		"a limit of 0 allows no eviction": {"zpdb store limit=0\n" + three, "EvictionsNotAllowed (store)"},
		"nor one of a pod that runs and is not Ready": {
			"zpdb store limit=0\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\n", "EvictionsNotAllowed (store)",
		},
		"unless the budget says that such pods may always go": {
			"zpdb store limit=0 unhealthy=AlwaysAllow\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\n", "yes, at version 10",
		},
		"a pod that never ran may go whatever the budget says": {
			"zpdb store limit=0\nzone-a rev=1\n zone-a-0 starting@1\n", "yes, at version 10",
		},
		"a pod that is leaving may be told again, whatever its version is": {"zone-a rev=1\n zone-a-0 terminating@1\n", "yes"},
		"a pod that is down may go whoever has the hold": {
			"hold rollout/zone-b\n intent zone-b-0\nzone-a rev=1\n zone-a-0 failing@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"unless the budget says that it needs to be healthy": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 starting@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready in zone-b",
		},
		"where it is, nothing is noted for a pod that is down": {
			"zpdb store unhealthy=IfHealthyBudget\nzone-a rev=1\n zone-a-0 starting@1 ip=10.0.0.1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"several budgets are none that could be asked": {"zpdb one\nzpdb two limit=3\n" + three, "SeveralBudgets zone-a-0 (one and two)"},
		"a budget that cannot be used allows nothing":  {"zpdb store invalid=\"no limit\"\n" + three, "BudgetInvalid zone-a-0 (store)"},
		"a pod that the rollout takes down is left to it": {
			"hold rollout/zone-a\n intent zone-a-0\nzone-a rev=2 current=1\n zone-a-0 ready@1\n", "PodDisruptionPending zone-a-0; 1 pod not ready in zone-a",
		},
		"what was granted moments ago may be under way": {
			"hold eviction/zone-a\n intent zone-a-0 granted known=9s\n" + three, "EvictionInProgress zone-a-0; 1 pod not ready in zone-a",
		},
		"until nobody can carry it out any more, which a look tells": {
			"live\nhold eviction/zone-a\n intent zone-a-0 granted known=70s\n" + three, "yes, noted zone-a-0",
		},
		"then who waits comes first": {
			"live\nhold eviction/zone-a\n intent zone-a-0 granted known=70s\n waiting downscale/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (downscale)",
		},
		"who was refused earlier comes first": {"hold free\n waiting downscale/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (downscale)"},
		"who came first goes first":           {"hold free\n waiting eviction/zone-a since 6s seen 1s\n waiting downscale/zone-b since 5s seen 1s\n" + three, "yes, noted zone-a-0"},
		"who joins overtakes whoever waits for the pods that have left": {
			"hold eviction/zone-a\n intent zone-a-1 granted\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "yes, noted zone-a-0 before others",
		},
		"within the limit": {
			"hold eviction/zone-a\n intent zone-a-1 granted\n waiting eviction/zone-b since 5s seen 1s\n" + three, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"but not once only those are away that overtook": {
			"hold eviction/zone-a\n intent zone-a-1 granted overtook\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "QueuedBehindOtherZone zone-b (eviction)",
		},
		"who joins a rollout of its zone overtakes, too": {
			"hold rollout/zone-a\n intent zone-a-1\n waiting downscale/zone-b since 5s seen 1s\nzpdb store limit=2\n" + three, "yes, noted zone-a-0 before others",
		},
		"and who joins while a pod of the holder's zone is down by itself": {
			"hold eviction/zone-a\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"yes, noted zone-a-0 before others",
		},
		"a noted pod beyond the spec does not stand for one that is down by itself": {
			"hold eviction/zone-a\n intent zone-a-2 granted overtook\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=3\n" +
				"zone-a rev=1 replicas=2\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"yes, noted zone-a-0 before others",
		},
		"not if the hold is free: that is a new turn": {
			"hold free\n waiting eviction/zone-b since 5s seen 1s\nzpdb store limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"QueuedBehindOtherZone zone-b (eviction)",
		},
		"where partitions count, pods of all zones are one turn": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1\n waiting downscale/zone-b since 5s seen 1s\n" + partitions + three,
			"yes, noted zone-a-0 in partition 0 before others",
		},
		"which ends like others": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1 overtook\n waiting downscale/zone-b since 5s seen 1s\n" + partitions + three,
			"QueuedBehindOtherZone zone-b (downscale)",
		},
		"who has not asked for long is not waited for": {
			"hold free\n waiting downscale/zone-b since 5m seen 36s\n" + three, "yes, noted zone-a-0",
		},
		"a zone alone has its budget": {"zone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "yes, noted zone-a-0"},
		"a pod beyond the spec costs as much as others: the spec may be older than the pod": {
			"zone-a rev=1 replicas=1 start=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a pod beyond the spec that is noted counts": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 ready@1\n", "SurplusPods zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a pod beyond the spec that leaves counts": {
			"zone-a rev=1 replicas=1\n zone-a-0 ready@1 zone-a-1 terminating@1\n", "SurplusPods zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"a pod beyond the spec that was noted and deleted counts until a live read": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1\n", "PodDisruptionPending zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"and no longer after it": {
			"live\nhold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=1\n zone-a-0 ready@1\n", "yes, noted zone-a-0",
		},
		"an orphan that its zone does not ask for is evicted like a pod beyond the spec": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, noted zone-a-0",
		},
		"within the budget of its zone": {
			"zone-a rev=1 start=10\n zone-a-10 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodStarting zone-a-10 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"while the others are whole": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready in zone-b",
		},
		"an orphan that is down may go": {
			"zone-a rev=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 starting@1\nzone-b rev=1\n zone-b-0 starting@1\n", "yes, at version 10",
		},
		"an orphan that has the name of a missing pod makes room for it": {
			"zone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, noted zone-a-0",
		},
		"one after the other": {
			"hold eviction/zone-a\n intent zone-a-1 granted\nzone-a rev=1 replicas=2\n orphan zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodDisruptionPending zone-a-1 (1 of at most 1 down); 2 pods unknown in zone-a",
		},
		"and not before its replacement serves": {
			"zone-a rev=1 replicas=2\n zone-a-1 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
		"nor while another pod is down, however young the orphan is": {
			"zone-a rev=1 replicas=2 minReady=2h\n zone-a-1 starting@1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=3h\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready, 1 pod unknown in zone-a",
		},
		"a pod of another zone stays while orphans have the names of missing pods": {
			"zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way goes while orphans have the names of all missing pods of another zone": {
			inTheWay + "zone-b rev=1 replicas=2\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n", "yes, noted zone-a-0",
		},
		"it takes over the hold of such a zone": {"live\nhold eviction/zone-b\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n", "yes, noted zone-a-0"},
		"it stays once an orphan of another zone is noted": {
			"hold eviction/zone-b\n intent zone-b-0 granted\n" + inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-0 ready@1 zone-b-1 ready@1\n",
			"GroupHeld zone-b-0 of zone-b (eviction/zone-b); 2 pods unknown in zone-b",
		},
		"it stays once an orphan of another zone has gone": {
			inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-1 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 2 pods unknown in zone-b",
		},
		"it stays while the pod that comes in the place of an orphan starts": {
			inTheWay + "zone-b rev=1 replicas=2\n zone-b-0 starting@1\n orphan zone-b-1 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodStarting); 1 pod not ready, 1 pod unknown in zone-b",
		},
		"it stays while an orphan of another zone does not serve": {
			inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 starting@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"it stays while an orphan of another zone is not available yet": {
			inTheWay + "zone-b rev=1 replicas=1 minReady=2h\n orphan zone-b-0 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"it stays while another zone has pods beyond its spec": {
			inTheWay + "zone-b rev=1 replicas=1\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n", "OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan that makes room for no pod stays while orphans are in the way in another zone": {
			"zone-a rev=1 replicas=1 start=10\n zone-a-10 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"OtherZoneUnavailable zone-b-0 of zone-b (PodMissing); 1 pod unknown in zone-b",
		},
		"an orphan in the way goes while orphans serve in a zone that left the group": {
			"live\nrelabelled zone-b rev=1 replicas=2\n zone-b-1 ready@1\n orphan zone-b-0 ready@1\n" + inTheWay, "yes, noted zone-a-0",
		},
		"also in a partition, if they serve": {
			partitions + "\nlive\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay + "zone-c rev=1\n zone-c-0 ready@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"it stays while an orphan of a zone that left the group does not serve": {
			"live\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 starting@1\n" + inTheWay,
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"it stays once an orphan of a zone that left the group is noted": {
			"live\nhold eviction/zone-a\n intent zone-b-0 zone=zone-b granted\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay, "GroupHeld zone-b-0 (by a zone that left the group)",
		},
		"it stays while a pod of such a zone that was evicted by partitions is recorded": {
			partitions + "\nhold eviction/partitions\n intent zone-b-1 zone=zone-b granted partition=1\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n" + inTheWay + "zone-c rev=1\n zone-c-0 ready@1\n",
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"it stays while a zone has no StatefulSet": {
			"live\norphaned zone-b\n zone-b-0 ready@1\n" + inTheWay, "ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet was deleted without its pods)",
		},
		"a pod stays while orphans serve in a zone that left the group": {
			"live\nrelabelled zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"an orphan of a StatefulSet that left the group stays while it serves": {
			"relabelled zone-a rev=1 replicas=1\n orphan zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet is no longer in the group, and the StatefulSet cannot create the pod because an orphan has its name)",
		},
		"a zone that no budget covers any more keeps nobody back": {
			"relabelled zone-b uncovered rev=1\n zone-b-0 starting@1\nzone-a rev=1\n zone-a-0 ready@1\n", "yes, noted zone-a-0",
		},
		"what was evicted in a zone that no budget covers any more is respected": {
			"hold eviction/zone-b\n intent zone-b-0 granted\nrelabelled zone-b uncovered rev=1\n zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n",
			"GroupHeld zone-b-0 (by a zone that left the group)",
		},
		"a pod of a zone that no budget covers any more is another budget's": {
			"relabelled zone-a uncovered rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "CacheStale zone-a-0",
		},
		"a pod of a zone that left the group stays while it serves": {
			"orphaned zone-a\n zone-a-0 ready@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet was deleted without its pods)",
		},
		"one that is down may go": {
			"orphaned zone-a\n zone-a-0 starting@1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"one that is down stays where no eviction is allowed": {
			"zpdb store limit=0\norphaned zone-a\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "EvictionsNotAllowed (store)",
		},
		"one that is down stays where pods that are not ready count": {
			"zpdb store limit=1 unhealthy=IfHealthyBudget\norphaned zone-a\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n",
			"ZoneLeftGroup zone-a-0 of zone-a (its StatefulSet was deleted without its pods)",
		},
		"no budget counts for one of an ignored StatefulSet": {
			"zpdb store limit=0\nrelabelled zone-a ignored rev=1\n zone-a-0 starting@1 ip=10.0.0.1 zone-a-1 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "yes, at version 10",
		},
		"one that serves stays where no eviction is allowed": {
			"zpdb store limit=0\norphaned zone-a\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "EvictionsNotAllowed (store)",
		},
		"what the hold of a zone that left says cannot be read": {
			"hold free unreadable=\"no JSON\"\nrelabelled zone-a rev=1 replicas=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1\n", "HoldUnreadable",
		},
		"a pod of another zone stays while one that left may come back": {
			"live\norphaned zone-b\n zone-b-0 ready@1\nzone-a rev=1\n zone-a-0 ready@1\n", "ZoneLeftGroup zone-b-0 of zone-b (its StatefulSet was deleted without its pods)",
		},
		"percentages refer to the replicas that a noted downscale leaves": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 admitted\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"percentages refer to the replicas that a downscale leaves whose pods are prepared": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 preparing\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"those of a StatefulSet before this one leave nothing here": {
			"hold downscale/zone-a\n downscale zone-a from 4 to 2 admitted uid=former\nzone-a rev=1 replicas=4 budget=50%\n zone-a-0 ready@1 zone-a-1 starting@1 zone-a-2 ready@1 zone-a-3 ready@1\n",
			"yes, noted zone-a-0",
		},
		"in a partition of another zone a pod that was noted and deleted counts until a live read": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=zone\nzpdb store regex=\"(zone)-[a-c]-[0-9]+\"\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=1\n zone-b-0 ready@1\n",
			"PartitionUnavailable (partition zone); 1 pod unknown in partition zone",
		},

		"in a partition an orphan in the way goes while an orphan has the name of the missing pod of another zone": {
			partitions + "\n" + inTheWay + "zone-b rev=1 replicas=2\n orphan zone-b-0 ready@1 zone-b-1 ready@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"it takes over the hold of such a zone, too": {
			"live\nhold rollout/zone-b\n" + partitions + "\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"it stays once the orphan of its partition is noted": {
			"hold eviction/partitions\n intent zone-b-0 granted partition=0\n" + partitions + "\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"it stays while the orphan of its partition has not been Ready for long enough": {
			partitions + " delay=10m\n" + inTheWay + "zone-b rev=1 replicas=1\n orphan zone-b-0 ready@1 for=9m59s\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"in a partition a pod stays while an orphan has the name of the missing pod of another zone": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=1\n orphan zone-b-0 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a partition that only an orphan has is missed in other zones": {
			partitions + "\nzone-a rev=1 start=1\n zone-a-1 ready@1\n orphan zone-a-0 ready@1\nzone-b rev=1 start=1\n zone-b-1 ready@1\n",
			"PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"where there is no other zone its budget counts, partitions or not": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "PodStarting zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"and what was granted there is counted": {
			"hold eviction/partitions\n intent zone-a-1 granted partition=1\n" + partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 ready@1\n",
			"PodDisruptionPending zone-a-1 (1 of at most 1 down); 1 pod not ready in zone-a",
		},
		"within it a pod may go": {
			partitions + " limit=2\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\n", "yes, noted zone-a-0 in partition 0",
		},

		"a partition that is whole elsewhere lets its pod go": {partitions + three, "yes, noted zone-a-0 in partition 0"},
		"other partitions do not matter": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1 zone-a-1 starting@1\nzone-b rev=1\n zone-b-0 ready@1 zone-b-1 failing@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"the same partition does": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\n", "PartitionUnavailable (partition 0); 1 pod not ready in partition 0",
		},
		"up to its limit": {
			partitions + " limit=2\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 starting@1\nzone-c rev=1\n zone-c-0 ready@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"a pod that is missing is missed in its own partition": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-0 ready@1\n", "yes, noted zone-a-0 in partition 0",
		},
		"and there it is missed": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2\n zone-b-1 ready@1\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a partition that a zone does not have is missed": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=0\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"more missing pods than can be looked for belong to every partition": {
			partitions + "\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1 replicas=2000000000\n zone-b-0 ready@1\n", "PartitionUnavailable (partition 0); 1 pod unknown in partition 0",
		},
		"a grant of the same partition in another zone counts": {
			"hold eviction/partitions\n intent zone-b-0 granted partition=0\n" + partitions + three, "PartitionUnavailable (partition 0); 1 pod not ready in partition 0",
		},
		"grants of other partitions join": {
			"hold eviction/partitions\n intent zone-b-1 granted partition=1\n" + partitions + three, "yes, noted zone-a-0 in partition 0",
		},
		"a rollout excludes partitions, in its own zone too": {
			"hold rollout/zone-a\n intent zone-a-1\n" + partitions + three, "GroupHeld zone-a-1 of zone-a (rollout/zone-a)",
		},
		"a downscale excludes partitions": {
			"hold downscale/zone-b\n downscale zone-b from 3 to 2 admitted\n" + partitions + three, "GroupHeld zone-b (downscale/zone-b)",
		},
		"a pod whose partition nobody knows stays": {"zpdb store regex=\"other-([0-9]+)\"\n" + three, "PartitionUnknown zone-a-0 (store)"},
		"who has been Ready for long enough is there": {
			partitions + " delay=10m\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=10m\n", "yes, noted zone-a-0 in partition 0",
		},
		"who has not is not": {
			partitions + " delay=10m\nzone-a rev=1\n zone-a-0 ready@1\nzone-b rev=1\n zone-b-0 ready@1 for=9m59s\n",
			"PartitionDelayPending (partition 0); 1 pod not ready in partition 0, 1s left",
		},
	} {
		t.Run(promise, func(t *testing.T) {
			s := fixture.MustParse(flush(tc.group))
			got := permitted(s, group.Evict(s, group.EvictionRequest{Pod: "zone-a-0", UID: "zone-a-0"}))
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func permitted(s group.Snapshot, p group.EvictionAnswer) string {
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
		text := "yes, noted " + p.Record.Pod
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

func TestAnEvictionIsJudgedOnThePodThatWillGo(t *testing.T) {
	ask := group.EvictionRequest{Pod: "zone-a-0", UID: "another"}
	if got := group.Evict(fixture.MustParse(flush(three)), ask).Because.Code; got != "CacheStale" {
		t.Errorf("caches that show another pod: got %q", got)
	}
	if got := group.Evict(fixture.MustParse("live\n"+flush(three)), ask).Because.Code; got != "CacheStale" {
		t.Errorf("a live view that shows another pod: got %q", got)
	}
}

func TestAGrantEndsByALiveReadAfterItsTime(t *testing.T) {
	const held = "hold eviction/zone-a\n intent zone-a-0 granted"
	for promise, tc := range map[string]struct {
		group string
		want  plan.IntentStatus
	}{
		"while it may be carried out it counts":          {held + " known=44s\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"also for who looks live":                        {"live\n" + held + " known=44s\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"caches alone never end it":                      {held + " known=1h\nzone-a rev=1\n zone-a-0 ready@1\n", plan.Open},
		"a live look ends it":                            {"live\n" + held + " known=70s\nzone-a rev=1\n zone-a-0 ready@1 version=12\n", plan.Void},
		"not where the pod is leaving":                   {"live\n" + held + " known=1h\nzone-a rev=1\n zone-a-0 terminating@1 version=12\n", plan.Open},
		"nor where the pod is missing":                   {"live\n" + held + " known=1h\nzone-a rev=1 replicas=1\n", plan.Open},
		"another version of the pod changes nothing":     {held + " known=1s\nzone-a rev=1\n zone-a-0 ready@1 version=50\n", plan.Open},
		"a replacement that serves ends it":              {held + "\nzone-a rev=1\n zone-a-0 ready@1 uid=next version=50\n", plan.Done},
		"a replacement that does not serve yet does not": {held + "\nzone-a rev=1\n zone-a-0 starting@1 uid=next version=50\n", plan.Open},
	} {
		t.Run(promise, func(t *testing.T) {
			s := fixture.MustParse(tc.group)
			if got := s.IntentStatus(s.Hold.Intents[0]); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// flush removes the tabs at the beginnings of the lines of a scenario in a test.
func flush(text string) string { return strings.ReplaceAll(text, "\n\t", "\n") }
