package e2e_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func (w *world) installsOnAnEmptyCluster(t *testing.T) {
	w.wantNoTraces(t)
	w.install(t, manifests, images.Operator)
	pods, err := w.replicas(t.Context())
	if err != nil || len(pods) != 2 {
		t.Fatalf("there are %d replicas, %v", len(pods), err)
	}
	if !w.isYours() && pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Errorf("both replicas are on %s", pods[0].Spec.NodeName)
	}
	for _, pod := range pods {
		if got := pod.Spec.Containers[0].Image; got != images.Operator {
			t.Errorf("%s runs %s", pod.Name, got)
		}
	}
}
