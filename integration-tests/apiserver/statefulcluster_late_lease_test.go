package apiserver_test

import (
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// The process that has recorded hand-overs ends before it creates the next pods. The other one sees the pods gone, and sees the records
// seconds later. It must not give the places to new identities: the former ones would have none, and policies would delete their claims.
func TestStatefulClusterHandsIdentitiesOverThatAnotherProcessHasRecorded(t *testing.T) {
	t.Parallel()
	t.Run("during an update", func(t *testing.T) {
		t.Parallel()
		p, first, second := poolOfLateProcess(t, map[string]any{
			"template":                             podTemplate(map[string]any{"lockstep.test/gone-after": "1s"}),
			"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete", "whenReplaced": "Delete"},
			"updateStrategy":                       map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "RecreateKeepIdentity"}},
		})
		before, _ := identities(p.settles(3))
		p.updates(withContainer("db:2", ""))
		p.untilGone(2)
		first.Kill()
		p.signal(second, syscall.SIGCONT)
		after, _ := identities(p.hasImage(3, "db:2"))
		p.keeps(before, after)
	})
	t.Run("after all pods have ended", func(t *testing.T) {
		t.Parallel()
		p, first, second := poolOfLateProcess(t, map[string]any{})
		before, _ := identities(p.settles(3))
		p.signal(first, syscall.SIGSTOP)
		for _, name := range before {
			p.fails(name, "")
		}
		time.Sleep(time.Second) // so that the process sees all of them at once
		p.signal(first, syscall.SIGCONT)
		p.untilGone(0)
		first.Kill()
		p.signal(second, syscall.SIGCONT)
		after, _ := identities(p.settles(3))
		p.keeps(before, after)
	})
}

// poolOfLateProcess returns three replicas with two processes that both believe to lead. The first one cannot create pods any more, and the
// second one is suspended. It sees Leases 5 s late.
func poolOfLateProcess(t *testing.T, spec map[string]any) (p pool, first, second *operator) {
	t.Helper()
	s := unmanaged(t)
	s.patience = 2 * time.Minute
	s.allowsPools()
	late, kubeconfig := s.proxied()
	late.DelayWatches("leases", 5*time.Second)
	refusing, ofFirst := s.proxied()
	first = s.startOperatorWith(ofFirst, "-statefulcluster.enabled", withoutElection)
	p = s.createPool(3, spec)
	p.settles(3)
	second = s.startOperatorWith(kubeconfig, "-statefulcluster.enabled", withoutElection)
	time.Sleep(6 * time.Second) // it has seen all that exists
	p.signal(second, syscall.SIGSTOP)
	refusing.Play(func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Method == http.MethodPost && r.Resource == "pods" {
			return faultproxy.Answered(http.StatusInternalServerError)
		}
		return faultproxy.Fault{}
	})
	return p, first, second
}

// untilGone waits until at most so many pods exist.
func (p pool) untilGone(most int) {
	p.t.Helper()
	for deadline := time.Now().Add(p.patience); len(p.pods()) > most; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%d pods exist, want at most %d", len(p.pods()), most)
		}
	}
}

// keeps checks that all identities are still used.
func (p pool) keeps(before, after []string) {
	p.t.Helper()
	for _, name := range before {
		if !slices.Contains(after, name) {
			living, retired := p.claims(name[3:])
			p.t.Errorf("the identity of %s is given up; its claims: living %v, retired %v", name, living, retired)
		}
	}
}
