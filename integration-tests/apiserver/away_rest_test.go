package apiserver_test

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// restsQuietly checks that the operator makes next to no requests while nothing changes.
func (s *scene) restsQuietly() {
	s.t.Helper()
	time.Sleep(5 * time.Second)
	began := time.Now()
	time.Sleep(10 * time.Second)
	var asked []string
	for _, r := range s.requests() {
		if r.User == s.operator.user && r.At.After(began) && r.Name != "lockstep-leader" && r.Verb != "watch" {
			asked = append(asked, r.Verb+" "+r.Resource+" "+r.Name)
		}
	}
	if len(asked) > 5 {
		s.t.Errorf("the operator made %d requests in 10 s at rest: %q", len(asked), asked)
	}
}

// controlledByAConfigMap lets a controller of another kind adopt pods; a ConfigMap stands for it.
func (s *scene) controlledByAConfigMap(pods ...string) {
	s.t.Helper()
	owner, err := s.world.admin.CoreV1().ConfigMaps(s.name).Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.UID, "controller": true,
	}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pod := range pods {
		if _, err := s.world.admin.CoreV1().Pods(s.name).Patch(s.t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestPodsThatAnotherControllerAdoptsAreNoOrphans(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.remembers(theLease, "zone-b")
	s.orphans("zone-a")
	s.controlledByAConfigMap("zone-a-0", "zone-a-1")
	s.restsQuietly()
	s.change("zone-b", version(2))
	s.finishes("zone-b")
}

// A zone is deleted, made anew, and deleted again while a pod of the first one takes its time to leave.
func TestAPodOfAFormerStatefulSetThatLeavesSlowlyCausesNoRequests(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1), zone("zone-b", 1))
	s.remembers(theLease, "zone-b")
	s.finalizers("zone-a-0", finalizer)
	t.Cleanup(func() { s.finalizers("zone-a-0") })
	s.remove("zone-a")
	s.begin(zone("zone-a", 1))
	s.remembers(theLease, string(s.witness.now().sets["zone-a"].UID))
	s.remove("zone-a")
	s.restsQuietly()
}
