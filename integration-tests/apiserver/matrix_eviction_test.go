package apiserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// evictionsOn makes the API server call the operators of a trial about evictions.
func (c *trial) evictionsOn() *evictor {
	c.t.Helper()
	e, ca := evictorOf(c.scene), c.knownCA()
	e.boundBy(c.service.address, ca)
	e.evictedBy(c.service.address, ca)
	return e
}

// evictionsAnswered is evictionsOn for operators that answer. It waits until the API server calls
// them.
func (c *trial) evictionsAnswered() *evictor {
	c.t.Helper()
	e := evictorOf(c.scene)
	e.evictedAndBoundBy(c.service.address, c.knownCA())
	return e
}

// knownCA returns the CA by which the API server already verifies the operators of a trial.
func (c *trial) knownCA() []byte {
	c.t.Helper()
	known, err := c.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(c.t.Context(), c.name, getOptions)
	if err != nil {
		c.t.Fatal(err)
	}
	return known.Webhooks[0].ClientConfig.CABundle
}

// evictable returns a trial whose operator the API server calls about evictions.
func evictable(t *testing.T, args ...string) (*trial, *evictor, *operator) {
	t.Helper()
	c := onTrial(t, args...)
	op := c.start()
	c.isCalled()
	e := c.evictionsAnswered()
	c.create(zone("zone-a", 2), zone("zone-b", 2))
	e.mayEvict("zone-a-0")
	return c, e, op
}

func TestAnEvictionIsGrantedInTimeWhileTheAPIServerIsSlow(t *testing.T) {
	t.Parallel()
	c, e, _ := evictable(t)
	c.patience = longPatience
	c.proxy.Play(late(slow))
	before := e.pod("zone-a-0")
	const least = 2 * slow // a live read and a record
	if err := c.answeredInTime(least, func() error { return e.evict(before.Name) }); err != nil {
		t.Error(err)
	}
	e.comesBack(before)
	c.settled()
}

func TestAnEvictionIsRefusedInTimeWhileTheAPIServerIsTooSlow(t *testing.T) {
	t.Parallel()
	c, e, _ := evictable(t)
	before := e.pod("zone-a-0")
	tooSlow := func() { c.proxy.Play(late(webhookTimeout)) }
	err := c.answeredJustInTime(tooSlow, func() error { return e.evict(before.Name) })
	e.refused(err, "the API server did not show the group")
	c.changedNothing()
	c.proxy.Play(nil)
	c.eventually("it is evicted", func(present) error { return e.evict(before.Name) })
	e.comesBack(before)
	c.settled()
}

func TestEvictionsAreRefusedWhileTheOperatorIsAway(t *testing.T) {
	t.Parallel()
	c, e, op := evictable(t, impatient...)
	op.Kill()
	for _, pod := range c.allPods() {
		c.refuses(e.evict(pod), apierrors.IsInternalError, "pod-eviction-pin.lockstep.dev")
	}
	c.start()
	before := e.pod("zone-a-0")
	c.eventually("it is evicted", func(present) error { return e.evict(before.Name) })
	e.comesBack(before)
	c.settled()
}

func TestEveryReplicaAnswersEvictionsWithoutALeader(t *testing.T) {
	t.Parallel()
	c, replicas := leaderless(t)
	e := c.evictionsAnswered()
	first, second := e.pod("zone-a-0"), e.pod("zone-b-0")
	c.lingers(first.Name, never)
	c.service.leadTo(webhookAddress(t, replicas[0]))
	c.eventually("one is evicted", func(present) error { return e.evict(first.Name) })
	for _, o := range replicas {
		c.service.leadTo(webhookAddress(t, o))
		err := c.heldUpBy("eviction/zone-a", func() error { return e.evict(second.Name) })
		e.refused(err, "eviction of "+second.Name)
	}
	c.endsLingering(first.Name)
	e.comesBack(first)
	c.eventually("the other one is evicted", func(present) error { return e.evict(second.Name) }) // by the replica that did not grant the first one
	e.comesBack(second)
	c.leadership("")
	c.settled()
}

// answered repeats a request if the connection of its webhook call was cut.
func (c *trial) answered(request func() error) error {
	c.t.Helper()
	var err error
	c.eventually("there is an answer", func(present) error {
		if err = request(); apierrors.IsInternalError(err) {
			return err
		}
		return nil
	})
	return err
}

// heldUpBy repeats a request that is refused until the refusal names a holder. A replica may
// observe a disruption before it observes the hold.
func (c *trial) heldUpBy(holder string, request func() error) error {
	c.t.Helper()
	var err error
	c.eventually("a refusal names "+holder, func(present) error {
		if err = c.answered(request); !apierrors.IsTooManyRequests(err) {
			c.t.Fatalf("got %v, want a 429 that names %s", err, holder)
		}
		if !strings.Contains(err.Error(), holder) {
			return err
		}
		return nil
	})
	return err
}

func TestAnEvictionIsRefusedBeforeTheCachesAreFilled(t *testing.T) {
	t.Parallel()
	c, b, release := unsynced(t)
	e := c.evictionsOn()
	c.eventually("the API server calls the webhook", func(present) error {
		if err := e.evict("zone-a-0"); !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	for _, pod := range c.allPods() {
		e.refused(e.evict(pod), "the caches of this replica of lockstep are not filled yet")
	}
	c.changedNothing()
	release()
	b.ready()
	before := e.pod("zone-a-0")
	c.eventually("it is evicted", func(present) error { return e.evict(before.Name) })
	e.comesBack(before)
	c.settled()
}

func TestAnEvictionIsRefusedUntilTheExpiredCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	for name, expired := range expiries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, renew := expired(t)
			e := c.evictionsOn()
			c.eventually("the API server calls the webhook", func(present) error {
				err := e.evict("missing-0")
				if err == nil || !apierrors.IsInternalError(err) {
					return errors.Join(errors.New("not yet"), err)
				}
				return nil
			})
			c.refuses(e.evict("zone-a-0"), apierrors.IsInternalError, "tls: ")
			renew()
			before := e.pod("zone-a-0")
			c.eventually("it is evicted", func(present) error { return e.evict(before.Name) })
			e.comesBack(before)
			c.settled()
		})
	}
}
