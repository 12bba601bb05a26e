package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestABudgetTakesPodsDownTogetherAndNoMore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		budget   string
		together int // how many of a zone's four pods are deleted together
		invalid  bool
	}{
		"no annotation":                  {"", 1, false},
		"two pods":                       {"2", 2, false},
		"two pods and white space":       {" 2 ", 2, false},
		"half of the pods":               {"50%", 2, false},
		"a percentage is rounded down":   {"74%", 2, false},
		"less than one pod is one":       {"1%", 1, false},
		"all pods":                       {"100%", 4, false},
		"more pods than the zone has":    {"9", 4, false},
		"0 is one pod":                   {"0", 1, true},
		"a negative number is one pod":   {"-2", 1, true},
		"a fraction is one pod":          {"2.5", 1, true},
		"an invalid percentage is a pod": {"101%", 1, true},
		"a negative percentage is a pod": {"-50%", 1, true},
		"no number at all is one pod":    {"two\nlines", 1, true},
		"foreign digits are one pod":     {"\u0663", 1, true},
		"a number without end is a pod":  {strings.Repeat("9", 10_000), 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.create(zone("zone-a", 4, maxUnavailable(test.budget)), zone("zone-b", 1))
			s.changeAll(version(2), gated())
			s.awaitDeletions(test.together)
			s.nothingIsDeleted("beyond the budget")
			if test.invalid {
				s.awaitEvent("Warning", "InvalidMaxUnavailable", "zone-a")
			}
		})
	}
}

func TestABudgetIsUsedToTheEndOfTheRollout(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3, maxUnavailable("2")), zone("zone-b", 3, maxUnavailable("67%")))
	s.changeAll(version(2), gated())
	for n, z := range s.zones {
		s.awaitDeletions(3*n + 2) // together, because no gate has been opened
		s.opensGates(z+"-0", z+"-1", z+"-2")
	}
	s.settled()
	s.wantEachOnce()
}

func TestTerminatingPodsAreDown(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2, removedAfter(700*time.Millisecond)), zone("zone-b", 2, removedAfter(700*time.Millisecond)))
	s.changeAll(version(2))
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
}

func TestADrainOfAnotherZoneMakesTheRolloutWait(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2, removedAfter(never)))
	s.change("zone-a", version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.deletePod("zone-b-1") // it terminates and stays Ready until the test lets it end
	s.opensGates("zone-a-0")
	s.awaitEvent("Normal", "OtherZoneUnavailable", "zone-a")
	s.nothingIsDeleted("while zone-b-1 is terminating")
	s.wantDeletions("zone-a-0")
	if drained := s.witness.now().pods["zone-b-1"]; drained == nil || drained.DeletionTimestamp == nil || !isReady(drained) {
		t.Fatalf("the drained pod should be terminating and Ready, and is %v", drained)
	}
	s.endsLingering("zone-b-1")
	s.opensGates("zone-a-1", "zone-a-2")
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
}

func TestADrainOfTheSameZoneCountsAgainstItsBudget(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3, maxUnavailable("2")), zone("zone-b", 2))
	s.change("zone-a", paused(true), version(2), gated())
	s.deletePod("zone-a-2") // its replacement has the newest template, and its gate is closed
	s.isBroken("zone-a-2")
	s.change("zone-a", paused(false))
	s.awaitDeletion("zone-a-0")
	s.nothingIsDeleted("while two pods of the zone are down")
	s.wantDeletions("zone-a-0")
	s.gate("zone-a-2", corev1.ConditionTrue)
	for _, pod := range []string{"zone-a-0", "zone-a-1"} {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.gate(pod, corev1.ConditionTrue)
	}
	s.settled()
}

func TestAQuotaThatForbidsReplacementsStopsTheRolloutUntilItIsLifted(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.forbidPods()
	s.gate("zone-a-0", corev1.ConditionTrue)
	s.awaitWaiting("PodMissing", "zone-a")
	s.nothingIsDeleted("while the last one cannot be replaced")
	s.wantDeletions("zone-a-0", "zone-a-1")
	if got := len(s.witness.now().pods); got != 5 {
		t.Errorf("%d of 6 pods remain, want 5: one was to be replaced when the quota was set", got)
	}
	s.allowPods()
	s.poke()
	s.opensGatesAsTheyClose()
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2", "zone-b-0", "zone-b-1", "zone-b-2")
}

// forbidPods creates a quota of no pods and waits until it is in force.
func (s *scene) forbidPods() {
	s.t.Helper()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: none}}
	quota.Name = "none"
	quotas := s.world.admin.CoreV1().ResourceQuotas(s.name)
	if _, err := quotas.Create(s.t.Context(), quota, createOptions); err != nil {
		s.t.Fatal(err)
	}
	refused := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}}}
	refused.Name = "refused"
	s.eventually("the quota is in force", func(present) error {
		_, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), refused, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: none") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

func (s *scene) allowPods() {
	s.t.Helper()
	if err := s.world.admin.CoreV1().ResourceQuotas(s.name).Delete(s.t.Context(), "none", deleteOptions); err != nil {
		s.t.Fatal(err)
	}
}

// poke makes the StatefulSet controller reconcile at once, despite its backoff.
func (s *scene) poke() {
	s.t.Helper()
	s.changeAll(func(z *appsv1.StatefulSet) { set(&z.Annotations, "example.com/poked", time.Now().String()) })
}

func TestAZoneWithoutAnyPodsBlocksTheOthers(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 3))
	s.begin(zone("zone-b", 3, serviceAccount("later")))
	s.eventually("zone-b is known and has no pods", func(now present) error {
		if set := now.sets["zone-b"]; set.Status.ObservedGeneration == 0 || set.Status.Replicas != 0 {
			return fmt.Errorf("its status is %v", set.Status)
		}
		return nil
	})
	s.change("zone-a", version(2))
	s.nothingIsDeleted("while zone-b has no pods")
	s.wantDeletions()
	s.awaitEvent("Normal", "OtherZoneUnavailable", "zone-a")
	later := &corev1.ServiceAccount{}
	later.Name = "later"
	if _, err := s.world.admin.CoreV1().ServiceAccounts(s.name).Create(t.Context(), later, createOptions); err != nil {
		t.Fatal(err)
	}
	s.poke()
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
}

func TestAZoneScaledToZeroOnPurposeIsAvailable(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 0), zone("zone-c", 2))
	s.changeAll(version(2))
	s.settled()
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-c-0", "zone-c-1")
	if status := s.witness.now().sets["zone-b"].Status; status.CurrentRevision != status.UpdateRevision {
		t.Errorf("the empty zone has current revision %s and update revision %s", status.CurrentRevision, status.UpdateRevision)
	}
}
