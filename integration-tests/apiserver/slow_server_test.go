package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// slowly is how long the API server takes for the requests of an operator that slowServer selects.
const slowly = 4 * time.Second

// slowServer starts an operator whose API server is slow. It returns a function that waits until a slow request is
// under way.
func slowServer(s *scene, isSlow func(faultproxy.Request) bool) (awaitSlow func()) {
	s.t.Helper()
	proxy := withFaults(s, isSlow, faultproxy.Held(slowly))
	return func() {
		s.t.Helper()
		s.awaitHeld(proxy)
		time.Sleep(slowly / 8)
	}
}

// withFaults starts an operator. Once it has recorded the zones of the group, a fault happens to the requests that has
// selects.
func withFaults(s *scene, has func(faultproxy.Request) bool, fault faultproxy.Fault) *faultproxy.Proxy {
	s.t.Helper()
	s.withRole()
	proxy, through := s.proxied()
	s.startOperatorWith(through, withoutElection)
	s.awaitLease()
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if has(r) {
			return fault
		}
		return faultproxy.Fault{}
	})
	return proxy
}

func (s *scene) awaitLease() {
	s.t.Helper()
	s.eventually("the operator has recorded the zones of the group", func(now present) error {
		if len(now.leases) == 0 {
			return errors.New("there is no Lease")
		}
		return nil
	})
}

// awaitHeld waits until the proxy holds a request back.
func (s *scene) awaitHeld(proxy *faultproxy.Proxy) {
	s.t.Helper()
	s.eventually("a request is held back", func(present) error {
		if proxy.Holding() == 0 {
			return errors.New("there is none")
		}
		return nil
	})
}

func isListOfPods(r faultproxy.Request) bool {
	return r.Kind == faultproxy.Read && r.Resource == "pods" && r.Name == ""
}

func isReadOfAStatefulSet(r faultproxy.Request) bool {
	return r.Method == http.MethodGet && r.Resource == "statefulsets" && r.Name != ""
}

func isDeleteOfAPod(r faultproxy.Request) bool {
	return r.Method == http.MethodDelete && r.Resource == "pods"
}

// A live read lists StatefulSets and pods at the same time, and the answer with the StatefulSets comes first.
func TestRolloutIsNotBegunIfTheGroupChangesDuringItsLiveRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"its zone is paused":                 func(s *scene) { s.change("zone-a", paused(true)) },
		"its zone is removed from the group": func(s *scene) { s.change("zone-a", alone) },
		"another zone has another strategy":  func(s *scene) { s.change("zone-b", strategy("RollingUpdate")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.create(zone("zone-a", 2), zone("zone-b", 1))
			awaitSlow := slowServer(s, isListOfPods)
			s.change("zone-a", version(2), readyAfter(longPatience))
			awaitSlow()
			change(s)
			changed := time.Now()
			time.Sleep(2 * slowly)
			s.wantRolledSince(changed, 0)
		})
	}
}

func TestRolloutIsNotBegunIfAPodOfAnotherZoneBreaksDuringItsLastRead(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	s.change("zone-b", readyAfter(longPatience), paused(true))
	awaitSlow := slowServer(s, isReadOfAStatefulSet)
	s.change("zone-a", version(2))
	awaitSlow()
	s.deletePod("zone-b-0")
	broken := time.Now()
	time.Sleep(2 * slowly)
	s.wantRolledSince(broken, 0)
}

// The ten deletes that are under way may be finished.
func TestStepOfManyPodsEndsWhenItsGroupChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"its zone is paused":           func(s *scene) { s.change("zone-a", paused(true)) },
		"a pod of another zone breaks": func(s *scene) { s.deletePod("zone-b-0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.rules.grace = defaultGrace + slowly
			s.create(zone("zone-a", 25, maxUnavailable("25")), zone("zone-b", 1))
			s.change("zone-b", readyAfter(longPatience), paused(true))
			awaitSlow := slowServer(s, isDeleteOfAPod)
			s.change("zone-a", version(2), readyAfter(longPatience))
			awaitSlow()
			change(s)
			changed := time.Now()
			time.Sleep(4 * slowly)
			s.wantRolledSince(changed, 10)
		})
	}
}

func TestRefusedDeletesBlockNoOtherPod(t *testing.T) {
	t.Parallel()
	t.Run("pods of the same zone", func(t *testing.T) {
		t.Parallel()
		s := unmanaged(t)
		s.create(zone("zone-a", 25, maxUnavailable("25")))
		refusesDeletes(s, func(pod string) bool { return len(pod) == len("zone-a-0") })
		s.change("zone-a", version(2))
		s.awaitDeletions(15)
	})
	t.Run("pods of another zone that are down", func(t *testing.T) {
		t.Parallel()
		repairsZoneB(t, refusesDeletes)
	})
}

// repairsZoneB breaks all pods of two zones, and waits until those of zone-b are replaced although an operator may not
// delete those of zone-a.
func repairsZoneB(t *testing.T, refusing func(s *scene, of func(pod string) bool)) {
	t.Helper()
	s := unmanaged(t)
	s.begin(zone("zone-a", 12, gated()), zone("zone-b", 2, gated()))
	s.serve(s.allPods()...)
	s.settled()
	for _, pod := range s.allPods() {
		s.gate(pod, corev1.ConditionFalse)
	}
	refusing(s, func(pod string) bool { return strings.HasPrefix(pod, "zone-a-") })
	s.changeBackwards(version(2), gateless())
	s.awaitDeletion("zone-b-0")
	s.awaitDeletion("zone-b-1")
}

// An API server that cannot keep up refuses requests with the advice to try again in a second.
func TestARefusedDeleteIsNotSentAgainAfterTheGroupHasChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"its zone is paused":           func(s *scene) { s.change("zone-a", paused(true)) },
		"a pod of another zone breaks": func(s *scene) { s.deletePod("zone-b-0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.create(zone("zone-a", 12, maxUnavailable("12")), zone("zone-b", 1))
			s.change("zone-b", readyAfter(longPatience), paused(true))
			var open atomic.Bool
			refused := func(r faultproxy.Request) bool { return !open.Load() && isDeleteOfAPod(r) }
			fault := faultproxy.Answered(http.StatusTooManyRequests)
			proxy := withFaults(s, refused, fault)
			s.change("zone-a", version(2), readyAfter(longPatience))
			s.eventually("deletes are refused", func(present) error {
				if proxy.Counts().Faults[fault.String()] < 10 {
					return errors.New("not yet")
				}
				return nil
			})
			change(s)
			changed := time.Now()
			time.Sleep(slowly)
			open.Store(true)
			time.Sleep(slowly)
			s.wantRolledSince(changed, 0)
		})
	}
}

// The executor sends ten requests at a time, and begins no delete a second after the first one.
func TestSlowRefusalsBlockNoOtherRequest(t *testing.T) {
	t.Parallel()
	t.Run("deletes of pods of the same zone", func(t *testing.T) {
		t.Parallel()
		s := unmanaged(t)
		s.create(zone("zone-a", 15, maxUnavailable("15")))
		refusesDeletesSlowly(s, func(pod string) bool { return len(pod) == len("zone-a-0") })
		s.change("zone-a", version(2))
		s.awaitDeletions(5)
	})
	t.Run("deletes of pods of another zone that are down", func(t *testing.T) {
		t.Parallel()
		repairsZoneB(t, refusesDeletesSlowly)
	})
	t.Run("upscales", func(t *testing.T) {
		t.Parallel()
		s := unmanaged(t)
		s.patience = longPatience
		zones := []*appsv1.StatefulSet{}
		for _, letter := range "abcdefgh" {
			zones = append(zones, zone("zone-"+string(letter), 1))
		}
		s.create(zones...)
		withFaults(s, func(r faultproxy.Request) bool {
			return r.Method == http.MethodPatch && r.Resource == "statefulsets" && r.Name < "zone-g"
		}, faultproxy.RefusedAfter(longPatience, http.StatusServiceUnavailable))
		for _, z := range zones {
			s.change(z.Name, forced("2"))
		}
		s.eventually("the zones of which no update hangs have two replicas", func(now present) error {
			for _, z := range []string{"zone-g", "zone-h"} {
				if got := *now.sets[z].Spec.Replicas; got != 2 {
					return fmt.Errorf("%s has %d", z, got)
				}
			}
			return nil
		})
	})
}

// refusesDeletesSlowly starts an operator whose deletes of some pods are refused after more than a second.
func refusesDeletesSlowly(s *scene, of func(pod string) bool) {
	s.t.Helper()
	s.rules.contested, s.patience = true, longPatience
	withFaults(s, func(r faultproxy.Request) bool { return isDeleteOfAPod(r) && of(r.Name) }, faultproxy.RefusedAfter(1200*time.Millisecond, http.StatusForbidden))
}

// refusesDeletes starts an operator that may not delete some pods.
func refusesDeletes(s *scene, of func(pod string) bool) {
	s.t.Helper()
	s.rules.contested = true
	withFaults(s, func(r faultproxy.Request) bool { return isDeleteOfAPod(r) && of(r.Name) }, faultproxy.Answered(http.StatusForbidden))
}

func TestDownscaleSucceedsAlthoughTheLastReadTakesLongerThanItsUpdateMay(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	const slow = 5500 * time.Millisecond
	s.rules.grace = defaultGrace + slow
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	withFaults(s, isReadOfAStatefulSet, faultproxy.Held(slow))
	s.change("zone-a", forced("1"))
	s.sized(map[string]int32{"zone-a": 1})
}

func (s *scene) wantReplicas(name string, want int32) {
	s.t.Helper()
	if got := *s.witness.now().sets[name].Spec.Replicas; got != want {
		s.t.Errorf("%s has %d replicas, want %d", name, got, want)
	}
}

// The watch of Leases is late, so only the write of the Lease shows that a person has taken the hold.
func TestDownscaleStopsWhenAPersonTakesItsHold(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	s.withRole()
	proxy, through := s.proxied()
	const late = 15 * time.Second
	proxy.DelayWatches("leases", late)
	s.startOperatorWith(through, withoutElection)
	s.awaitLease()
	time.Sleep(late + time.Second)
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if isReadOfAStatefulSet(r) {
			return faultproxy.Held(slowly)
		}
		return faultproxy.Fault{}
	})
	s.change("zone-a", forced("1"))
	s.awaitHeld(proxy)
	lease := s.lease(theLease).DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("manual/maintenance"), new(int32(3600))
	if _, err := s.world.admin.CoordinationV1().Leases(s.name).Update(t.Context(), lease, updateOptions); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * slowly)
	s.wantReplicas("zone-a", 2)
}

// The caches show the annotation after the downscale.
func TestDownscaleWaitsForAMinimumTimeThatIsSetWhileItIsRecorded(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.template("web", 3)
	s.create(zone("zone-a", 2), zone("zone-b", 3, mirrors("web")))
	s.withRole()
	first := s.startOperator(withoutElection)
	s.change("zone-a", forced("1"))
	s.sized(map[string]int32{"zone-a": 1})
	first.Kill()
	proxy, through := s.proxied()
	proxy.DelayWatches("statefulsets", 30*time.Second)
	s.startOperatorWith(through, withoutElection)
	time.Sleep(slowly)
	var held atomic.Bool
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Resource == "leases" && held.CompareAndSwap(false, true) {
			return faultproxy.Held(slowly)
		}
		return faultproxy.Fault{}
	})
	s.setsReplicas("web", 1)
	s.awaitHeld(proxy)
	s.change("zone-a", setAnnotated(apartAnnotation, "1h"))
	time.Sleep(3 * slowly)
	s.wantReplicas("zone-b", 3)
}

// The answers to its last read arrive when the process continues, and its caches are as old as they are.
func TestOperatorThatWasSuspendedDuringItsLastReadDisruptsNothing(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	s.withRole()
	proxy, through := s.proxied()
	operator := s.startOperatorWith(through, withoutElection)
	s.awaitLease()
	var asleep atomic.Bool
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if isReadOfAStatefulSet(r) && r.Name == "zone-a" && asleep.CompareAndSwap(false, true) {
			return faultproxy.StoppedAt(func() { _ = operator.Signal(syscall.SIGSTOP) })
		}
		return faultproxy.Fault{}
	})
	s.change("zone-a", version(2), readyAfter(longPatience))
	s.eventually("the operator is suspended", func(present) error {
		if !asleep.Load() {
			return errors.New("not yet")
		}
		return nil
	})
	time.Sleep(time.Second)
	s.change("zone-a", paused(true))
	changed := time.Now()
	time.Sleep(16 * time.Second)
	if err := operator.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(slowly)
	s.wantRolledSince(changed, 0)
}
