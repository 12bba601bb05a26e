package e2e_test

import (
	"path/filepath"
	"testing"
)

var manifests = filepath.Join(repository, "manifests")

// The scenarios follow each other in one cluster. The first one installs lockstep, and the last one
// begins without it. Concurrent scenarios do not affect each other.
func TestLockstepOnRealNodes(t *testing.T) {
	w := theWorld(t)
	t.Run("the first installation works on an empty cluster", w.installsOnAnEmptyCluster)
	t.Run("side by side", func(t *testing.T) {
		t.Run("a StatefulCluster loses a node that returns, and one that does not", w.replacesLostMembers)
		t.Run("a StatefulCluster hands over a pod whose node is lost meanwhile", w.givesUpAHandOver)
		t.Run("a StatefulCluster is updated in place", w.updatesAPoolInPlace)
		t.Run("a StatefulCluster gets other resources, and these before another image", w.resizesAPool)
		t.Run("the disks of a StatefulCluster stay when its pods are replaced", w.handsOverAPool)
		t.Run("a StatefulCluster is updated as its strategy says", w.updatesByStrategy)
		t.Run("claims of a StatefulCluster are deleted as their policy says, and grow", w.deletesClaims)
		t.Run("an identity of a StatefulCluster is replaced or kept as a user asks", w.keepsIdentities)
		t.Run("a pod of a StatefulCluster is evicted once the replacement of another one is Ready", w.evictsWithinTheBudget)
		t.Run("three zones in two namespaces roll", w.rolls)
		t.Run("an image that does not exist stops at one pod and a good one repairs it", w.repairsABadImage)
		t.Run("members that end at once stop at one pod and better ones repair it", w.repairsMembersThatEnd)
		t.Run("a member that crashes in another zone holds a rollout still until it is back", w.holdsStill)
		t.Run("downscales by kubectl patch, by kubectl scale and by a client are prepared one after the other", w.preparesDownscales)
		t.Run("a pod with a delay stays for as long as that", w.delaysDownscales)
	})
	t.Run("the leader ends", func(t *testing.T) {
		t.Run("a store on a StatefulCluster loses nodes and no write", w.keepsWrites)
		t.Run("each operation of StatefulClusters is completed although the leader is killed", w.completesOperations)
		t.Run("a leader that is killed is replaced in the middle of a rollout", w.replacesTheLeader)
	})
	t.Run("two nodes are drained at once within the budget", w.drains)
	t.Run("the permissions of the manifests suffice", w.permissionsSuffice)
	t.Run("one command removes everything", w.uninstalls)
	t.Run("the operator is upgraded in the middle of a rollout", w.upgrades)
	if !w.isYours() {
		t.Run("the cluster serves visitors", w.servesVisitors)
	}
}
