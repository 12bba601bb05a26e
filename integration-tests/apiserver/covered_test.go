package apiserver_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// covers sets the labels that a budget selects on a StatefulSet's pods.
func covers(s *appsv1.StatefulSet) { s.Spec.Template.Labels["app"] = "cache" }

func TestPodsWithoutAGroupAreEvictedUnderTheLeaseOfTheirBudget(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("cache-a", 2, alone, covers, gated()), zone("cache-b", 2, alone, covers), zone("other", 1, alone))
	if err := e.budget("cache", `{"selector":{"matchLabels":{"app":"cache"}}}`); err != nil {
		t.Fatal(err)
	}
	e.says("cache", "at 1: 1, cache-a 0/2 1, cache-b 0/2 1")
	first, second := e.pod("cache-a-0"), e.pod("cache-b-0")
	e.mayEvict("other-0")
	e.mayEvict(first.Name)
	if err := e.evict(first.Name); err != nil {
		t.Fatal(err)
	}
	e.refused(e.evict(second.Name), " in cache-a; eviction of cache-b-0 in cache-b is refused (")
	if err := e.evict("other-0"); err != nil {
		t.Errorf("no budget covers it, and %v", err)
	}
	e.opens(first)
	e.eventually("its turn begins", func(now present) error {
		if now.leases["lockstep-budget-cache"] == nil {
			t.Fatal("there is no Lease of the budget")
		}
		return e.evict(second.Name)
	})
	e.comesBack(second)
	e.eventually("the hold is given back", func(now present) error {
		if *now.leases["lockstep-budget-cache"].Spec.HolderIdentity != "" {
			return errors.New("not yet")
		}
		return nil
	})
}
