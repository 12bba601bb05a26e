package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
	startNodes(t, programs, realnode.Options{Kubeconfig: cluster.AdminKubeconfig()}, 0, 1, 2)
	return cluster
}

func clusterOptions() localcluster.Options {
	return localcluster.Options{Progress: os.Stderr, Address: realnode.Gateway, Scheduler: true, SilentAfter: time.Minute}
}

func survives(t *testing.T, what interface{ Alive() error }) {
	t.Helper()
	t.Cleanup(func() {
		if err := what.Alive(); err != nil {
			t.Error(err)
		}
	})
}

// startNodes starts nodes with these numbers concurrently, in the zones a, b and c in turn.
func startNodes(t *testing.T, programs realnode.Programs, options realnode.Options, numbers ...int) []*realnode.Node {
	t.Helper()
	var err error
	if options.Images, err = filepath.Glob(filepath.Join(enclosure.Dir(), imagesFolder, "*.tar")); err != nil {
		t.Fatal(err)
	}
	options.Pause = images.Pause
	nodes, failures := make([]*realnode.Node, len(numbers)), make([]error, len(numbers))
	var all sync.WaitGroup
	for i, number := range numbers {
		of := options
		of.Number, of.Zone = number, []string{"a", "b", "c"}[number%3]
		all.Go(func() { nodes[i], failures[i] = realnode.Start(t.Context(), programs, of) })
	}
	all.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		survives(t, node)
	}
	return nodes
}
