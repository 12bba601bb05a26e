package mutants

const (
	poolEvict       = "internal/plan/pool/evict.go"
	poolQueue       = "internal/plan/pool/queue.go"
	poolIntents     = "internal/plan/pool/intent_status.go"
	poolPods        = "internal/cluster/pools/pods.go"
	evictionsOfPool = "internal/plan/pool TestEvict/"
	podsByName      = "internal/cluster/pools TestPodsOfStatefulClustersAreLookedUpByName/"
)

// poolEvictions are mistakes in how lockstep answers evictions of the pods of StatefulClusters.
var poolEvictions = []Mutant{
	{
		Name:  "pod of a zone that may be a StatefulCluster's, judged without a live read",
		Edits: []Edit{{podEviction, "live.UID != cached.UID || live.Key != cached.Key || live.Held != cached.Held", "live.UID == \"never\""}},
		Test:  "internal/serve/admission TestUncachedPodIsReadFromTheAPIServer", Rule: "a_StatefulCluster_may_have_adopted_it,_and_has",
	},
	{
		Name:  "pods of zones with the name of a StatefulCluster's pods that are never evicted",
		Edits: []Edit{{poolPods, "!shown || pod.OutsideStatefulSets() {", "true || pod.OutsideStatefulSets() || shown {"}},
		Test:  "internal/cluster/pools TestPodsOfStatefulClustersAreLookedUpByName", Rule: "a_pod_of_a_StatefulSet_with_the_name_of_such_a_pod",
	},
	{
		Name:  "terminating pod of an earlier object that is never evicted",
		Edits: []Edit{{poolEvict, "case exists && pod.UID == r.UID && pod.Phase == plan.Terminating:", "case exists && p.owns(&pod) && pod.UID == r.UID && pod.Phase == plan.Terminating:"}},
		Test:  evictionsOfPool + "a pod of an earlier object that terminates goes", Rule: "yes",
	},
	{
		Name:  "eviction of a pod that is about to be adopted, before it counts",
		Edits: []Edit{{poolEvict, "case p.Object.Deleting, orphan && !p.waitsForAdoption(&pod):", "case p.Object.Deleting, orphan:"}},
		Test:  evictionsOfPool + "a pod that lost its owner stays until it is adopted", Rule: "yes",
	},
	{
		Name:  "pod of a pool evicted beyond the budget",
		Edits: []Edit{{poolEvict, "p.Object.Replicas-available <= most", "p.Object.Replicas-available <= most+1"}},
		Test:  evictionsOfPool + "a pod stays while another one is unavailable", Rule: "yes, recorded",
	},
	{
		Name:  "evicted pod of a pool that counts as available",
		Edits: []Edit{{poolEvict, "\tif !p.down(pod) {\n\t\tavailable--\n\t}\n", ""}},
		Test:  evictionsOfPool + "a pod stays while another one is unavailable", Rule: "yes, recorded",
	},
	{
		Name:  "pod of a pool evicted twice",
		Edits: []Edit{{poolEvict, "{heldByOthers, alreadyRecorded, holdIsFull,", "{heldByOthers, holdIsFull,"}},
		Test:  evictionsOfPool + "the eviction of the pod was granted", Rule: "yes, recorded",
	},
	{
		Name:  "pod of a pool evicted under a hold by hand",
		Edits: []Edit{{poolEvict, "{heldByOthers, alreadyRecorded, holdIsFull,", "{alreadyRecorded, holdIsFull,"}},
		Test:  evictionsOfPool + "a pod stays under a hold by hand", Rule: "yes, recorded",
	},
	{
		Name:  "pod of a pool that is down evicted at any version",
		Edits: []Edit{{poolEvict, "\t\tanswer.Version = pod.Version\n", "\t\tanswer.Version = 0\n"}},
		Test:  evictionsOfPool + "a pod that is down goes whatever else is down", Rule: "at version 10",
	},
	{
		Name:  "pods of a pool that cannot be read evicted without a budget",
		Edits: []Edit{{poolEvict, "case p.Object.Unreadable != \"\":", "case false:"}},
		Test:  evictionsOfPool + "a pod stays while its pool cannot be read", Rule: "yes, recorded",
	},
	{
		Name:  "pod of a deleted pool evicted only at its version",
		Edits: []Edit{{poolEvict, "case !pod.Up():\n\t\tanswer.Version", "case !pod.Up() || p.Object.Deleting:\n\t\tanswer.Version"}},
		Test:  evictionsOfPool + "a pod goes while its pool is deleted", Rule: "at version 10",
	},
	{
		Name:  "hold of a deleted pool that is renewed without end",
		Edits: []Edit{{"internal/plan/pool/plan.go", "return newPoolState(&s).release(nil)", "return nil"}},
		Test:  "internal/plan/pool TestTheHoldOfADeletedPoolIsReleasedOncePodsAreGone", Rule: "release eviction/web",
	},
	{
		Name:  "identity that is handed over and loses its place when its next pod is evicted",
		Edits: []Edit{{poolHandOver, "(pod.UID == i.UID || pod.From == handedOverFrom(i))", "pod.UID == i.UID"}},
		Test:  poolScenarios + "a-hand-over-keeps-its-place-while-its-next-pod-terminates", Rule: "create 1 pods of web",
	},
	{
		Name:  "no pod of a pool evicted if none may be unavailable during an update",
		Edits: []Edit{{poolEvict, "max(1, p.Object.Strategy.MaxUnavailable.Of(p.Object.Replicas))", "p.Object.Strategy.MaxUnavailable.Of(p.Object.Replicas)"}},
		Test:  evictionsOfPool + "one pod goes although no pod may be unavailable during an update", Rule: "of at most 0 down",
	},
	{
		Name:  "client that waits to evict a pod of a pool has no place",
		Edits: []Edit{{poolEvict, "\t\tanswer.Place = plan.Waiting{Operation: plan.EvictionOperation, Zone: p.Key.Name, Since: p.Now, LastSeen: p.Now}\n", ""}},
		Test:  evictionsOfPool + "a pod stays while another one is unavailable", Rule: "waits",
	},
	{
		Name:  "update of a pool that comes before an eviction that waits",
		Edits: []Edit{{poolQueue, "return waits && (!updateWaits", "return !waits && (!updateWaits"}},
		Test:  poolScenarios + "an-eviction-that-waits-comes-before-an-update", Rule: "update web-a of web in place",
	},
	{
		Name:  "update of a pool that waits for a client which asks no more",
		Edits: []Edit{{poolQueue, "return of(w) && w.Counts(p.Now)", "return of(w)"}},
		Test:  poolScenarios + "an-eviction-that-waits-no-longer-delays-no-update", Rule: "EvictionWaits",
	},
	{
		Name:  "update of a pool that never has its turn while clients wait",
		Edits: []Edit{{poolQueue, "(!updateWaits || !update.Since.Before(eviction.Since))", "(!updateWaits || !update.Since.After(eviction.Since))"}},
		Test:  poolScenarios + "an-update-that-has-waited-longer-comes-before-an-eviction", Rule: "wait web because EvictionWaits",
	},
	{
		Name:  "eviction of a pool's pod that comes before an update which has waited for longer",
		Edits: []Edit{{poolEvict, "{(*poolState).tooManyUnavailable, (*poolState).updateComesFirst}", "{(*poolState).tooManyUnavailable}"}},
		Test:  evictionsOfPool + "the next update has waited for longer", Rule: "yes, recorded",
	},
	{
		Name:  "update of a pool that takes no place in the queue",
		Edits: []Edit{{poolUpdate, "steps = append(steps, p.takePlace(delayed)...)\n", ""}},
		Test:  poolScenarios + "a-granted-eviction-uses-up-the-budget", Rule: "queue rollout/web-",
	},
	{
		Name:  "update of a pool that writes its place all the time",
		Edits: []Edit{{poolQueue, "case p.Now.Before(place.LastSeen.Add(plan.AskAgain)):", "case false:"}},
		Test:  poolScenarios + "an-update-that-has-a-place-writes-no-other", Rule: "queue rollout/web-",
	},
	{
		Name:  "update of a pool that keeps clients waiting although other pods are down",
		Edits: []Edit{{poolQueue, "return unavailable-granted <= most &&", "return unavailable-granted <= unavailable &&"}},
		Test:  poolScenarios + "an-update-that-waits-for-more-than-evictions-takes-no-place", Rule: "queue rollout/web-",
	},
	{
		Name:  "place of an update that serves for the next pod as well",
		Edits: []Edit{{poolQueue, "&& (pod.Asked || pod.Revision != p.newest.Name)", "&& (pod.Asked || true)"}},
		Test:  poolScenarios + "a-place-in-the-queue-ends-with-the-update-of-its-pod", Rule: "update web-a of web in place",
	},
	{
		Name:  "granted eviction of a pool that ends when its pod changes",
		Edits: []Edit{{poolIntents, "case present && pod.UID == i.UID && i.Granted():", "case false && i.Granted():"}},
		Test:  poolScenarios + "an-eviction-is-awaited-at-any-version-of-its-pod", Rule: "release",
	},
	{
		Name:  "granted eviction of a pool that the caches end",
		Edits: []Edit{{poolIntents, "if s.Live && i.Lapsed() && pod.Phase", "if i.Lapsed() && pod.Phase"}},
		Test:  poolScenarios + "an-eviction-that-lapsed-ends-with-a-live-read", Rule: "hold: read live",
	},
	{
		Name:  "granted eviction of a pool that never ends",
		Edits: []Edit{{"internal/plan/pool/plan.go", "p.claimDeletions(), p.endedIntents(), ", "p.claimDeletions(), "}},
		Test:  poolScenarios + "an-eviction-that-lapsed-ends-with-a-live-read", Rule: "end intent of web-a",
	},
	{
		Name:  "pod of a pool deleted under the record of its eviction",
		Edits: []Edit{{"internal/plan/pool/plan.go", "p.withoutGranted(ends)", "ends"}},
		Test:  poolScenarios + "a-pod-that-is-evicted-is-not-deleted-as-well", Rule: "delete web-b",
	},
	{
		Name:  "another pod of a pool leaves beside the evicted one",
		Edits: []Edit{{"internal/plan/pool/surplus.go", "\t\tfirst(p.granted(&a), p.granted(&b)),\n", ""}},
		Test:  poolScenarios + "a-pod-that-is-evicted-is-not-deleted-as-well", Rule: "delete web-a",
	},
	{
		Name:  "pod of a pool unguarded while the watch of pools is late",
		Edits: []Edit{{poolPods, "\tif !exists && p.mayBeOurs(namespace, name) {\n", "\tif false {\n"}},
		Test:  podsByName + "a pod that only the cache of groups shows", Rule: "known: true",
	},
	{
		Name:  "live pod of a pool that counts as one of no StatefulSet",
		Edits: []Edit{{poolPods, "counts(read) || ", ""}},
		Test:  podsByName + "a pod that no cache shows", Rule: "-want +got",
	},
	{
		Name:  "pod of another API group that counts as one of a pool",
		Edits: []Edit{{"internal/cluster/pools/records.go", "owner.Kind).Group == Resource.Group &&", "owner.Kind).Group != \"\" &&"}},
		Test:  podsByName + "a pod of a kind of the same name in another group", Rule: "-want +got",
	},
}
