package apiserver_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// A lost answer makes lockstep create a pod that it does not know of, and late watches show that only later. Such a pod leaves
// again, and no claim is created for it.
func TestStatefulClusterCreatesManyPodsWhileRequestsFailAndWatchesAreLate(t *testing.T) {
	t.Parallel()
	replicas, late, within := 30, time.Second, longPatience
	if everyFault() { // a failure ends the births of a plan, and the next plan waits for the caches
		replicas, late, within = 200, 2*time.Second, 10*time.Minute
	}
	_, seed := seeded(t)
	s := unmanaged(t)
	s.patience = within
	s.allowsPools()
	proxy, kubeconfig := s.proxied()
	for _, resource := range []string{"pods", "persistentvolumeclaims"} {
		proxy.DelayWatches(resource, late)
	}
	proxy.Play(faultproxy.Sometimes(seed, faultproxy.Write, 20, faultproxy.Lost(), faultproxy.Cut(), faultproxy.Answered(500), faultproxy.Answered(429)))
	s.startOperatorWith(kubeconfig, "-statefulcluster.enabled", "-leader-election.enabled=false")
	p := s.createPool(replicas, nil)
	pods := p.settles(replicas)
	p.eventually("the pods have all claims that exist", func(present) error {
		return errors.Join(p.hasClaims(2*replicas), p.claimsAreComplete(pods))
	})
}
