package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// world is the cluster that all scenes share.
type world struct {
	kubeconfig string
	config     *rest.Config
	admin      kubernetes.Interface
	kubectl    string   // program
	nodes      []string // their names
	audit      *judge.AuditLog
}

// theWorld is the cluster that was asked for.
func theWorld(t *testing.T) *world {
	t.Helper()
	switch {
	case !asked():
		t.Skip("set LOCKSTEP_E2E=run to run this on nodes of its own (make e2e), KUBECONFIG_E2E=FILE for a cluster of yours")
	case yours() != "":
		return newWorld(t, yours())
	case missing() != nil:
		t.Skipf("SKIPPED, NOT PROVED: no node can run here: %v", missing())
	}
	own := startOwnCluster(t)
	w := newWorld(t, own.AdminKubeconfig())
	w.audit = judge.NewAuditLog(own.AuditLog(), byOperator)
	return w
}

func newWorld(t *testing.T, kubeconfig string) *world {
	t.Helper()
	w := &world{kubeconfig: kubeconfig}
	var err error
	if w.config, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		t.Fatal(err)
	}
	w.config.QPS, w.config.WarningHandler = -1, rest.NoWarnings{}
	if w.admin, err = kubernetes.NewForConfig(w.config); err != nil {
		t.Fatal(err)
	}
	if w.kubectl, err = localcluster.Program(t.Context(), "kubectl", os.Stderr); err != nil {
		t.Fatal(err)
	}
	nodes, err := w.admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		if !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			w.nodes = append(w.nodes, node.Name)
		}
	}
	return w
}

// run runs kubectl as a user would.
func (w *world) run(t *testing.T, args ...string) {
	t.Helper()
	if err := w.try(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) try(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, w.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %q: %w\n%s", args, err, out)
	}
	return nil
}
