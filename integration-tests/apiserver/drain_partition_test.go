package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// partitions returns the number of partitions.
func partitions() int32 {
	if everyFault() {
		return 60
	}
	return 8
}

func TestNodesAreDrainedPartitionByPartition(t *testing.T) {
	t.Parallel()
	e := evictedUnder(t, judge.Budget{Limit: 1, Partition: byPartition})
	nodes := e.addNodes(3, "all")
	for _, name := range []string{"zone-a", "zone-b", "zone-c"} {
		e.begin(zone(name, partitions(), e.placedOn("all"), inBudget))
	}
	e.settled()
	before := e.witness.now()
	e.drain(nodes[:2]...)()
	e.settled()
	e.wantEvicted(append(before.podsOn(nodes[0]), before.podsOn(nodes[1])...)...)
}

func TestAMissingPodBlocksOnlyItsOwnPartition(t *testing.T) {
	t.Parallel()
	e := evictedUnder(t, judge.Budget{Limit: 1, Partition: byPartition})
	last := partitions() - 1 // pods of lower ordinals are created before it is tried
	missing := fmt.Sprintf("zone-a-%d", last)
	e.takesThePlaceOf(missing)
	for _, name := range []string{"zone-a", "zone-b", "zone-c"} {
		e.begin(zone(name, partitions(), inBudget))
	}
	e.eventually("all pods are up but one", func(now present) error {
		for _, pod := range e.allPods() {
			if p := now.pods[pod]; pod != missing && (p == nil || !judge.PodOf(p).Serving()) {
				return fmt.Errorf("%s is not", pod)
			}
		}
		return nil
	})
	for n := range min(last, 7) {
		e.isEvictedAtLast(fmt.Sprintf("zone-b-%d", n))
		e.isEvictedAtLast(fmt.Sprintf("zone-c-%d", n))
	}
	blocked := fmt.Sprintf("zone-b-%d", last)
	e.staysPut(blocked, fmt.Sprintf("1 pod unknown in partition %d", last))
	e.gives(missing)
	e.isEvictedAtLast(blocked)
	e.settled()
}

// takesThePlaceOf creates a pod with this name, so that the StatefulSet cannot create its own.
func (e *drainable) takesThePlaceOf(name string) {
	e.t.Helper()
	_, err := e.world.admin.CoreV1().Pods(e.name).Create(e.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: localcluster.NodeName(0), Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}, createOptions)
	if err != nil {
		e.t.Fatal(err)
	}
}

// gives deletes that pod and waits until the pod of the StatefulSet is ready.
func (e *drainable) gives(name string) {
	e.t.Helper()
	e.deletePod(name)
	e.eventually(name+" exists", func(now present) error {
		if p := now.pods[name]; p == nil || metav1.GetControllerOf(p) == nil || !judge.PodOf(p).Serving() {
			return errors.New("it is not")
		}
		return nil
	})
}

// staysPut waits until an eviction is refused for now with these words. It fails the test if the
// eviction is granted or gets another answer.
func (e *drainable) staysPut(pod, words string) {
	e.t.Helper()
	e.eventually("the eviction of "+pod+" is refused with "+words, func(present) error {
		err := e.evicts(e.t.Context(), pod, nil)
		switch {
		case !apierrors.IsTooManyRequests(err):
			e.t.Fatalf("eviction of %s: got %v, want a 429 with %q", pod, err, words)
		case !strings.Contains(err.Error(), words):
			return err
		}
		return nil
	})
}

// isEvictedAtLast evicts a pod and repeats the request while it is refused for now.
func (e *drainable) isEvictedAtLast(pod string) {
	e.t.Helper()
	e.eventually(pod+" is evicted", func(present) error {
		err := e.evicts(e.t.Context(), pod, nil)
		if err != nil && !apierrors.IsTooManyRequests(err) {
			e.t.Fatalf("eviction of %s: %v", pod, err)
		}
		return err
	})
}
