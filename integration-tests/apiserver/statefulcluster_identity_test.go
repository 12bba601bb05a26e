package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// keeps returns the part of a spec that keeps identities.
func keeps(when string) map[string]any {
	return map[string]any{"identityPolicy": map[string]any{when: "KeepIdentity"}}
}

// keptIdentity waits until the pool is complete again with other pods of the same names, and checks their claims.
func (p pool) keptIdentity(before []corev1.Pod, ended ...string) {
	p.t.Helper()
	after := p.settles(len(before))
	for i, pod := range after {
		if again := pod.UID != before[i].UID; pod.Name != before[i].Name || again != slices.Contains(ended, pod.Name) {
			p.t.Errorf("pod %s (%s) is %s (%s) now", before[i].Name, before[i].UID, pod.Name, pod.UID)
		}
		if living, retired := p.claims(strings.TrimPrefix(pod.Name, "db-")); len(living) != 2 || len(retired) > 0 {
			p.t.Errorf("pod %s has the claims %v and the retired claims %v", pod.Name, living, retired)
		}
	}
}

func (p pool) deletes(pod string) {
	p.t.Helper()
	if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(p.t.Context(), pod, deleteOptions); err != nil {
		p.t.Fatal(err)
	}
}

func TestStatefulClusterKeepsTheIdentityOfADeletedPod(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(3, keeps("onDelete"))
	before := p.settles(3)
	p.deletes(before[0].Name)
	p.keptIdentity(before, before[0].Name)
	p.fails(before[1].Name, "") // only a deletion keeps the identity
	id := strings.TrimPrefix(before[1].Name, "db-")
	p.eventually("a new identity takes the place of the pod that has failed", func(present) error {
		names, _ := identities(p.settles(3))
		if living, retired := p.claims(id); slices.Contains(names, before[1].Name) || len(living) > 0 || !slices.Equal(retired, []string{"db-data-" + id + " PodFinished", "db-logs-" + id + " PodFinished"}) {
			return fmt.Errorf("the pods are %v; of identity %s there are the claims %v, and as former ones %v", names, id, living, retired)
		}
		return nil
	})
}

// fails ends the containers of a pod, as a kubelet does: with conditions if its Node lacks resources.
func (p pool) fails(pod, conditions string) {
	p.t.Helper()
	all := strings.TrimSuffix(`{"type": "Ready", "status": "False", "reason": "PodFailed"}, `+conditions, ", ")
	failed := fmt.Appendf(nil, `{"status": {"phase": "Failed", "conditions": [%s]}}`, all)
	if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(p.t.Context(), pod, types.StrategicMergePatchType, failed, metav1.PatchOptions{}, "status"); err != nil {
		p.t.Fatal(err)
	}
}

func TestStatefulClusterKeepsTheIdentityOfAnEvictedPod(t *testing.T) {
	t.Parallel()
	e, p := evictionsOfPool(t, 3, keeps("onEviction"))
	before := p.settles(3)
	first, second := before[0].Name, before[1].Name
	e.eventually("the first pod is evicted", func(present) error { return e.evict(first) })
	e.refused(e.evict(second), "eviction of "+second+" in db is refused", "1 of at most 1 down")
	p.keptIdentity(before, first)
	e.eventually("the second pod is evicted", func(present) error { return e.evict(second) })
	p.keptIdentity(before, first, second)
	third := before[2]
	p.fails(third.Name, `{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}`)
	e.eventually("another pod has the name of the pod that the kubelet evicted", func(now present) error {
		if pod := now.pods[third.Name]; pod == nil || pod.UID == third.UID {
			return errors.New("not yet")
		}
		return nil
	})
	p.keptIdentity(before, first, second, third.Name)
}

// All nodes are shut down in order: their kubelets end one pod after the other. One identity may be lost, until it is known that
// more than one node is.
func TestStatefulClusterKeepsItsIdentitiesIfAllNodesAreShutDown(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(3)
	p.keepsAllButOne(`{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}`)
}

// If no container may restart, all pods may end in the same way.
func TestStatefulClusterKeepsItsIdentitiesIfAllContainersEnd(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(3, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenReplaced": "Delete"}})
	p.keepsAllButOne("")
}

// keepsAllButOne ends all pods with conditions, and waits until as many are available, of which all but one have the former identities.
func (p pool) keepsAllButOne(conditions string) {
	p.t.Helper()
	before := p.settles(3)
	for _, pod := range before {
		p.fails(pod.Name, conditions)
	}
	p.eventually("three other pods are available, and two have former identities with their claims", func(now present) error {
		kept := 0
		for _, former := range before {
			next := now.pods[former.Name]
			if next == nil {
				continue
			}
			if next.UID == former.UID {
				return fmt.Errorf("pod %s is still there", former.Name)
			}
			living, retired := p.claims(strings.TrimPrefix(former.Name, "db-"))
			if len(living) != 2 || len(retired) > 0 {
				return fmt.Errorf("identity of %s has the claims %v, and as former ones %v", former.Name, living, retired)
			}
			kept++
		}
		if kept < len(before)-1 {
			return fmt.Errorf("%d of %d identities are kept", kept, len(before))
		}
		return nil
	})
	p.settles(3)
}

func TestStatefulClusterKeepsTheIdentityOfAPodThatAPersonRetains(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	retain := []byte(`{"metadata":{"labels":{"lockstep.dev/retain-identity":"true"}}}`)
	if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), before[0].Name, types.MergePatchType, retain, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(before[0].Name, "db-")
	p.eventually("the claims say so", func(present) error {
		claims, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/instance-id=" + id})
		for i := range claims.Items {
			if c := &claims.Items[i]; c.Annotations["lockstep.dev/retain-identity"] != "true" {
				err = errors.Join(err, fmt.Errorf("claim %s has the annotations %v", c.Name, c.Annotations))
			}
		}
		return err
	})
	p.deletes(before[0].Name)
	p.keptIdentity(before, before[0].Name)
}

// The next pod of a kept identity is deleted before it is Ready.
func TestStatefulClusterKeepsAnIdentityWhosePodsAreDeletedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	more := keeps("onDelete")
	more["template"] = map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{localcluster.ReadyAfter: "5s"}},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "db", "image": "db:1", "volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}, map[string]any{"name": "logs", "mountPath": "/logs"}},
		}}},
	}
	more["persistentVolumeClaimRetentionPolicy"] = map[string]any{"whenReplaced": "Delete"}
	p := s.createPool(2, more)
	before := p.settles(2)
	first := before[0]
	p.deletes(first.Name)
	p.eventually("the claims name the next pod, which runs", func(present) error {
		next, err := s.world.admin.CoreV1().Pods(s.name).Get(t.Context(), first.Name, getOptions)
		if err != nil {
			return err
		}
		claim, err := s.world.admin.CoreV1().PersistentVolumeClaims(s.name).Get(t.Context(), "db-data-"+strings.TrimPrefix(first.Name, "db-"), getOptions)
		if err != nil {
			return err
		}
		if named := claim.Annotations["lockstep.dev/handover-from"]; next.UID == first.UID || next.Spec.NodeName == "" || named != string(next.UID) {
			return fmt.Errorf("the pod is %s on %q, the claim names %s", next.UID, next.Spec.NodeName, named)
		}
		return nil
	})
	p.deletes(first.Name)
	p.keptIdentity(before, first.Name)
}

// All pods are deleted while updates are paused, so no pod shows any more which template they had.
func TestStatefulClusterKeepsTheTemplateOfPodsThatEndTogether(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, keeps("onDelete"))
	before := p.settles(2)
	p.updates(`{"spec": {"paused": true, "revisionHistoryLimit": 0}}`)
	p.updates(withContainer("db:2", ""))
	p.hasRevisions("db:2", "db:1", 2)
	for i := range before {
		p.deletes(before[i].Name)
	}
	names, uids := identities(before)
	p.eventually("the identities have other pods with the earlier image", func(present) error {
		pods := p.pods()
		now, others := identities(pods)
		if !slices.Equal(now, names) || slices.Equal(others, uids) {
			return fmt.Errorf("pods %v are %v now", names, now)
		}
		for i := range pods {
			if image := pods[i].Spec.Containers[0].Image; image != "db:1" || !isReady(&pods[i]) {
				return fmt.Errorf("pod %s has image %s", pods[i].Name, image)
			}
		}
		return nil
	})
	p.updates(`{"spec": {"paused": false}}`)
	p.hasImage(2, "db:2")
}
