package apiserver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// With the policy Failed never more pods exist than asked for, and a terminating one is waited for.
func TestStatefulClusterReplacesAPodOnlyOnceItHasEnded(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(2, map[string]any{
		"podReplacementPolicy": "Failed", "volumeClaimTemplates": []any{},
		"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{localcluster.GoneAfter: "2s"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "db", "image": "db:1"}}},
		},
	})
	first := p.settles(2)[0]
	if err := p.world.admin.CoreV1().Pods(s.name).Delete(t.Context(), first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waited := false
	p.eventually("a new pod serves", func(present) error {
		list, err := p.world.admin.CoreV1().Pods(s.name).List(t.Context(), metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name})
		if err != nil {
			return err
		}
		if len(list.Items) > 2 {
			t.Fatalf("%d pods exist, of which %s terminates", len(list.Items), first.Name)
		}
		serving := 0
		for i := range list.Items {
			waited = waited || list.Items[i].DeletionTimestamp != nil
			if list.Items[i].Name != first.Name && isReady(&list.Items[i]) {
				serving++
			}
		}
		if serving < 2 {
			return fmt.Errorf("%d pods serve", serving)
		}
		return nil
	})
	if !waited {
		t.Error("the pod did not terminate, so nothing waited for it")
	}
}

// A pod whose image cannot be pulled is kept for any time, and one in a crash loop is replaced after its time.
func TestStatefulClusterReplacesAPodInACrashLoopAfterAWhile(t *testing.T) {
	t.Parallel()
	const after = 3 * time.Second
	p := sharedPool(t, 3, map[string]any{"liveness": map[string]any{"crashLoopSeconds": int64(after.Seconds())}})
	before, _ := identities(p.settles(3))
	ill := before[0]
	p.containerWaits(ill, "ImagePullBackOff", time.Now().Add(-2*after))
	p.stays("the pod is kept", aWhile, func(present) error {
		if names, _ := identities(p.pods()); !slices.Equal(names, before) {
			return fmt.Errorf("the pods are %v, were %v", names, before)
		}
		return nil
	})
	since := time.Now().Truncate(time.Second)
	p.containerWaits(ill, "CrashLoopBackOff", since)
	p.endsAs(ill, "CrashLooping")
	for _, r := range p.writesOf(p.operator.user, since) {
		if r.Verb == "delete" && r.Name == ill && r.At.Before(since.Add(after)) {
			t.Errorf("the pod was deleted %s after its crash loop began", r.At.Sub(since))
		}
	}
	if names, _ := identities(p.settles(3)); slices.Contains(names, ill) || !slices.Contains(names, before[1]) || !slices.Contains(names, before[2]) {
		t.Errorf("the pods are %v, were %v", names, before)
	}
}

// containerWaits lets the kubelet of a pod report that its container waits, and since when the pod is not Ready.
func (p pool) containerWaits(pod, why string, since time.Time) {
	p.t.Helper()
	at := since.UTC().Format(time.RFC3339)
	status := fmt.Appendf(nil, `{"status": {
		"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": %[1]q}, {"type": "ContainersReady", "status": "False", "lastTransitionTime": %[1]q}],
		"containerStatuses": [{"name": "db", "image": "db:1", "imageID": "db:1", "ready": false, "restartCount": 5, "state": {"waiting": {"reason": %[2]q}}}]}}`, at, why)
	if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(p.t.Context(), pod, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		p.t.Fatal(err)
	}
}
