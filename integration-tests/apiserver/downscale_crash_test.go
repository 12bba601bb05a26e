package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// scalable returns a scene whose pods answer, with one operator behind a proxy that guards
// downscales. The last result starts the operator again.
func scalable(t *testing.T) (*scene, *faultproxy.Proxy, func() *operator) {
	t.Helper()
	c := onTrial(t, withoutElection)
	c.start()
	c.isCalled()
	c.create(zone("zone-a", 3, prepares), zone("zone-b", 2, prepares))
	c.awaitScalable("zone-a")
	return c.scene, c.proxy, c.start
}

// writesOfADownscale returns the writes of a downscale without a crash, numbered from its
// beginning.
func writesOfADownscale(t *testing.T) []faultproxy.Request {
	t.Helper()
	s, proxy, _ := scalable(t)
	before := len(proxy.Writes())
	if err := s.scaleBy(scaled, "zone-a", -1); err != nil {
		t.Fatal(err)
	}
	s.settled()
	writes := proxy.Writes()[before:]
	for i := range writes {
		writes[i].Number = i + 1
	}
	return writes
}

// After a crash, a client may repeat its request or not. If it does not, no pod may stay
// prepared.
func TestADownscaleSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	const few = 3
	type history struct {
		crashPoint
		again bool
	}
	var all []history
	for _, write := range writesOfADownscale(t) {
		for _, after := range []bool{false, true} {
			all = append(all, history{crashPoint{write, after}, false}, history{crashPoint{write, after}, true})
		}
	}
	chosen := someOf(random, few, all)
	t.Logf("a downscale with preparation has %d histories with a crash; %d of them are tried", len(all), len(chosen))
	for _, h := range chosen {
		name := h.String() + ", not repeated"
		if h.again {
			name = h.String() + ", repeated"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, proxy, start := scalable(t)
			s.patience = longPatience // a preparation that no client continues ends after 40 seconds
			started := s.crashAt(proxy, len(proxy.Writes())+h.write.Number, h.after, start)
			requested := s.scaleBy(scaled, "zone-a", -1)
			started()
			if h.again && requested != nil {
				s.scalesDownAtLast(scaled, "zone-a")
			}
			s.settled()
			s.removedPrepared("zone-a-2")
			s.noPreparedPodStays("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
		})
	}
}

// silence is the time without a write after which a history has ended.
const silence = 10 * time.Second

// crashAt makes a proxy kill the operator at a write. The function that it returns waits for this
// and starts the operator again. If a history has fewer writes than the counted one, the operator
// is killed at its end.
func (s *scene) crashAt(proxy *faultproxy.Proxy, write int, after bool, start func() *operator) func() {
	s.t.Helper()
	op := s.operator
	fault, crashed := killing(op, after)
	proxy.Play(faultproxy.At(write, fault))
	return func() {
		written, since := len(proxy.Writes()), time.Now()
		s.eventually("the operator is killed", func(present) error {
			select {
			case <-crashed:
				return nil
			default:
			}
			if n := len(proxy.Writes()); n != written {
				written, since = n, time.Now()
			}
			if time.Since(since) < silence {
				return errors.New("it lives")
			}
			s.t.Logf("killed at the end of its history, which has no such write")
			op.Kill()
			return nil
		})
		start()
	}
}

// removedPrepared waits until a pod was prepared and then deleted, or stays and was
// notified of that.
func (s *scene) removedPrepared(pod string) {
	s.t.Helper()
	s.eventually(pod+" was removed prepared, or was notified that it stays", func(now present) error {
		received := s.callsTo(pod)
		prepared := strings.HasSuffix(received, "POST 200")
		switch stays := now.pods[pod] != nil; {
		case stays && prepared:
			return fmt.Errorf("it stays and received %q last", received)
		case !stays && !prepared:
			return fmt.Errorf("it was deleted and received %q", received)
		}
		return nil
	})
}
