package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// surging are the fields of an object that creates one pod before another one leaves. Its policy for claims of fewer replicas
// deletes them.
func surging(more map[string]any) map[string]any {
	more["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{
		"podUpdatePolicy": "Recreate", "maxUnavailable": int64(0), "maxSurge": int64(1),
	}}
	more["persistentVolumeClaimRetentionPolicy"] = map[string]any{"whenScaled": "Delete"}
	return more
}

// surges changes the template to one whose pods are not Ready for long, and waits until the first of them is scheduled.
func (p pool) surges() {
	p.t.Helper()
	before := len(p.pods())
	p.updates(fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {%q: "300s"}}, "spec": {"containers": [{"name": "db", "image": "db:2",
		"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "logs", "mountPath": "/logs"}]}]}}}}`, localcluster.ReadyAfter))
	p.eventually("a pod exists that is too many", func(present) error {
		pods := p.pods()
		for i := range pods {
			if len(pods[i].Spec.SchedulingGates) > 0 || pods[i].Spec.NodeName == "" {
				return errors.New("one is not scheduled")
			}
		}
		if len(pods) != before+1 {
			return fmt.Errorf("%d pods exist", len(pods))
		}
		return nil
	})
}

// A pod is created before the only copy leaves, and the node of that copy falls silent before the pod is Ready.
func TestStatefulClusterKeepsTheLastCopyDuringASurge(t *testing.T) {
	t.Parallel()
	s := managed(t)
	nodes := s.ownNodes(2)
	s.schedulesOn(nodes...)
	p := s.createPool(1, surging(map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(3)}}))
	last := p.settles(1)[0]
	p.surges()
	names, _ := identities(p.pods())
	p.falls(last.Spec.NodeName)
	p.keepsInDoubt(names)
}

// A client deletes a pod whose identity is kept, while a pod exists that is too many and not Ready.
func TestStatefulClusterKeepsAnIdentityDuringASurge(t *testing.T) {
	t.Parallel()
	for sentence, replicas := range map[string]int{"the only pod": 1, "one of two": 2} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			keepsAnIdentityDuringASurge(t, replicas)
		})
	}
}

func keepsAnIdentityDuringASurge(t *testing.T, replicas int) {
	t.Helper()
	p := sharedPool(t, replicas, surging(map[string]any{"identityPolicy": map[string]any{"onDelete": "KeepIdentity"}}))
	kept := p.settles(replicas)[0]
	p.surges()
	p.deletes(kept.Name)
	p.eventually("the identity has another pod, and its claims", func(present) error {
		pod, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), kept.Name, getOptions)
		if err != nil {
			return err
		}
		if living, retired := p.claims(strings.TrimPrefix(kept.Name, "db-")); pod.UID == kept.UID || len(living) != 2 || len(retired) > 0 {
			return fmt.Errorf("pod %s has the claims %v and the retired claims %v", pod.UID, living, retired)
		}
		return nil
	})
}

// The partition is raised while a pod exists that is too many. One leaves, and its claims stay, because the policy deletes only those of
// pods that are not asked for any more.
func TestStatefulClusterKeepsClaimsOfPodsThatASurgeLeaves(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, surging(map[string]any{}))
	p.settles(2)
	p.surges()
	claims := p.uidsOfClaims("")
	p.updates(`{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}}`)
	p.eventually("one pod has left", func(present) error { return p.hasPods(2) })
	p.stays("all claims exist", aWhile, func(present) error {
		if now := p.uidsOfClaims(""); len(now) != len(claims) {
			return fmt.Errorf("claims %v are %v now", claims, now)
		}
		return nil
	})
}

// Updates are paused during a surge, so the pod that is too many keeps its place. Lowering the replicas by one ends one pod.
func TestStatefulClusterIsScaledDownDuringASurge(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 3, surging(map[string]any{}))
	p.settles(3)
	p.surges()
	p.updates(`{"spec": {"paused": true}}`)
	p.stays("the pod that is too many has its place", aWhile, func(present) error { return p.hasPods(4) })
	p.updates(`{"spec": {"replicas": 2}}`)
	p.eventually("one pod has left", func(present) error { return p.hasPods(3) })
	p.stays("no other pod leaves", aWhile, func(present) error { return p.hasPods(3) })
}

// The template changes and no pods are asked for, at once. The pods leave as scaled down, and not as updated, whose claims the policy
// deletes.
func TestStatefulClusterThatIsScaledToNoneDuringAnUpdateKeepsItsClaims(t *testing.T) {
	t.Parallel()
	more := surging(map[string]any{})
	more["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "Recreate", "maxUnavailable": int64(0), "maxSurge": int64(3)}}
	more["persistentVolumeClaimRetentionPolicy"] = map[string]any{"whenReplaced": "Delete"}
	p := sharedPool(t, 3, more)
	p.settles(3)
	claims := p.uidsOfClaims("")
	p.updates(`{"spec": {"replicas": 0, "template": {"metadata": {"annotations": {"example.com/note": "new"}}, "spec": {"containers": [{"name": "db", "image": "db:2",
		"volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "logs", "mountPath": "/logs"}]}]}}}}`)
	p.eventually("no pod exists", func(present) error { return p.hasPods(0) })
	p.stays("all claims exist", aWhile, func(present) error {
		if now := p.uidsOfClaims(""); len(now) != len(claims) {
			return fmt.Errorf("claims %v are %v now", claims, now)
		}
		return nil
	})
}

// While pods leave one at a time because fewer are asked for, no update takes the place of one of them: only the two that stay are
// updated, and whenScaled keeps the claims of the three others.
func TestStatefulClusterThatIsScaledDownInOrderDuringASurgeKeepsItsClaims(t *testing.T) {
	t.Parallel()
	more := surging(map[string]any{"podManagementPolicy": "OrderedReady"})
	more["persistentVolumeClaimRetentionPolicy"] = map[string]any{"whenReplaced": "Delete"}
	p := sharedPool(t, 5, more)
	p.settles(5)
	p.updates(fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {%q: "3s"}}, "spec": {"terminationGracePeriodSeconds": 20}}}}`, localcluster.ReadyAfter))
	p.eventually("a pod of the surge exists", func(present) error { return p.hasPods(6) })
	p.updates(`{"spec": {"replicas": 2}}`)
	p.eventually("two updated pods exist, and the claims of three others", func(present) error {
		kept := 0
		all, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(t.Context(), metav1.ListOptions{})
		for i := range all.Items {
			if all.Items[i].Annotations["lockstep.dev/retired-reason"] == "ScaledDown" {
				kept++
			}
		}
		for _, pod := range p.pods() {
			if *pod.Spec.TerminationGracePeriodSeconds != 20 {
				err = errors.Join(err, fmt.Errorf("pod %s has the former template", pod.Name))
			}
		}
		if kept != 6 || len(all.Items) != 10 {
			err = errors.Join(err, fmt.Errorf("of %d claims %d are kept because fewer pods are asked for", len(all.Items), kept))
		}
		return errors.Join(err, p.hasPods(2))
	})
}

func (p pool) hasPods(n int) error {
	if pods := p.pods(); len(pods) != n {
		return fmt.Errorf("%d pods exist, not %d", len(pods), n)
	}
	return nil
}
