package apiserver_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// behind is the delay with which an operator observes changes.
const behind = 2 * time.Second

func TestALateViewOfTheWorldBreaksNothing(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"statefulsets", "pods"} {
		for _, budget := range []string{"1", "2"} {
			t.Run(fmt.Sprintf("%s seen late, budget %s", late, budget), func(t *testing.T) {
				t.Parallel()
				s := unmanaged(t)
				s.rules.grace = defaultGrace + behind
				s.create(zone("zone-a", 3, maxUnavailable(budget)), zone("zone-b", 2, maxUnavailable(budget)))
				s.withRole()
				s.startOperatorWith(s.lateWatches(late), withoutElection)
				s.changeAll(version(2))
				s.settled()
				s.wantEachOnce()
			})
		}
	}
}

func TestALateViewOfPodsSurvivesADrainAndANewTemplate(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules = rules{grace: defaultGrace + behind, unordered: true}
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.withRole()
	s.startOperatorWith(s.lateWatches("pods"), withoutElection)
	s.changeAll(version(2))
	s.awaitDeletion("zone-a-0")
	s.deletePod("zone-b-1")
	s.changeAll(version(3))
	s.settled()
}

// withoutElection makes an operator work at once.
const withoutElection = "-leader-election.enabled=false"

// lateWatches returns a kubeconfig for the API server behind a proxy. The proxy delays the watch
// events of one resource, and forwards everything else at once.
func (s *scene) lateWatches(resource string) string {
	s.t.Helper()
	proxy, kubeconfig := s.proxied()
	proxy.DelayWatches(resource, behind)
	s.t.Cleanup(func() {
		if proxy.Counts().Watches[resource] == 0 {
			s.t.Errorf("no watch of %s came through the proxy, so nothing was late", resource)
		}
	})
	return kubeconfig
}

// proxied returns a proxy for the API server and a kubeconfig for it.
func (s *scene) proxied() (*faultproxy.Proxy, string) {
	s.t.Helper()
	direct := s.world.cluster.AdminConfig() // for address and CA; the operator uses its own token
	proxy, err := faultproxy.Start(direct.Host, direct.CAData)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(proxy.Close)
	return proxy, s.redirected(proxy.URL(), proxy.Authority())
}

// redirected returns the scene's kubeconfig with another server.
func (s *scene) redirected(server string, authority []byte) string {
	s.t.Helper()
	config, err := clientcmd.LoadFromFile(s.kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = server, authority
	}
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		s.t.Fatal(err)
	}
	return file
}
