package lease_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/lock/lease"
)

const (
	leaderLease = "lockstep-system/" + lease.LeaderName
	me          = "host_me"

	leaseDuration = 10 * time.Second
	renewDeadline = 6 * time.Second
	retryPeriod   = time.Second

	// betweenAttempts is the longest time between two attempts of client-go.
	betweenAttempts = retryPeriod * 22 / 10
)

// replica is one process that competes for leadership, with a journal of events.
type replica struct {
	*testing.T
	identity string
	server   *apiServer
	stop     context.CancelFunc
	ctx      context.Context //nolint:containedctx // the life of the process, which the test ends
	ended    chan error

	drain time.Duration // how long work takes to stop
	quits bool          // work returns by itself after a second

	mu      sync.Mutex
	journal []string
	terms   int
	working int
	most    int       // the most pieces of work that ran concurrently
	idle    time.Time // the last end of work
	seen    time.Time // when this replica last saw a leader renew
}

// begin starts the election; call it in a synctest bubble.
func (r *replica) begin() {
	r.ctx, r.stop = context.WithCancel(r.Context())
	r.ended = make(chan error, 1)
	log := logrus.New()
	log.SetOutput(io.Discard)
	if r.server.wrote == nil {
		r.server.wrote = func(holder string) {
			if holder == "" {
				r.record("Lease emptied")
			}
		}
	}
	election := lease.Election{
		Client: r.server.client(r), Namespace: "lockstep-system", Identity: r.identity,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, Log: log,
		OnLeading: func(leads bool) {
			r.record(map[bool]string{true: "leads", false: "leads no more"}[leads])
		},
		Renewed: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.seen = time.Now()
		},
	}
	go func() { r.ended <- election.Lead(r.ctx, r.work) }()
}

func (r *replica) work(ctx context.Context) {
	r.record("work begins")
	r.mu.Lock()
	r.terms++
	r.working++
	r.most = max(r.most, r.working)
	r.mu.Unlock()
	if r.quits {
		time.Sleep(time.Second)
	} else {
		<-ctx.Done()
		r.record("work is stopped")
		time.Sleep(r.drain)
	}
	r.record("work has ended")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = time.Now()
	r.working--
}

func (r *replica) record(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.journal = append(r.journal, event)
}

// led returns how often work has begun.
func (r *replica) led() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.terms
}

func (r *replica) recorded(want ...string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff(want, r.journal); diff != "" {
		r.Errorf("journal (-want +got):\n%s", diff)
	}
}

// end stops the process and returns how long that took.
func (r *replica) end() time.Duration {
	r.Helper()
	began := time.Now()
	r.stop()
	if err := <-r.ended; err != nil {
		r.Errorf("Lead returned %v", err)
	}
	return time.Since(began)
}

func (r *replica) holder() string {
	l := r.server.stored(leaderLease)
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// taken makes another replica the holder of the Lease, as of now.
func (r *replica) taken() {
	r.server.change(leaderLease, func(l *coordinationv1.Lease) bool {
		now := metav1.NowMicro()
		l.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("host_other"), LeaseDurationSeconds: new(int32(leaseDuration.Seconds())),
			AcquireTime: &now, RenewTime: &now, LeaseTransitions: new(int32(1)),
		}
		return true
	})
}

func inBubble(t *testing.T, story func(*replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		r := &replica{T: t, identity: me, server: newServer()}
		story(r)
		// A leaked goroutine makes the bubble fail.
	})
}

func TestLeadershipEndsInOrder(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.drain = 3 * time.Second
		r.begin()
		time.Sleep(time.Minute)
		r.recorded("leads", "work begins")
		if took := r.end(); took != r.drain {
			r.Errorf("the end took %s, want the time that work needs: %s", took, r.drain)
		}
		r.recorded("leads", "work begins", "work is stopped", "work has ended", "leads no more", "Lease emptied")
	})
}

// A standby replica can tell whether a leader works even if it cannot reach the leader.
func TestAReplicaLeadsForAsLongAsItRenewsTheLease(t *testing.T) {
	refuseWrites := func(q *http.Request) *http.Response {
		if q.Method == http.MethodPut {
			return refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return nil
	}
	unseen := func(r *replica) time.Duration {
		r.mu.Lock()
		defer r.mu.Unlock()
		return time.Since(r.seen)
	}
	inBubble(t, func(r *replica) {
		r.begin()
		time.Sleep(time.Minute)
		if age := unseen(r); age > betweenAttempts {
			r.Errorf("while this process leads, no renewal was seen for %s", age)
		}
		r.end()
	})
	inBubble(t, func(r *replica) {
		r.begin() // creates the Lease
		time.Sleep(time.Second)
		r.end()
		r.taken()
		r.server.meddle(refuseWrites)
		r.begin()
		for range 30 {
			time.Sleep(2 * time.Second)
			r.taken()
		}
		if age := unseen(r); age > 2*time.Second+betweenAttempts {
			r.Errorf("while another replica leads, no renewal was seen for %s", age)
		}
		time.Sleep(time.Minute)
		if age := unseen(r); age < time.Minute-betweenAttempts {
			r.Errorf("no replica has led for a minute, and a renewal was seen %s ago", age)
		}
		r.server.meddle(nil)
		r.end()
	})
}

func TestTheLeaseIsKeptWhileWorkEnds(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.drain = 3 * leaseDuration
		r.begin()
		time.Sleep(time.Minute)
		r.stop()
		for range 29 {
			time.Sleep(time.Second)
			l := r.server.stored(leaderLease)
			if age := time.Since(l.Spec.RenewTime.Time); r.holder() != me || age > 2*retryPeriod {
				r.Fatalf("while work ends the Lease is %q's and was renewed %s ago", r.holder(), age)
			}
		}
		r.end()
		if r.holder() != "" {
			r.Errorf("afterwards the Lease is %q's", r.holder())
		}
	})
}

func TestWorkEndsBeforeALostLeaseExpires(t *testing.T) {
	for sentence, interfere := range map[string]func(*http.Request) *http.Response{
		"the server refuses renewals": func(q *http.Request) *http.Response {
			if q.Method == http.MethodPut {
				return refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
			}
			return nil
		},
		"the server does not answer for a while": func(q *http.Request) *http.Response {
			select {
			case <-q.Context().Done():
			case <-time.After(2 * leaseDuration):
			}
			return refusal(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			inBubble(t, func(r *replica) {
				r.begin()
				time.Sleep(time.Minute)
				r.server.meddle(interfere)
				time.Sleep(leaseDuration)
				synctest.Wait()
				r.recorded("leads", "work begins", "work is stopped", "work has ended", "leads no more")
				expires := r.server.stored(leaderLease).Spec.RenewTime.Add(leaseDuration)
				if left := expires.Sub(r.idle); left < leaseDuration-renewDeadline-retryPeriod {
					r.Errorf("work had ended %s before others could lead", left)
				}
				r.server.meddle(nil)
				time.Sleep(3 * leaseDuration)
				if r.led() != 2 || r.holder() != me {
					r.Errorf("when the server is back: %d terms, the Lease is %q's", r.led(), r.holder())
				}
				r.end()
			})
		})
	}
}

func TestWorkOfTwoTermsNeverOverlaps(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.drain = 3 * leaseDuration
		r.begin()
		time.Sleep(time.Minute)
		r.server.change(leaderLease, func(*coordinationv1.Lease) bool { return false })
		r.server.meddle(func(*http.Request) *http.Response {
			return refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		})
		time.Sleep(leaseDuration) // leadership is lost, and the work takes time to end
		r.server.meddle(nil)
		time.Sleep(time.Minute)
		if r.led() != 2 || r.most != 1 {
			r.Errorf("worked %d times, at most %d at a time; want twice, one after the other", r.led(), r.most)
		}
		r.end()
	})
}

func TestALeaseTakenByAnotherClientIsLeftAlone(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.begin()
		time.Sleep(time.Minute)
		r.taken()
		time.Sleep(leaseDuration - time.Millisecond)
		r.recorded("leads", "work begins", "work is stopped", "work has ended", "leads no more")
		r.end()
		if r.holder() != "host_other" {
			r.Errorf("the Lease is %q's", r.holder())
		}
	})
}

func TestStoppedBeforeItEverLed(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before func(*replica)
		most   time.Duration
	}{
		"another replica leads": {(*replica).taken, 0},
		"the server does not answer": {func(r *replica) {
			r.server.meddle(func(q *http.Request) *http.Response { <-q.Context().Done(); return nil })
		}, retryPeriod},
		"the server refuses requests": {func(r *replica) {
			r.server.meddle(func(*http.Request) *http.Response { return refusal(403, metav1.StatusReasonForbidden) })
		}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			inBubble(t, func(r *replica) {
				tc.before(r)
				r.begin()
				time.Sleep(5*time.Second + 500*time.Millisecond)
				if took := r.end(); took > tc.most {
					r.Errorf("the end took %s", took)
				}
				r.recorded()
				if sent := r.server.sent(); slices.Contains(sent, http.MethodPut) {
					r.Errorf("wrote to a Lease that was not its own: %v", sent)
				}
			})
		})
	}
	t.Run("the process stops before the election begins", func(t *testing.T) {
		inBubble(t, func(r *replica) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			err := lease.Election{Client: r.server.client(r)}.Lead(ctx, r.work)
			if err != nil || len(r.server.sent()) != 0 {
				r.Errorf("got %v and requests %v", err, r.server.sent())
			}
		})
	})
}

func TestTheNextReplicaWaitsForNothing(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.begin()
		time.Sleep(time.Minute)
		next := &replica{T: r.T, identity: "host_next", server: r.server}
		next.begin()
		r.end()
		const poll = 100 * time.Millisecond
		freed := time.Now()
		for next.led() == 0 && time.Since(freed) < leaseDuration {
			time.Sleep(poll)
			synctest.Wait()
		}
		if took := time.Since(freed); took > betweenAttempts+poll {
			r.Errorf("after a graceful end the next replica led after %s, want that it does not wait for the Lease to expire", took)
		}
		next.end()
	})
}

func TestWorkThatReturnsEarlyIsBegunAgain(t *testing.T) {
	inBubble(t, func(r *replica) {
		r.quits = true
		r.begin()
		for r.led() < 3 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		r.end()
		r.mu.Lock()
		defer r.mu.Unlock()
		term := []string{"leads", "work begins", "work has ended", "leads no more", "Lease emptied"}
		if diff := cmp.Diff(slices.Repeat(term, 2), r.journal[:10]); diff != "" {
			r.Errorf("journal (-want +got):\n%s", diff)
		}
	})
}

func TestTimesThatClientGoRefusesAreAnError(t *testing.T) {
	err := lease.Election{
		Client: newServer().client(t), Identity: me,
		LeaseDuration: time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second,
	}.Lead(t.Context(), func(context.Context) { t.Error("worked") })
	if want := "set up leader election: leaseDuration must be greater than renewDeadline"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
