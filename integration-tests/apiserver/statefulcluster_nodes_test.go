package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// onNodes returns a StatefulCluster of the shared operator, with one pod on each of three nodes of its own.
func onNodes(t *testing.T, more map[string]any) (p pool, nodes []string) {
	t.Helper()
	const replicas = 3
	s := managed(t)
	nodes = s.ownNodes(replicas)
	s.schedulesOn(nodes...)
	return s.createPool(replicas, more), nodes
}

// falls makes a node silent, and returns since when it is.
func (p pool) falls(node string) (since time.Time) {
	p.t.Helper()
	p.isLost(node, `"true"`)
	since = time.Now().Truncate(time.Second)
	silent := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": %q}]}}`, since.UTC().Format(time.RFC3339))
	if _, err := p.world.admin.CoreV1().Nodes().Patch(p.t.Context(), node, types.StrategicMergePatchType, silent, metav1.PatchOptions{}, "status"); err != nil {
		p.t.Fatal(err)
	}
	return since
}

// rises makes a silent node report again.
func (p pool) rises(node string) { p.t.Helper(); p.isLost(node, "null") }

// isLost sets the label of a node whose kubelet has stopped, as JSON.
func (p pool) isLost(node, value string) {
	p.t.Helper()
	label := fmt.Appendf(nil, `{"metadata": {"labels": {%q: %s}}}`, localcluster.Lost, value)
	if _, err := p.world.admin.CoreV1().Nodes().Patch(p.t.Context(), node, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// on returns the name of the pod on a node.
func (p pool) on(node string) string {
	p.t.Helper()
	for _, pod := range p.pods() {
		if pod.Spec.NodeName == node {
			return pod.Name
		}
	}
	p.t.Fatalf("no pod is on node %s", node)
	return ""
}

func TestStatefulClusterReplacesThePodsOfNodesThatAreGone(t *testing.T) {
	t.Parallel()
	p, nodes := onNodes(t, nil)
	p.settles(3)
	gone := []string{p.on(nodes[0]), p.on(nodes[1])}
	for _, node := range nodes[:2] {
		if err := p.world.admin.CoreV1().Nodes().Delete(t.Context(), node, deleteOptions); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("new identities take the places of both pods", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, gone[0]) || slices.Contains(names, gone[1]) || len(names) != 3 {
			return fmt.Errorf("the pods are %v, were %v", names, gone)
		}
		return nil
	})
	p.settlesExceptHold(3)
	for _, name := range gone { // as the garbage collection of pods does, after a while
		force := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), name, force); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		p.endsAs(name, "NodeGone")
	}
	p.settles(3)
}

// deletionOf returns when a pod that terminates was deleted.
func (p pool) deletionOf(name string) time.Time {
	p.t.Helper()
	pod, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions)
	if err != nil || pod.DeletionTimestamp == nil {
		p.t.Fatalf("pod %s does not terminate: %v", name, err)
	}
	return pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
}

// endsAs waits until a pod that terminates has ended, and checks why the claims of its identity are former ones.
func (p pool) endsAs(name, why string) {
	p.t.Helper()
	p.eventually("pod "+name+" has ended", func(present) error {
		if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is read with the error %w", err)
		}
		return nil
	})
	id := strings.TrimPrefix(name, "db-")
	p.eventually("its claims say why", func(present) error {
		if living, retired := p.claims(id); len(living) > 0 || !slices.Equal(retired, []string{"db-data-" + id + " " + why, "db-logs-" + id + " " + why}) {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}

// keepsInDoubt waits until the status says that pods are kept because too many are unavailable, and checks that these stay.
func (p pool) keepsInDoubt(names []string) {
	p.t.Helper()
	p.eventually("the status says that too many are unavailable", func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if why, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason"); why != "TooManyUnhealthy" {
			return fmt.Errorf("it says %s", why)
		}
		return nil
	})
	p.stays("no pod is deleted", aWhile, func(present) error {
		if now, _ := identities(p.pods()); !slices.Equal(now, names) {
			return fmt.Errorf("the pods are %v, were %v", now, names)
		}
		return nil
	})
}

func TestStatefulClusterGivesUpTheIdentityOfALostNodeOnlyIfTheOthersAreAvailable(t *testing.T) {
	t.Parallel()
	const lost = 3 * time.Second
	p, nodes := onNodes(t, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(lost.Seconds())}})
	p.settles(3)
	first := p.on(nodes[0])
	since := p.falls(nodes[0])
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, first) || len(names) != 3 {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	after := p.settlesExceptHold(3)
	names, _ := identities(after)
	if deleted := p.deletionOf(first); deleted.Before(since.Add(lost)) {
		t.Errorf("the pod was deleted %s after its node fell silent", deleted.Sub(since))
	}
	p.rises(nodes[0])
	p.endsAs(first, "NodeLost")
	p.hasStayed(after, p.settles(3))
	onLost := []string{p.on(nodes[1]), p.on(nodes[2])}
	p.falls(nodes[1])
	p.falls(nodes[2])
	p.keepsInDoubt(names)
	if err := p.world.admin.CoreV1().Nodes().Delete(t.Context(), nodes[1], deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the pod of the node that is gone is replaced, and the other one stays", func(present) error {
		now, _ := identities(p.pods())
		if slices.Contains(now, onLost[0]) || !slices.Contains(now, onLost[1]) || len(now) != 3 {
			return fmt.Errorf("the pods are %v", now)
		}
		return nil
	})
}

// The replacement of a pod on a silent node has no node yet when another node falls silent.
func TestStatefulClusterKeepsThePodOfASecondWave(t *testing.T) {
	t.Parallel()
	p, nodes := onNodes(t, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(3)}})
	p.settles(3)
	first, second := p.on(nodes[0]), p.on(nodes[1])
	p.cordons(nodes[1], true)
	p.cordons(nodes[2], true)
	p.falls(nodes[0])
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.pods()); slices.Contains(names, first) || len(names) != 3 {
			return fmt.Errorf("the pods are %v", names)
		}
		return nil
	})
	names, _ := identities(p.pods())
	p.falls(nodes[1])
	p.keepsInDoubt(names)
	p.cordons(nodes[2], false)
	p.eventually("a new identity takes the place of the second pod", func(present) error {
		if now, _ := identities(p.pods()); slices.Contains(now, second) || len(now) != 3 {
			return fmt.Errorf("the pods are %v", now)
		}
		return nil
	})
	p.settlesExceptHold(3)
}

// The node of the only pod falls silent, and reports again.
func TestStatefulClusterKeepsItsOnlyPodOnASilentNode(t *testing.T) {
	t.Parallel()
	s := managed(t)
	nodes := s.ownNodes(2)
	s.schedulesOn(nodes...)
	p := s.createPool(1, map[string]any{"liveness": map[string]any{"nodeLostSeconds": int64(3)}})
	before := p.settles(1)
	names, _ := identities(before)
	p.falls(before[0].Spec.NodeName)
	p.keepsInDoubt(names)
	p.rises(before[0].Spec.NodeName)
	p.hasStayed(before, p.settles(1))
}
