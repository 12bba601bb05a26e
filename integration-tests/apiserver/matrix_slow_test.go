package apiserver_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

const (
	// slow is the delay of each answer of a slow API server.
	slow = 700 * time.Millisecond
	// webhookTimeout is how long the API server waits for a webhook.
	webhookTimeout = 10 * time.Second
	// almostTimeout is shortly before a webhook must have refused a request.
	almostTimeout = 8 * time.Second
)

// late delays every request except those for leadership. An operator that loses leadership ends,
// and interrupts its answers.
func late(d time.Duration) faultproxy.Script {
	return func(q faultproxy.Request) faultproxy.Fault {
		if q.Kind == faultproxy.Leader {
			return faultproxy.Fault{}
		}
		return faultproxy.Held(d)
	}
}

func TestARolloutContinuesSlowlyWhileTheAPIServerIsSlow(t *testing.T) {
	t.Parallel()
	c := onTrial(t)
	c.rules.grace, c.patience = defaultGrace+slow, longPatience
	c.start()
	c.create(zone("zone-a", 2), zone("zone-b", 1))
	c.proxy.Play(late(slow))
	began := time.Now()
	c.changeAll(version(2))
	c.settled()
	c.wantDeletions("zone-a-0", "zone-a-1", "zone-b-0")
	const least = 3 * 2 * slow // three pods; each is recorded and then deleted
	if took := time.Since(began); took < least {
		t.Errorf("took %s, at least %s wanted: the API server was not slow", took, least)
	}
}

// guardedBehindProxy returns a trial whose operator is called about downscales of the default group
// and of a Deployment.
func guardedBehindProxy(t *testing.T) *trial {
	t.Helper()
	c := onTrial(t)
	c.patience = longPatience
	c.start()
	c.isCalled()
	c.barsToo(c.secret().Data["ca"])
	return c
}

// answeredInTime fails the test unless an answer takes at least this long and less than
// webhookTimeout.
func (c *trial) answeredInTime(least time.Duration, request func() error) error {
	c.t.Helper()
	began := time.Now()
	err := request()
	if took := time.Since(began); took < least || took >= webhookTimeout {
		c.t.Errorf("answered after %s, want %s to %s", took, least, webhookTimeout)
	}
	return err
}

// answeredJustInTime makes a request while plays delays the answer almost until the timeout of the
// API server. If the API server times out, it tries again, up to two times. Any other answer was
// given in time.
func (c *trial) answeredJustInTime(plays func(), request func() error) error {
	c.t.Helper()
	for attempt := 1; ; attempt++ {
		plays()
		began := time.Now()
		err := request()
		took := time.Since(began)
		if took < almostTimeout {
			c.t.Errorf("answered after %s, want %s at least", took, almostTimeout)
		}
		if !apierrors.IsInternalError(err) {
			return err
		}
		if attempt == 3 {
			c.t.Errorf("no answer in %s, three times: %v", webhookTimeout, err)
			return err
		}
	}
}

func TestADownscaleIsAdmittedInTimeWhileTheAPIServerIsSlow(t *testing.T) {
	t.Parallel()
	c := guardedBehindProxy(t)
	c.create(zone("zone-a", 3, prepares), zone("zone-b", 2, prepares))
	c.awaitScalable("zone-a")
	c.proxy.Play(late(slow))
	const least = 3 * slow // a live read, a record before the pod is called, and a record after that
	if err := c.answeredInTime(least, func() error { return c.scaleBy(scaled, "zone-a", -1) }); err != nil {
		t.Error(err)
	}
	c.keepsBarred(patched, scaled)
	c.settled()
	c.removedPrepared("zone-a-2")
	c.noPreparedPodStays("zone-a-0", "zone-a-1", "zone-b-0", "zone-b-1")
}

func TestADownscaleIsRefusedInTimeWhileTheAPIServerIsTooSlow(t *testing.T) {
	t.Parallel()
	c := guardedBehindProxy(t)
	c.create(zone("zone-a", 3, prepares), zone("zone-b", 2, prepares))
	c.awaitScalable("zone-a")
	tooSlow := func() { c.proxy.Play(late(webhookTimeout)) }
	err := c.answeredJustInTime(tooSlow, func() error { return c.scaleBy(scaled, "zone-a", -1) })
	c.refuses(err, apierrors.IsTooManyRequests, "the API server did not show the group")
	c.changedNothing()
	c.keepsBarred(patched)
	c.proxy.Play(nil)
	c.scalesDownAtLast(scaled, "zone-a")
	c.settled()
	c.removedPrepared("zone-a-2")
}

// The record of a downscale may be written although its answer comes too late. lockstep then
// cancels the downscale. This writes to the zone, so the API server may call the webhook again by
// itself.
func TestADownscaleThatIsRecordedTooLateIsCancelled(t *testing.T) {
	t.Parallel()
	c := guardedBehindProxy(t)
	c.create(zone("zone-a", 3), zone("zone-b", 2))
	before := int32(0)
	tooLate := func() {
		c.settled()
		c.awaitScalable("zone-a")
		if l := c.witness.now().leases[theLease]; l != nil {
			before = *l.Spec.LeaseTransitions
		}
		c.proxy.Play(answersNotesLate())
	}
	err := c.answeredJustInTime(tooLate, func() error { return c.scaleBy(scaled, "zone-a", -1) })
	want, recorded := int32(2), int32(2) // the late downscale, and then the admitted one
	if apierrors.IsTooManyRequests(err) {
		want, recorded = 3, 1
	} else if err != nil {
		t.Error(err)
	}
	c.settled()
	if n := *c.witness.now().sets["zone-a"].Spec.Replicas; n != want {
		t.Errorf("zone-a has %d replicas, want %d: %v", n, want, err)
	}
	if n := *c.lease(theLease).Spec.LeaseTransitions - before; n != recorded {
		t.Errorf("the hold was taken %d times, want %d: %v", n, recorded, err)
	}
	c.scalesDownAtLast(scaled, "zone-a")
	c.settled()
}

// answersNotesLate delays the answer to the first write of a Lease until the webhook call has timed
// out. The write succeeds.
func answersNotesLate() faultproxy.Script {
	var recorded atomic.Bool
	return func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Resource == "leases" && r.Method != http.MethodDelete && recorded.CompareAndSwap(false, true) {
			return faultproxy.CrashAfter(func() { time.Sleep(webhookTimeout) })
		}
		return faultproxy.Fault{}
	}
}
