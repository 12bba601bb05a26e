package apiserver_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// labelled gives a pod the label that the selector of the StatefulCluster needs, or another value of it.
func (p pool) labelled(pod, value string) {
	p.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {"app": %q}}}`, value)
	if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(p.t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// A person takes the only copy out and gives it back while its node is silent and the pod in its place is not Ready. It is not known
// whether fewer pods are asked for, so both stay.
func TestStatefulClusterKeepsTheOnlyCopyThatIsGivenBackOnASilentNode(t *testing.T) {
	t.Parallel()
	s := managed(t)
	nodes := s.ownNodes(2)
	s.schedulesOn(nodes...)
	p := s.createPool(1, map[string]any{
		"liveness": map[string]any{"nodeLostSeconds": int64(3)}, "updateStrategy": map[string]any{"type": "OnDelete"},
	})
	last := p.settles(1)[0]
	p.updates(fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {%q: "300s"}}}}}`, localcluster.ReadyAfter))
	p.eventually("the template is accepted", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if conditionNamed(o, "Ready")["reason"] != "UpdatesByDeletion" {
			return fmt.Errorf("Ready is %v", conditionNamed(o, "Ready"))
		}
		return nil
	})
	p.labelled(last.Name, "debug")
	p.eventually("another pod is scheduled", func(present) error {
		for _, pod := range p.pods() {
			if pod.Name != last.Name && pod.Spec.NodeName != "" {
				return nil
			}
		}
		return errors.New("it is not")
	})
	p.falls(last.Spec.NodeName)
	p.stays("no pod leaves until the node is lost", 4*time.Second, func(present) error { return p.hasPods(2) })
	p.labelled(last.Name, "db")
	names, _ := identities(p.pods())
	if len(names) != 2 {
		t.Fatalf("the pods are %v", names)
	}
	p.keepsInDoubt(names)
}
