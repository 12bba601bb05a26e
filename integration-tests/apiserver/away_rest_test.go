package apiserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// restsQuietly checks that the operator makes almost no requests while nothing changes.
func (s *scene) restsQuietly() {
	s.t.Helper()
	time.Sleep(5 * time.Second)
	began := time.Now()
	time.Sleep(10 * time.Second)
	var requested []string
	for _, r := range s.requests() {
		if r.User == s.operator.user && r.At.After(began) && r.Name != "lockstep-leader" && r.Verb != "watch" {
			requested = append(requested, r.Verb+" "+r.Resource+" "+r.Name)
		}
	}
	if len(requested) > 5 {
		s.t.Errorf("the operator made %d requests in 10 s at rest: %q", len(requested), requested)
	}
}

// controlledByAConfigMap sets a ConfigMap as the controller of pods. It represents a controller of
// another kind.
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

// A zone is deleted, created again and deleted again, while a pod of the first StatefulSet terminates
// slowly.
func TestASlowlyTerminatingPodOfAFormerStatefulSetCausesNoRequests(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1), zone("zone-b", 1))
	s.remembers(theLease, "zone-b")
	s.finalizers(finalizer)
	t.Cleanup(func() { s.finalizers() })
	s.remove("zone-a")
	s.begin(zone("zone-a", 1))
	s.remembers(theLease, string(s.witness.now().sets["zone-a"].UID))
	s.remove("zone-a")
	s.restsQuietly()
}

// A budget covers a StatefulSet without a group. The StatefulSet is created again with another
// selector.
func TestOrphansThatABudgetCoversAreEvictedOneByOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		used   bool
		second []option
	}{
		"before anything was evicted, and the new StatefulSet has the labels of the budget": {false, []option{covers}},
		"before anything was evicted": {false, nil},
		"after an eviction":           {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evictions(t)
			e.createOpen(zone("cache-a", 2, alone, covers, gated()), zone("cache-b", 2, alone, covers, gated()))
			if err := e.budget("cache", coversCache); err != nil {
				t.Fatal(err)
			}
			e.says("cache", "at 1: 1, cache-a 0/2 1, cache-b 0/2 1")
			if tc.used {
				before := e.pod("cache-b-0")
				e.mayEvict("cache-b-0")
				e.eventually("cache-b-0 is evicted", func(present) error { return e.evict("cache-b-0") })
				e.opens(before)
				e.settled()
				e.remembers("lockstep-budget-cache", "cache-a")
			}
			e.recreated(zone("cache-a", 2, append([]option{alone, otherLabels(), gated()}, tc.second...)...))
			former := e.pod("cache-a-0")
			e.patience = 30 * time.Second
			e.eventually("the first orphan is evicted", func(present) error { return e.evict("cache-a-0") })
			e.never("the eviction of the second orphan while cache-a-0 is down", 3*time.Second, func() error { return e.evict("cache-a-1") })
			e.opens(former)
			e.eventually("the second orphan is evicted", func(present) error { return e.evict("cache-a-1") })
		})
	}
}

// The Lease of a budget loses its label while there is no operation. Then a StatefulSet is created
// again.
func TestTheLeaseOfABudgetGetsItsLabelBackWhenAnOrphanIsToBeEvicted(t *testing.T) {
	t.Parallel()
	e := coveredAndDown(t)
	e.opens(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cache-a-0", UID: "former"}})
	e.settled()
	e.editBudgetLease(func(l *coordinationv1.Lease) { delete(l.Labels, holdLabel) })
	e.recreated(zone("cache-a", 2, alone, covers, otherLabels(), covers))
	e.patience = 30 * time.Second
	e.eventually("an orphan in the way is evicted", func(present) error { return e.evict("cache-a-0") })
}

// editBudgetLease edits the Lease of the budget cache.
func (e *evictor) editBudgetLease(edit func(*coordinationv1.Lease)) {
	e.t.Helper()
	leases := e.world.admin.CoordinationV1().Leases(e.name)
	l, err := leases.Get(e.t.Context(), "lockstep-budget-cache", getOptions)
	if err != nil {
		e.t.Fatal(err)
	}
	edit(l)
	if _, err := leases.Update(e.t.Context(), l, updateOptions); err != nil {
		e.t.Fatal(err)
	}
}

// A Lease that cannot be read may also remember any StatefulSet without a group.
func TestARefusalNamesTheLeaseThatCannotBeRead(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2), zone("zone-b", 2))
	e.begin(zone("other", 1, alone))
	e.serve("other-0")
	e.remembers(theLease, "zone-b")
	e.mayEvict("other-0")
	e.editLease(func(l *coordinationv1.Lease) { l.Annotations[zonesAnnotation] = "garbage" })
	e.eventually("the refusal names the Lease", func(present) error {
		err := e.evict("other-0", dryEviction)
		if err == nil || !strings.Contains(err.Error(), "HoldUnreadable") || !strings.Contains(err.Error(), "Lease "+theLease) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
}

// No operation has the hold. A user removes the annotation that names the group from the Lease, and a
// zone is orphaned.
func TestOrphansAreGuardedByALeaseWithoutItsGroup(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2), zone("zone-b", 2, gated()))
	e.remembers(theLease, "zone-b")
	e.comesToRest()
	e.editLease(func(l *coordinationv1.Lease) { delete(l.Annotations, groupAnnotation) })
	e.gate("zone-b-0", corev1.ConditionFalse)
	e.isBroken("zone-b-0")
	e.orphans("zone-a")
	e.never("the eviction of orphaned zone-a-0 while zone-b-0 is down", 8*time.Second, func() error { return e.evict("zone-a-0") })
}
