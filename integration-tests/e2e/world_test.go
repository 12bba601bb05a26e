package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// world is the cluster that all scenes share.
type world struct {
	kubeconfig string
	config     *rest.Config
	admin      kubernetes.Interface
	kubectl    string   // program
	nodes      []string // names of the nodes that accept pods
	allNodes   []string
	cluster    *localcluster.Cluster // nil: it is the user's
	audit      *judge.AuditLog       // nil: it is not accessible
	leading    sync.Mutex            // for a test that ends the leader, from when it chooses it until another one leads
}

// theWorld returns the requested cluster.
func theWorld(t *testing.T) *world {
	t.Helper()
	switch {
	case !requested():
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_E2E=run to run this on nodes of its own (make e2e), KUBECONFIG_E2E=FILE for a cluster of yours")
	case yours() != "":
		return mustOpen(t, yours())
	case missing() != nil:
		t.Skipf("SKIPPED, NOT PROVED: no node can run here: %v", missing())
	}
	cluster := startCluster(t)
	w := mustOpen(t, cluster.AdminKubeconfig())
	w.cluster, w.audit = cluster, judge.NewAuditLog(cluster.AuditLog(), byOperator)
	return w
}

func mustOpen(t *testing.T, kubeconfig string) *world {
	t.Helper()
	w, err := openWorld(t.Context(), kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// openWorld reads a cluster and changes nothing.
func openWorld(ctx context.Context, kubeconfig string) (w *world, err error) {
	w = &world{}
	if w.kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return nil, err
	}
	if w.config, err = clientcmd.BuildConfigFromFlags("", w.kubeconfig); err != nil {
		return nil, err
	}
	w.config.QPS, w.config.WarningHandler = -1, rest.NoWarnings{}
	if w.admin, err = kubernetes.NewForConfig(w.config); err != nil {
		return nil, err
	}
	if w.kubectl, err = localcluster.Program(ctx, "kubectl", os.Stderr); err != nil {
		return nil, err
	}
	nodes, err := w.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, node := range nodes.Items {
		w.allNodes = append(w.allNodes, node.Name)
		if !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 {
			w.nodes = append(w.nodes, node.Name)
		}
	}
	return w, nil
}

// isYours reports whether the cluster belongs to the user. The suite then changes only objects that
// it created.
func (w *world) isYours() bool { return w.cluster == nil }

// run runs kubectl like a user.
func (w *world) run(t *testing.T, args ...string) {
	t.Helper()
	if err := w.try(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) try(ctx context.Context, args ...string) error {
	_, err := w.answer(ctx, args...)
	return err
}

// answer returns the output of kubectl.
func (w *world) answer(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, w.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	if enclosure.Inside() {
		command.Env = append(command.Env, "PATH="+enclosure.Dir()+":"+os.Getenv("PATH")) // with the plugin
	}
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %q: %w\n%s%s", args, err, out, complaint.String())
	}
	return string(out), nil
}
