package apiserver_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const coversCache = `{"selector":{"matchLabels":{"app":"cache"}}}`

// coveredAndDown returns a scene in which a budget covers two StatefulSets. A pod of one of them
// was evicted, and its replacement is not ready.
func coveredAndDown(t *testing.T) *evictor {
	t.Helper()
	e := evictions(t)
	e.createOpen(zone("cache-a", 2, alone, covers, gated()), zone("cache-b", 2, alone, covers, gated()))
	if err := e.budget("cache", coversCache); err != nil {
		t.Fatal(err)
	}
	e.mayEvict("cache-a-0")
	e.eventually("the operator knows the budget", func(present) error { return e.isRecorded("cache-a-0") })
	e.isBroken("cache-a-0")
	return e
}

// isRecorded returns nil if the budget has a Lease. Otherwise it evicts a pod and returns an error.
func (e *evictor) isRecorded(pod string) error {
	if e.witness.now().leases["lockstep-budget-cache"] != nil {
		return nil
	}
	return errors.Join(e.evict(pod), errors.New("not yet"))
}

func (e *evictor) dropBudget(name string) {
	e.t.Helper()
	if err := e.resources(budgets).Delete(e.t.Context(), name, deleteOptions); err != nil {
		e.t.Fatal(err)
	}
}

func TestADeletedBudgetGuardsNothing(t *testing.T) {
	t.Parallel()
	e := coveredAndDown(t)
	e.never("the eviction of cache-a-1 under the budget", aWhile, func() error { return e.evict("cache-a-1", dryEviction) })
	e.dropBudget("cache")
	e.mayEvict("cache-a-1")
	e.mayEvict("cache-b-0")
}

func TestABudgetThatIsCreatedAgainCountsItsEarlierEvictions(t *testing.T) {
	t.Parallel()
	e := coveredAndDown(t)
	e.dropBudget("cache")
	e.mayEvict("cache-b-0")
	if err := e.budget("cache", coversCache); err != nil {
		t.Fatal(err)
	}
	e.eventually("cache-b-0 is guarded again", func(present) error {
		if e.evict("cache-b-0", dryEviction) == nil {
			return errors.New("not yet")
		}
		return nil
	})
	e.refused(e.evict("cache-b-0"), "GroupHeld")
}

func TestABudgetUnderAnotherNameIsReadAlone(t *testing.T) {
	t.Parallel()
	e := coveredAndDown(t)
	e.dropBudget("cache")
	if err := e.budget("store", `{"selector":{"matchLabels":{"app":"cache"}},"maxUnavailable":2}`); err != nil {
		t.Fatal(err)
	}
	e.mayEvict("cache-a-1")
	e.eventually("cache-b-0 is guarded by the new budget", func(present) error {
		if e.evict("cache-b-0", dryEviction) == nil {
			return errors.New("not yet")
		}
		return nil
	})
	e.refused(e.evict("cache-b-0"), "cache-a")
}

func TestABudgetThatSelectsOtherStatefulSetsReleasesTheFormerOnes(t *testing.T) {
	t.Parallel()
	e := coveredAndDown(t)
	other := []byte(`{"spec":{"selector":{"matchLabels":{"app":"other"}}}}`)
	if _, err := e.resources(budgets).Patch(t.Context(), "cache", types.MergePatchType, other, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.mayEvict("cache-a-1")
	e.mayEvict("cache-b-0")
	e.gate("cache-a-0", corev1.ConditionTrue)
	e.eventually("the Lease of the budget is deleted", func(now present) error {
		if now.leases["lockstep-budget-cache"] != nil {
			return errors.New("not yet")
		}
		return nil
	})
}
