package apiserver_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair is two operators on one host. leader is the leader that was observed last.
type pair struct{ leader, follower *operator }

// startReplicas starts two operators for this namespace only, and waits until one of them is the
// leader. Call withRole first.
func (s *scene) startReplicas() *pair {
	s.t.Helper()
	r := &pair{leader: s.startOperator(impatient...), follower: s.startOperator(impatient...)}
	s.awaitLeader(r)
	return r
}

// awaitLeader waits until exactly one of two operators is the leader, and records which one.
func (s *scene) awaitLeader(r *pair) {
	s.t.Helper()
	s.eventually("one of the two leads", func(present) error {
		one, other := leads(r.leader), leads(r.follower)
		if one == other {
			return fmt.Errorf("both have the same state: %t", one)
		}
		if other {
			r.leader, r.follower = r.follower, r.leader
		}
		return nil
	})
}

// awaitLeadership waits until an operator reports that it is the leader.
func (s *scene) awaitLeadership(o *operator) {
	s.t.Helper()
	s.eventually("the operator leads", func(present) error {
		if !leads(o) {
			return errors.New("not yet")
		}
		return nil
	})
}

func leads(o *operator) bool {
	logs := o.Logs()
	return strings.LastIndex(logs, `"leads":true`) > strings.LastIndex(logs, `"leads":false`)
}

func TestALeaderThatIsKilledIsReplacedByTheOtherReplica(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3))
	s.withRole()
	r := s.startReplicas()
	s.changeAll(version(2), readyAfter(short))
	s.awaitDeletion("zone-a-0")
	r.leader.Kill()
	s.awaitLeadership(r.follower)
	s.settled()
	s.wantEachOnce()
}

// A process may be stopped at any point and continue after its leadership has ended. Its pending
// writes must then fail, or still be correct.
func TestALeaderThatSleepsPastItsLeaseDoesNoHarmWhenItWakesUp(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := unmanaged(t)
	s.rules.unordered = true // every new template restarts the order
	s.create(zone("zone-a", 3), zone("zone-b", 3), zone("zone-c", 3))
	s.withRole()
	r := s.startReplicas()
	for n := range 3 {
		s.changeAll(version(n+2), readyAfter(100*time.Millisecond))
		s.writesAgain(r.leader)
		time.Sleep(time.Duration(random.Int64N(int64(100 * time.Millisecond))))
		s.signal(r.leader, syscall.SIGSTOP)
		s.awaitLeadership(r.follower)
		s.writesAgain(r.follower)
		s.signal(r.leader, syscall.SIGCONT)
		s.settled()
		s.awaitLeader(r) // the stopped operator has observed that it lost leadership, or has it again
	}
	for name, o := range map[string]*operator{"the leader": r.leader, "the follower": r.follower} {
		if code, body := o.get("/ready"); code != 200 {
			t.Errorf("%s is not ready: %s", name, body)
		}
	}
}

func (s *scene) signal(o *operator, signal syscall.Signal) {
	s.t.Helper()
	if err := o.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

func TestReplicasThatFollowEachOtherFinishOneRolloutTogether(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3))
	s.withRole()
	r := s.startReplicas()
	s.changeAll(version(2), readyAfter(short))
	for range 3 { // like repeated rollouts of the Deployment
		s.writesAgain(r.leader)
		if code := stopGently(t, r.leader); code != 0 {
			t.Errorf("exit code %d after SIGTERM, want 0", code)
		}
		s.awaitLeadership(r.follower)
		r.leader, r.follower = r.follower, s.startOperator(impatient...)
	}
	s.settled()
	s.wantEachOnce()
}
