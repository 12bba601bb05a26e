package apiserver_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// byHand creates a pod that no StatefulSet created, and waits until it is up.
func (s *scene) byHand(name string, labels map[string]string) *corev1.Pod {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{
		NodeName: localcluster.NodeName(0), Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
	}}
	made, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), pod, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.serve(name)
	return made
}

// The replica that answers webhooks still sees the pod that had the name before.
func TestAPodThatReplacedAnotherOwnersPodIsGuardedByALateReplica(t *testing.T) {
	t.Parallel()
	e := newDrainable(t)
	former := e.byHand("zone-b-0", nil)
	e.answersLate("pods", 30*time.Second)
	e.create(zone("zone-a", 2))
	e.begin(zone("zone-b", 1))
	e.remembers(theLease, "zone-b")
	e.deletePod("zone-b-0")
	e.comesBack(former)
	e.change("zone-a", version(2), gated(), readyAfter(time.Minute))
	e.awaitDeletion("zone-a-0")
	if err := e.evicts(t.Context(), "zone-b-0", nil); err == nil {
		t.Error("zone-b-0 was evicted while zone-a-0 is down")
	}
}

// The replica that judges evictions does not see the adoption. The replica that binds them does.
func TestAnAdoptedPodIsGuardedByALateReplica(t *testing.T) {
	t.Parallel()
	s := forTwoOperators(t)
	s.patience = longPatience
	s.byHand("zone-b-0", map[string]string{"zone": "zone-b"})
	punctual, late := s.startsPunctualAndLate("pods", 30*time.Second)
	e := s.evictionsGoTo(late, punctual)
	e.create(zone("zone-a", 2))
	e.begin(zone("zone-b", 1))
	e.remembers(theLease, "zone-b")
	e.eventually("zone-b-0 is adopted", func(now present) error {
		if p := now.pods["zone-b-0"]; p == nil || len(p.OwnerReferences) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	e.change("zone-a", version(2), gated(), readyAfter(time.Minute))
	e.awaitDeletion("zone-a-0")
	if err := e.evict("zone-b-0"); err == nil {
		t.Error("zone-b-0 was evicted while zone-a-0 is down")
	}
}

// The replica that binds evictions still sees the pod that had the name before. The pod of the zone
// becomes Ready after its eviction was judged.
func TestAnEvictionOfAPodThatReplacedAnotherOwnersPodIsBoundByALateReplica(t *testing.T) {
	t.Parallel()
	s := forTwoOperators(t)
	former := s.byHand("zone-a-0", nil)
	e := s.evictionsGoTo(s.startsPunctualAndLate("pods", 90*time.Second))
	e.begin(zone("zone-a", 1, gated()), zone("zone-b", 1), zone("other", 1, inGroup("other"), readyAfter(time.Hour)))
	e.remembers(theLease, "zone-a")
	e.deletePod("zone-a-0")
	e.eventually("zone-a-0 is the zone's", func(now present) error {
		if p := now.pods["zone-a-0"]; p == nil || p.UID == former.UID || p.Status.PodIP == "" {
			return errors.New("not yet")
		}
		return nil
	})
	time.Sleep(time.Second) // the replica that judges observes it
	requested, goOn := e.secondWebhook("other-0")
	answer := make(chan error, 1)
	go func() { answer <- e.evict("zone-a-0") }()
	var err error
	select {
	case err = <-answer:
	case <-requested:
		e.gate("zone-a-0", corev1.ConditionTrue)
		e.serve("zone-a-0")
		goOn()
		err = <-answer
	}
	if err == nil {
		t.Error("zone-a-0 was evicted although it was up, without a record")
	}
}
