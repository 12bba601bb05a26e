// Package apiserver_test runs the real operator against a real API server with the real StatefulSet
// controller. Simulated kubelets run the pods.
//
//	test ──► scene: a namespace of its own, zones, changes
//	            │
//	            ├── witness: every version of every object, in the API server's order
//	            └── judge: the guarantees, in every test (package judge)
//
// All tests share one cluster and, if they can, one cluster-wide operator. The operator is the
// program itself, with its own service account and manifests/rbac, never an admin. At the end of
// every test, the history of the API server is judged. At the end of all tests, the API server's
// audit log is judged.
package apiserver_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const (
	home     = "lockstep-system"
	account  = "lockstep"
	optIn    = "lockstep.dev/enabled"
	manifest = "../../manifests/"
)

// testsAtOnce suits two cores, because tests wait more than they compute.
const testsAtOnce = "8"

// unrivalled is for an operator without other replicas. It stays the leader, even if the machine
// stalls for long.
var unrivalled = []string{"-leader-election.lease-duration=60s", "-leader-election.renew-deadline=40s"}

// world is the state that all tests share.
type world struct {
	cluster  *localcluster.Cluster
	admin    kubernetes.Interface
	dynamic  dynamic.Interface // of the admin
	audit    *judge.AuditLog
	program  string
	operator *operator // cluster-wide

	guarding  sync.Once
	unguarded error // why its webhook is not registered
}

var (
	shared  = sync.OnceValues(startWorld)
	started *world // set by startWorld, also if that fails
)

func TestMain(m *testing.M) {
	flag.Parse()
	enterNetwork()
	if !given("test.parallel") {
		if err := flag.Set("test.parallel", testsAtOnce); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if started != nil {
		code = max(code, started.end())
	}
	os.Exit(code)
}

func given(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// theWorld starts the cluster and the operator when the first test needs them.
func theWorld(t *testing.T) *world {
	t.Helper()
	w, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func startWorld() (*world, error) {
	ctx := context.Background()
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	w := &world{cluster: cluster, audit: judge.NewAuditLog(cluster.AuditLog(), byOperator)}
	started = w
	if w.admin, err = kubernetes.NewForConfig(cluster.AdminConfig()); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if w.dynamic, err = dynamic.NewForConfig(cluster.AdminConfig()); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	built, err := localcluster.BuildOperator(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	w.program = filepath.Join(cluster.Dir(), "lockstep") // the program stays there as long as the cluster
	if err := os.Rename(built, w.program); err != nil {
		return nil, fmt.Errorf("keep the operator's program: %w", err)
	}
	if err := cluster.Apply(ctx, manifest+"operator/namespace.yaml", manifest+"operator/serviceaccount.yaml",
		manifest+"crds", manifest+"rbac/cluster.yaml", manifest+"rbac/home.yaml", manifest+"rbac/references.yaml", manifest+"webhooks/certificate/role.yaml", manifest+"statefulcluster/role.yaml", manifest+"statefulcluster/policy.yaml"); err != nil {
		return nil, err
	}
	w.operator, err = w.start(ctx, home, slices.Concat(serveWebhooks(), unrivalled, []string{"-webhooks.update-ca-bundle=false", "-statefulcluster.enabled"})...)
	return w, err
}

// end stops everything and judges properties that only the complete run shows. It returns the exit
// code.
func (w *world) end() int {
	var wrong []string
	if w.operator != nil {
		wrong = append(wrong, w.endOperator()...)
	}
	requests, err := w.audit.Requests()
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	wrong = append(wrong, judge.ForbiddenRequests(slices.DeleteFunc(requests, ofDials), byOperator)...)
	wrong = append(wrong, judgePermissions(w.cluster.AuditLog())...)
	if err := w.cluster.Stop(); err != nil {
		wrong = append(wrong, err.Error())
	}
	if len(wrong) == 0 {
		return 0
	}
	fmt.Fprintf(os.Stderr, "--- FAIL: the entire run\n    %s\n", strings.Join(wrong, "\n    "))
	return 1
}

func (w *world) endOperator() []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-w.operator.Exited():
		return []string{"the shared operator ended by itself; its last lines:\n" + lastLines(w.operator.Logs(), "", 20)}
	default:
	}
	code, err := w.operator.Stop(ctx)
	switch {
	case err != nil:
		return []string{err.Error()}
	case code != 0:
		return []string{fmt.Sprintf("the shared operator ended with exit code %d after SIGTERM, 0 wanted", code)}
	}
	return nil
}
