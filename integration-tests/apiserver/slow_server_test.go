package apiserver_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// slowly is how long the API server takes for the requests of an operator that slowServer selects.
const slowly = 4 * time.Second

// slowServer starts an operator whose API server is slow. It returns a function that waits until a slow request is
// under way.
func slowServer(s *scene, isSlow func(faultproxy.Request) bool) (awaitSlow func()) {
	s.t.Helper()
	s.withRole()
	proxy, through := s.proxied()
	s.startOperatorWith(through, withoutElection)
	s.eventually("the operator has recorded the zones of the group", func(now present) error {
		if len(now.leases) == 0 {
			return errors.New("there is no Lease")
		}
		return nil
	})
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if isSlow(r) {
			return faultproxy.Held(slowly)
		}
		return faultproxy.Fault{}
	})
	return func() {
		s.t.Helper()
		s.eventually("a slow request is under way", func(present) error {
			if proxy.Holding() == 0 {
				return errors.New("there is none")
			}
			return nil
		})
		time.Sleep(slowly / 8)
	}
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
func TestRolloutIsNotBegunAgainstWhatChangesDuringItsLiveRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"its zone is paused":                func(s *scene) { s.change("zone-a", paused(true)) },
		"its zone leaves the group":         func(s *scene) { s.change("zone-a", alone) },
		"another zone has another strategy": func(s *scene) { s.change("zone-b", strategy("RollingUpdate")) },
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
