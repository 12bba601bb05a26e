package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestReadinessGatesAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	s.changeAll(version(2), gated())
	for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-b-0"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.nothingIsDeleted("while the gate of " + pod + " is closed")
		s.gate(pod, corev1.ConditionTrue)
	}
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0")
}

func TestAGateThatClosesAgainBlocksTheOtherZones(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.begin(zone("zone-a", 2), zone("zone-b", 2, gated()))
	for _, pod := range []string{"zone-b-0", "zone-b-1"} {
		s.isBroken(pod)
		s.gate(pod, corev1.ConditionTrue)
	}
	s.settled()
	s.gate("zone-b-1", corev1.ConditionFalse)
	s.isBroken("zone-b-1")
	s.change("zone-a", version(2))
	s.nothingIsDeleted("while a gate of zone-b is closed")
	s.wantDeletions()
	s.gate("zone-b-1", corev1.ConditionTrue)
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1")
}

func TestMinReadySecondsAreWaitedForAndNotMuchLonger(t *testing.T) {
	t.Parallel()
	managed(t).waitsForMinReadySeconds(300 * time.Millisecond)
}

// waitsForMinReadySeconds fails the test unless rollouts wait for minReadySeconds. The median of
// the extra wait may be at most longer plus the duration of some requests.
func (s *scene) waitsForMinReadySeconds(longer time.Duration) {
	s.t.Helper()
	const seconds = 2
	s.create(zone("zone-a", 2, minReady(seconds)), zone("zone-b", 2, minReady(seconds)))
	s.eventually("all pods are available", func(now present) error {
		for _, name := range s.zones {
			if n := now.sets[name].Status.AvailableReplicas; n != 2 {
				return fmt.Errorf("%d of %s are", n, name)
			}
		}
		return nil
	})
	request := s.timesRequests()
	s.changeAll(version(2))
	s.settled()
	longer += 5 * request()
	deleted := s.disruptions()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
	var late []time.Duration
	for i, d := range deleted[1:] {
		stable := s.readySince(deleted[i].Pod).Add(seconds * time.Second)
		if d.At.Before(stable) {
			s.t.Errorf("%s was deleted %s before %s was available", d.Pod, stable.Sub(d.At), deleted[i].Pod)
		}
		late = append(late, d.At.Sub(stable))
	}
	slices.Sort(late)
	if median := late[len(late)/2]; median > longer {
		s.t.Errorf("the next pod was deleted %s after the last one was available: probably a tick, not a timer", late)
	}
}

// timesRequests repeatedly writes a Lease that no operator uses. The returned function stops this
// and returns the median duration of a write.
func (s *scene) timesRequests() func() time.Duration {
	s.t.Helper()
	leases := s.world.admin.CoordinationV1().Leases(s.name)
	nobodys := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "pulse"}}
	if _, err := leases.Create(s.t.Context(), nobodys, createOptions); err != nil {
		s.t.Fatal(err)
	}
	var took []time.Duration
	write := func(ctx context.Context) {
		began := time.Now()
		patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, began.UTC().Format(metav1.RFC3339Micro))
		if _, err := leases.Patch(ctx, nobodys.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && ctx.Err() == nil {
			s.t.Error(err)
		}
		took = append(took, time.Since(began))
	}
	ctx, stop := context.WithCancel(s.t.Context())
	var over sync.WaitGroup
	over.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			write(ctx)
		}
	})
	return func() time.Duration {
		stop()
		over.Wait()
		slices.Sort(took)
		return took[len(took)/2]
	}
}

// readySince returns when a pod became Ready, in whole seconds, as Kubernetes records it.
func (s *scene) readySince(pod string) time.Time {
	for _, c := range s.witness.now().pods[pod].Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func TestAPodThatFallsOverMidRolloutIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.begin(zone("zone-a", 3, gated()), zone("zone-b", 2))
	for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-a-2"} {
		s.isBroken(pod)
		s.gate(pod, corev1.ConditionTrue)
	}
	s.settled()
	s.gate("zone-a-2", corev1.ConditionFalse) // up to date, and down
	s.isBroken("zone-a-2")
	time.Sleep(defaultGrace)
	s.change("zone-b", version(2))
	s.nothingIsDeleted("while zone-a is unavailable")
	s.wantDeletions()
	s.gate("zone-a-2", corev1.ConditionTrue)
	s.settled()
	s.wantDeletions("zone-b-0", "zone-b-1")
}

func TestAnOutdatedPodThatIsDownIsReplacedFirst(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.begin(zone("zone-a", 3, gated()), zone("zone-b", 2))
	for _, pod := range []string{"zone-a-0", "zone-a-1", "zone-a-2"} {
		s.isBroken(pod)
		s.gate(pod, corev1.ConditionTrue)
	}
	s.settled()
	s.gate("zone-a-2", corev1.ConditionFalse)
	s.isBroken("zone-a-2")
	s.change("zone-a", version(2), func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.ReadinessGates = nil })
	s.settled()
	s.wantDeletions("zone-a-2", "zone-a-0", "zone-a-1")
	if first := s.disruptions()[0]; first.WasServing {
		t.Error("the first deleted pod served")
	}
}
