package apiserver_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// There are many faults, so each run tries only some of them, which a seed chooses. LOCKSTEP_SEED
// sets the seed. LOCKSTEP_FAULTS=all (make crashes) tries all of them.

func everyFault() bool { return os.Getenv("LOCKSTEP_FAULTS") == "all" }

// seeded returns a source of random numbers and its seed, which is the same for all tests of a run.
func seeded(t *testing.T) (*rand.Rand, uint64) {
	t.Helper()
	seed, err := seedOfRun()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("LOCKSTEP_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0)), seed
}

var seedOfRun = sync.OnceValues(func() (uint64, error) {
	text := os.Getenv("LOCKSTEP_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano()), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read LOCKSTEP_SEED: %w", err)
	}
	return seed, nil
})

// someOf returns a random sample of all, in their order. If every fault is to be tried, it returns
// all.
func someOf[T any](random *rand.Rand, few int, all []T) []T {
	if everyFault() {
		return all
	}
	chosen := random.Perm(len(all))[:min(few, len(all))]
	slices.Sort(chosen)
	var some []T
	for _, i := range chosen {
		some = append(some, all[i])
	}
	return some
}

// sideBySide runs a few subtests concurrently within the turn of their test. Parallel subtests
// would each wait for a turn of their own, after all tests that wait already. If each takes more
// than a minute because a grant must expire, the run would end with that wait. If every fault is
// tried, there are many subtests, and they are parallel.
func sideBySide[T any](t *testing.T, all []T, name func(T) string, run func(*testing.T, T)) {
	t.Helper()
	var running sync.WaitGroup
	defer running.Wait()
	for _, one := range all {
		if everyFault() {
			t.Run(name(one), func(t *testing.T) {
				t.Parallel()
				run(t, one)
			})
			continue
		}
		running.Go(func() {
			t.Run(name(one), func(t *testing.T) { run(t, one) })
		})
	}
}

// threeByThree returns the group in whose rollout the operator crashes.
func threeByThree() []*appsv1.StatefulSet {
	return []*appsv1.StatefulSet{zone("zone-a", 3), zone("zone-b", 3), zone("zone-c", 3)}
}

// crashPoint is the time in a rollout at which the operator is killed: when one of its writes has
// been sent, or when it has been answered.
type crashPoint struct {
	write faultproxy.Request
	after bool
}

func (p crashPoint) String() string {
	if p.after {
		return "after " + p.write.String()
	}
	return "before " + p.write.String()
}

func TestARolloutSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	const few = 4
	var points []crashPoint
	for _, write := range writesOfARollout(t) {
		points = append(points, crashPoint{write, false}, crashPoint{write, true})
	}
	chosen := someOf(random, few, points)
	t.Logf("a rollout of three zones of three pods has %d crash points; %d of them are tried", len(points), len(chosen))
	var missed atomic.Int64
	for _, point := range chosen {
		t.Run(point.String(), func(t *testing.T) {
			t.Parallel()
			if !point.isSurvived(t) {
				missed.Add(1)
			}
		})
	}
	t.Cleanup(func() { // one rollout may need more writes than another
		if n := missed.Load(); n > 2 {
			t.Errorf("%d of %d crash points were not reached", n, len(chosen))
		}
	})
}

// writesOfARollout returns the writes of a rollout without a crash.
func writesOfARollout(t *testing.T) []faultproxy.Request {
	t.Helper()
	s := unmanaged(t)
	s.create(threeByThree()...)
	s.withRole()
	proxy, kubeconfig := s.proxied()
	op := s.startOperatorWith(kubeconfig, withoutElection)
	s.changeAll(version(2))
	s.settled()
	op.Kill()
	s.wantDeletions(s.allPods()...)
	return proxy.Writes()
}

// killing returns a fault that kills an operator before or after a request, and a channel that is
// closed when the operator was killed.
func killing(op *operator, after bool) (faultproxy.Fault, <-chan struct{}) {
	crashed := make(chan struct{})
	crash := func() {
		op.Kill()
		close(crashed)
	}
	if after {
		return faultproxy.CrashAfter(crash), crashed
	}
	return faultproxy.CrashBefore(crash), crashed
}

// isSurvived tests a rollout with this crash and returns whether the rollout reached the crash
// point.
func (p crashPoint) isSurvived(t *testing.T) bool {
	t.Helper()
	s := unmanaged(t)
	s.create(threeByThree()...)
	s.withRole()
	proxy, kubeconfig := s.proxied()
	op := s.startOperatorWith(kubeconfig, withoutElection)
	fault, crashed := killing(op, p.after)
	proxy.Play(faultproxy.At(p.write.Number, fault))
	s.changeAll(version(2))
	reached := s.crashes(crashed)
	if reached {
		s.startOperatorWith(kubeconfig, withoutElection)
	}
	s.settled()
	s.wantEachOnce()
	return reached
}

func TestARolloutSurvivesOneCrashAfterTheOther(t *testing.T) {
	t.Parallel()
	random, _ := seeded(t)
	s := unmanaged(t)
	s.rules.unordered = true // two pods may be recorded together, and only one of them may have been deleted
	s.create(zone("zone-a", 3, maxUnavailable("2")), zone("zone-b", 3, maxUnavailable("3")), zone("zone-c", 2))
	s.withRole()
	proxy, kubeconfig := s.proxied()
	op := s.startOperatorWith(kubeconfig, withoutElection)
	s.changeAll(version(2))
	crashes := 4
	if everyFault() {
		crashes = 15
	}
	for range crashes {
		crashed := make(chan struct{})
		at := len(proxy.Writes()) + 1 + random.IntN(3)
		fault := []func(func()) faultproxy.Fault{faultproxy.CrashBefore, faultproxy.CrashAfter}[random.IntN(2)]
		killed := op
		proxy.Play(faultproxy.At(at, fault(func() {
			killed.Kill()
			close(crashed)
		})))
		if !s.crashes(crashed) {
			break
		}
		op = s.startOperatorWith(kubeconfig, withoutElection)
	}
	proxy.Play(nil)
	s.settled()
	s.wantEachOnce()
}

// crashes waits for a crash. It returns false if the rollout ended without one.
func (s *scene) crashes(crashed <-chan struct{}) bool {
	s.t.Helper()
	happened := false
	s.eventually("the operator is killed or has finished", func(now present) error {
		select {
		case <-crashed:
			happened = true
			return nil
		default:
		}
		for _, name := range s.zones {
			if err := finished(now, name); err != nil {
				return fmt.Errorf("it lives, and %w", err)
			}
		}
		return free(now)
	})
	return happened
}
