package apiserver_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
