package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
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

// poolOfTwo returns a StatefulCluster of two processes that both believe to lead. One of them, whose requests go through the
// proxy, has created the pods and is to fall asleep. The other one is stopped until then.
func poolOfTwo(t *testing.T, replicas int) (p pool, proxy *faultproxy.Proxy, sleeper, other *operator) {
	t.Helper()
	s := unmanaged(t)
	s.allowsPools()
	proxy, kubeconfig := s.proxied()
	sleeper = s.startOperatorWith(kubeconfig, "-statefulcluster.enabled", withoutElection)
	p = s.createPool(replicas, nil)
	p.settles(replicas)
	other = s.startOperator("-statefulcluster.enabled", withoutElection)
	p.signal(other, syscall.SIGSTOP)
	return p, proxy, sleeper, other
}

// A process creates pods while another one is asleep in the middle of creating the same ones. Once that one wakes up, some pods are
// too many. They leave again, and the pods that serve stay. On a slow machine the process may be asleep for longer than its requests last.
func TestStatefulClusterKeepsThePodsThatServeWhenAProcessWakesUpAmidBirths(t *testing.T) {
	t.Parallel()
	for range 3 {
		if wakesUpAmidBirths(t) || t.Failed() {
			return
		}
	}
	t.Error("NOT PROVED: the machine is so slow that three times the process was asleep for longer than its requests last")
}

// wakesUpAmidBirths reports whether the process has created all pods, so that some were too many.
func wakesUpAmidBirths(t *testing.T) bool {
	t.Helper()
	const before, after = 2, 12
	p, proxy, sleeper, other := poolOfTwo(t, before)
	served := p.pods()
	var births atomic.Int32
	const asleepAt = 3 // births are sent in runs of 1, 2, 4 and so on
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Method == http.MethodPost && r.Resource == "pods" && births.Add(1) == asleepAt {
			return faultproxy.StoppedAt(func() { _ = sleeper.Signal(syscall.SIGSTOP) })
		}
		return faultproxy.Fault{}
	})
	p.scales(after)
	p.eventually("the process is asleep", func(present) error {
		if births.Load() < asleepAt {
			return fmt.Errorf("it has created %d pods", births.Load())
		}
		return nil
	})
	asleep := time.Now()
	p.signal(other, syscall.SIGCONT)
	p.eventually("the other process has created all pods", func(present) error {
		if n := len(p.pods()); n < after {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	served = append(served, slices.DeleteFunc(p.pods(), func(pod corev1.Pod) bool { return !isReady(&pod) })...)
	p.signal(sleeper, syscall.SIGCONT)
	const longest = 10 * time.Second // what a plan asks for is given up then
	p.eventually("the process has created the other pods, which are too many", func(present) error {
		if n := births.Load(); n < after-before && time.Since(asleep) < 2*longest {
			return fmt.Errorf("it has created %d pods", n)
		}
		return nil
	})
	created := births.Load()
	pods := p.settles(after)
	_, uids := identities(pods)
	for _, pod := range served {
		if !slices.Contains(uids, string(pod.UID)) {
			t.Errorf("pod %s has served and is gone", pod.Name)
		}
	}
	p.eventually("the pods have all claims that exist", func(present) error {
		return errors.Join(p.hasClaims(2*after), p.claimsAreComplete(pods))
	})
	return created >= after-before
}

// A process is asleep between the record of the pods that leave and their deletion. Another one deletes them, and then more pods are
// asked for. Once the first one wakes up, no pod leaves.
func TestStatefulClusterKeepsThePodsThatServeWhenAProcessWakesUpAmidADownscale(t *testing.T) {
	t.Parallel()
	const before, between = 4, 2
	p, proxy, sleeper, other := poolOfTwo(t, before)
	var asleep atomic.Bool
	proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Resource == "leases" && !asleep.Swap(true) {
			return faultproxy.StoppedAt(func() { _ = sleeper.Signal(syscall.SIGSTOP) })
		}
		return faultproxy.Fault{}
	})
	p.scales(between)
	p.eventually("the pods that leave are recorded, and the process is asleep", func(present) error {
		lease, err := p.world.admin.CoordinationV1().Leases(p.scene.name).Get(t.Context(), "lockstep-statefulcluster-db", getOptions)
		if err != nil {
			return err
		}
		if lease.Annotations["lockstep.dev/intents"] == "" || !asleep.Load() {
			return errors.New("the Lease has no intents")
		}
		return nil
	})
	if pods := p.pods(); len(pods) != before {
		t.Fatalf("%d pods are left, and the process has not been asleep in time", len(pods))
	}
	p.signal(other, syscall.SIGCONT)
	p.settles(between)
	p.scales(before)
	serving := p.settles(before)
	p.signal(sleeper, syscall.SIGCONT)
	p.stays("all pods stay", aWhile, func(present) error {
		p.hasStayed(serving, p.pods())
		return nil
	})
	if deleted := p.deletions(); deleted != before-between {
		t.Errorf("%d pods were deleted, want %d", deleted, before-between)
	}
}

// deletions returns how many pods operators have deleted.
func (p pool) deletions() (n int) {
	p.t.Helper()
	for _, r := range p.requests() {
		if r.Verb == "delete" && r.Resource == "pods" && r.User == p.own.User && r.Code < http.StatusMultipleChoices {
			n++
		}
	}
	return n
}

// noStatus is a policy by which the API server refuses statuses of StatefulClusters in a namespace.
const noStatus = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules:
    - {apiGroups: ["lockstep.dev"], apiVersions: ["*"], resources: ["statefulclusters/status"], operations: ["UPDATE"]}
  validations:
  - {expression: "false", message: "not now"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: ["Deny"]}
`

// Nothing else happens after the last pod has become Ready, so no event leads to the next write.
func TestStatefulClusterWritesAStatusAgainThatWasRefusedForAWhile(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, nil)
	p.settles(2)
	accepts := func() error {
		_, err := p.resources(statefulClusters).Patch(t.Context(), p.name, types.MergePatchType, []byte(`{"status": {"trace": "x"}}`), metav1.PatchOptions{DryRun: dryRun}, "status")
		return err
	}
	p.applies(strings.ReplaceAll(noStatus, "NAME", p.scene.name))
	p.eventually("statuses are refused", func(present) error {
		if accepts() == nil {
			return errors.New("they are accepted")
		}
		return nil
	})
	p.scales(3)
	p.eventually("three pods are Ready", func(present) error {
		ready := 0
		for _, pod := range p.pods() {
			if isReady(&pod) {
				ready++
			}
		}
		if ready != 3 {
			return fmt.Errorf("%d are", ready)
		}
		return nil
	})
	began := time.Now()
	time.Sleep(8 * time.Second)
	writes := len(slices.DeleteFunc(p.requests(), func(r judge.Request) bool {
		return !byOperator(r.User) || r.Resource != "statefulclusters/status" || r.At.Before(began)
	}))
	if writes > 8 {
		t.Errorf("the status was written %d times within 8 s, although the API server refuses it", writes)
	}
	policies := p.world.admin.AdmissionregistrationV1()
	binding := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), p.scene.name, deleteOptions)
	if err := errors.Join(binding, policies.ValidatingAdmissionPolicies().Delete(t.Context(), p.scene.name, deleteOptions)); err != nil {
		t.Fatal(err)
	}
	p.eventually("statuses are accepted", func(present) error { return accepts() })
	p.settles(3)
}
