// Package apiserver_test runs the real operator against a real API server with
// the real StatefulSet controller; pods are played by simulated kubelets.
//
//	test ──► scene: a namespace of its own, zones, changes
//	            │
//	            ├── witness: every state of every object, in the API server's order
//	            └── judge: what may never happen, in any test (package judge)
//
// All tests share one cluster and, where they can, one operator that works
// cluster-wide. The operator is the program itself, with its own service account
// and manifests/rbac, never an admin. What it may not do is judged at the end of
// every test from what the API server told, and at the end of all tests from the
// API server's audit log.
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

// testsAtOnce suits two cores: tests wait more than they compute.
const testsAtOnce = "8"

// unrivalled is an operator that nobody else wants to lead in the place of: it goes on
// to lead, however long the machine stands still.
var unrivalled = []string{"-leader-election.lease-duration=60s", "-leader-election.renew-deadline=40s"}

// world is what all tests share.
type world struct {
	cluster  *localcluster.Cluster
	admin    kubernetes.Interface
	audit    *judge.AuditLog
	program  string
	operator *operator // cluster-wide

	guarding  sync.Once
	unguarded error // why its webhook is not registered
}

var (
	shared  = sync.OnceValues(startWorld)
	started *world // set by startWorld, also when it does not come to its end
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

// theWorld starts the cluster and the operator when the first test asks for them.
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
	built, err := localcluster.BuildOperator(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	w.program = filepath.Join(cluster.Dir(), "lockstep") // where it stays as long as the cluster
	if err := os.Rename(built, w.program); err != nil {
		return nil, fmt.Errorf("keep the operator's program: %w", err)
	}
	if err := cluster.Apply(ctx, manifest+"operator/namespace.yaml", manifest+"operator/serviceaccount.yaml",
		manifest+"crds", manifest+"rbac/cluster.yaml", manifest+"rbac/home.yaml", manifest+"rbac/references.yaml", manifest+"webhooks/certificate/role.yaml"); err != nil {
		return nil, err
	}
	w.operator, err = w.start(ctx, home, slices.Concat(serveWebhooks(), unrivalled, []string{"-webhooks.update-ca-bundle=false"})...)
	return w, err
}

// end stops everything and judges what only the whole run can show. It returns
// the exit code.
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
	fmt.Fprintf(os.Stderr, "--- FAIL: the run as a whole\n    %s\n", strings.Join(wrong, "\n    "))
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
