package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/integration-tests/realnode"
)

// startCluster starts a control plane and a node in each of three zones. It fails the test if one
// of them has ended before the test ends.
func startCluster(t *testing.T) *localcluster.Cluster {
	t.Helper()
	if err := realnode.OpenNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster := localcluster.For(t, clusterOptions())
	programs, err := realnode.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	coredns, err := localcluster.DNSProgram(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := programs.Versions(t.Context(), coredns)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("nodes of %s", strings.Join(versions, ", "))
	dns, err := realnode.StartDNS(t.Context(), coredns, cluster.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	survives(t, dns)
	for _, node := range startNodes(t, programs, cluster.AdminKubeconfig()) {
		survives(t, node)
	}
	return cluster
}

func clusterOptions() localcluster.Options {
	return localcluster.Options{Progress: os.Stderr, Address: realnode.Gateway, Scheduler: true}
}

func survives(t *testing.T, what interface{ Alive() error }) {
	t.Helper()
	t.Cleanup(func() {
		if err := what.Alive(); err != nil {
			t.Error(err)
		}
	})
}

// startNodes starts a node in each zone, concurrently.
func startNodes(t *testing.T, programs realnode.Programs, kubeconfig string) []*realnode.Node {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(enclosure.Dir(), imagesFolder, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	zones := []string{"a", "b", "c"}
	nodes, failures := make([]*realnode.Node, len(zones)), make([]error, len(zones))
	var all sync.WaitGroup
	for i, zone := range zones {
		all.Go(func() {
			nodes[i], failures[i] = realnode.Start(t.Context(), programs, realnode.Options{
				Number: i, Zone: zone, Kubeconfig: kubeconfig, Images: files, Pause: images.Pause,
			})
		})
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	return nodes
}
