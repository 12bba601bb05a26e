package e2e_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// evictsWithinTheBudget evicts a member, and another one as soon as a new member serves in place of the first one.
func (w *world) evictsWithinTheBudget(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-evicts", 2, w.nodes...)
	before := p.begins(3, nil, variable("MEMBER_START", "5s"))
	p.addDisks(w.nodes[0], w.nodes[1])
	first, second := &before[0], &before[1]
	p.isEvicted(first)
	p.isRefused(second, "eviction of "+second.Name+" in "+group+" is refused (", "1 of at most 1 down")
	p.isEvicted(second)
	p.serves(3, second.Name)
	p.wantOthersServed(2, first, second)
	p.wantEnded(first, "EvictionGranted")
	p.wantEnded(second, "EvictionGranted")
	p.settles()
	p.wantIdentities(5)
}

// evicts asks the API server once to evict a member.
func (p *pool) evicts(pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.name, Name: pod.Name}}
	return p.admin.PolicyV1().Evictions(p.name).Evict(p.t.Context(), eviction)
}

// isEvicted evicts a member as soon as that is allowed, as a drain does. No answer but "not now" may come before.
func (p *pool) isEvicted(pod *corev1.Pod) {
	p.t.Helper()
	eventually(p.t, pod.Name+" is evicted", func() error {
		err := p.evicts(pod)
		if err != nil && !apierrors.IsTooManyRequests(err) {
			p.t.Fatalf("the eviction of %s is answered with %v", pod.Name, err)
		}
		return err
	})
}

// isRefused waits until an eviction of a member is refused with an answer that contains these texts. A replica may not know of
// the present state at once, but none may allow the eviction.
func (p *pool) isRefused(pod *corev1.Pod, texts ...string) {
	p.t.Helper()
	eventually(p.t, "the eviction of "+pod.Name+" is refused for its reason", func() error {
		err := p.evicts(pod)
		if !apierrors.IsTooManyRequests(err) {
			p.t.Fatalf("the eviction of %s is answered with %v, 429 wanted", pod.Name, err)
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				return fmt.Errorf("the answer lacks %q: %w", text, err)
			}
		}
		return nil
	})
}

// wantOthersServed fails the test unless each of these members has terminated, and so many others served when it began to.
func (p *pool) wantOthersServed(least int, ended ...*corev1.Pod) {
	p.t.Helper()
	serving, began := map[string]bool{}, map[string]bool{}
	for _, e := range p.history() {
		pod := e.Pod
		if pod == nil {
			continue
		}
		delete(serving, pod.UID)
		if pod.Serving() {
			serving[pod.UID] = true
		}
		if (pod.Terminating || pod.Deleted) && !began[pod.UID] {
			began[pod.UID] = true
			if isOneOf(ended, pod) && len(serving) < least {
				p.t.Errorf("when %s began to terminate, %d others served, %d wanted", pod.Name, len(serving), least)
			}
		}
	}
	for _, pod := range ended {
		if !began[string(pod.UID)] {
			p.t.Errorf("%s has not terminated", pod.Name)
		}
	}
}

func isOneOf(pods []*corev1.Pod, pod *judge.Pod) bool {
	for _, p := range pods {
		if string(p.UID) == pod.UID {
			return true
		}
	}
	return false
}

// grants returns how many evictions the Lease of the StatefulCluster has recorded so far.
func (p *pool) grants() int {
	p.t.Helper()
	granted := map[string]bool{}
	for _, e := range p.history() {
		if e.PoolHold == nil {
			continue
		}
		for _, intent := range e.PoolHold.Intents {
			if intent.Cause == "EvictionGranted" {
				granted[intent.UID] = true
			}
		}
	}
	return len(granted)
}

// isFollowed waits until another pod of the name of a member serves.
func (p *pool) isFollowed(pod *corev1.Pod) {
	p.t.Helper()
	eventually(p.t, "another pod with the name "+pod.Name+" serves", func() error {
		next, err := p.admin.CoreV1().Pods(p.name).Get(p.t.Context(), pod.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case next.UID == pod.UID:
			return errors.New("it is still the former one")
		case !isReady(next):
			return fmt.Errorf("it is not Ready: %s", next.Status.Phase)
		}
		return nil
	})
}
