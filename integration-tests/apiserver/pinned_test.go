package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pinnedLate returns a scene with two operators. One judges evictions; the other one binds them to
// pods and observes one resource late.
func pinnedLate(t *testing.T, resource string) *evictor {
	t.Helper()
	s := forTwoOperators(t)
	punctual, late := s.startsPunctualAndLate(resource, 90*time.Second)
	return s.evictionsGoTo(punctual, late)
}

// forTwoOperators returns a scene before it has operators that answer webhooks.
func forTwoOperators(t *testing.T) *scene {
	t.Helper()
	s := unmanaged(t)
	s.rules.evicting, s.rules.unordered = true, true
	s.withRole()
	s.withCertificate()
	return s
}

// startsPunctualAndLate starts two operators. The first one leads; the other one observes one
// resource late.
func (s *scene) startsPunctualAndLate(resource string, by time.Duration) (punctual, late *operator) {
	s.t.Helper()
	args := append(append(serveWebhooks(), impatient...), "-webhooks.update-ca-bundle=false")
	punctual = s.startOperatorWith(s.kubeconfig(), args...)
	proxy, through := s.proxied()
	proxy.DelayWatches(resource, by)
	late = s.startOperatorWith(through, args...)
	s.wantOneCA([]*operator{punctual, late})
	return punctual, late
}

// evictionsGoTo makes the API server call one operator to judge evictions, and one to bind them to
// pods.
func (s *scene) evictionsGoTo(judges, binds *operator) *evictor {
	s.t.Helper()
	ca := s.secret().Data["ca"]
	e := evictorOf(s)
	e.evictedBy(webhookAddress(s.t, judges), ca)
	e.awaitsEvictions(false)
	e.boundBy(webhookAddress(s.t, binds), ca)
	e.awaitsEvictions(true)
	return e
}

// becomesReadyMeanwhile evicts a pod that is down and makes it Ready after lockstep's answer,
// before the API server deletes it. Another webhook delays the deletion.
func (e *evictor) becomesReadyMeanwhile(pod string, requested <-chan struct{}, goOn func()) {
	e.t.Helper()
	before := e.pod(pod)
	answer := make(chan error, 1)
	go func() { answer <- e.evict(pod) }()
	select {
	case <-requested:
	case err := <-answer:
		e.t.Fatalf("answered at once: %v", err)
	}
	e.gate(pod, corev1.ConditionTrue)
	e.serve(pod)
	goOn()
	if err := <-answer; !apierrors.IsConflict(err) && !strings.Contains(fmt.Sprint(err), "(ObjectChanged") { // a replica may see it in time
		e.t.Errorf("the answer is %v, want a conflict", err)
	}
	if now := e.pod(pod); now.UID != before.UID || now.DeletionTimestamp != nil {
		e.t.Errorf("%s was evicted although it served", pod)
	}
}

func TestAReplicaThatSeesLeasesLateBindsEvictionsOfAFormerZone(t *testing.T) {
	t.Parallel()
	e := pinnedLate(t, "leases")
	e.begin(zone("zone-a", 2, gated()), zone("zone-b", 1))
	e.serve("zone-a-0", "zone-a-1", "zone-b-0")
	e.remembers(theLease, "zone-a")
	e.gate("zone-a-0", corev1.ConditionFalse)
	e.isBroken("zone-a-0")
	requested, goOn := e.secondWebhook("zone-a-0")
	e.gate("zone-a-1", corev1.ConditionFalse)
	e.isBroken("zone-a-1")
	e.orphans("zone-a")
	time.Sleep(time.Second) // both replicas observe that it was removed
	e.becomesReadyMeanwhile("zone-a-0", requested, goOn)
}

func TestAReplicaThatSeesBudgetsLateBindsEvictionsOfPodsThatTheyCover(t *testing.T) {
	t.Parallel()
	e := pinnedLate(t, "zoneawarepoddisruptionbudgets")
	e.begin(zone("cache-a", 2, alone, covers, gated()), zone("cache-b", 1, alone, covers), zone("zone-z", 1, gated()))
	e.serve("cache-a-0", "cache-a-1", "cache-b-0")
	if err := e.budget("cache", coversCache); err != nil {
		t.Fatal(err)
	}
	e.gate("cache-a-0", corev1.ConditionFalse)
	e.isBroken("cache-a-0")
	e.eventually("the budget counts", func(present) error {
		if e.evict("cache-b-0", dryEviction) == nil {
			return errors.New("not yet")
		}
		return nil
	})
	requested, goOn := e.secondWebhook("cache-a-0")
	e.gate("cache-a-1", corev1.ConditionFalse)
	e.isBroken("cache-a-1")
	time.Sleep(time.Second)
	e.becomesReadyMeanwhile("cache-a-0", requested, goOn)
}

// Budgets that protect running pods that are not ready also do so after their zone was
// removed from the group.
func TestABudgetCountsForPodsOfAFormerZone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec    string
		departs func(e *evictor)
	}{
		"zero, orphaned":                 {`{` + store + `,"maxUnavailable":0}`, func(e *evictor) { e.orphans("zone-a") }},
		"zero, without label":            {`{` + store + `,"maxUnavailable":0}`, func(e *evictor) { e.change("zone-a", regrouped("")) }},
		"IfHealthyBudget, orphaned":      {`{` + store + `,"maxUnavailable":1,"unhealthyPodEvictionPolicy":"IfHealthyBudget"}`, func(e *evictor) { e.orphans("zone-a") }},
		"IfHealthyBudget, without label": {`{` + store + `,"maxUnavailable":1,"unhealthyPodEvictionPolicy":"IfHealthyBudget"}`, func(e *evictor) { e.change("zone-a", regrouped("")) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evictions(t)
			e.createOpen(zone("zone-a", 2, inBudget, gated()), zone("zone-b", 2, inBudget, gated()))
			if err := e.budget("store", tc.spec); err != nil {
				t.Fatal(err)
			}
			e.remembers(theLease, "zone-a")
			for _, pod := range []string{"zone-a-0", "zone-b-0"} {
				e.gate(pod, corev1.ConditionFalse)
				e.isBroken(pod)
			}
			e.eventually("the budget is known", func(present) error {
				if e.evict("zone-a-0", dryEviction) == nil {
					return errors.New("not yet")
				}
				return nil
			})
			tc.departs(e)
			e.never("the eviction of zone-a-0, which runs, is not ready, and was removed from its group", 3*time.Second, func() error { return e.evict("zone-a-0", dryEviction) })
		})
	}
}

// Clients that bind evictions to UIDs themselves treat a conflict as the end.
func TestEvictionBoundToAFormerPodIsAConflict(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 1), zone("zone-b", 1))
	before := e.pod("zone-a-0")
	e.deletePod("zone-a-0")
	e.comesBack(before)
	err := e.evict("zone-a-0", func(v *policyv1.Eviction) {
		v.DeleteOptions = &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(before.UID)}}
	})
	if !apierrors.IsConflict(err) {
		t.Errorf("the answer is %v, want a conflict", err)
	}
}
