package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func (w *world) installsOnAnEmptyCluster(t *testing.T) {
	if there := w.traces(t); len(there) > 0 {
		t.Fatalf("the cluster is not empty: %q", there)
	}
	w.install(t, manifests, images.Operator)
	pods, err := w.replicas(t.Context())
	if err != nil || len(pods) != 2 {
		t.Fatalf("there are %d replicas, %v", len(pods), err)
	}
	if len(w.nodes) > 1 && pods[0].Spec.NodeName == pods[1].Spec.NodeName {
		t.Errorf("both replicas are on %s", pods[0].Spec.NodeName)
	}
	for _, pod := range pods {
		if got := pod.Spec.Containers[0].Image; got != images.Operator {
			t.Errorf("%s runs %s", pod.Name, got)
		}
	}
}

// uninstalls carries the command of docs/installation.md out, and the one beside it
// that takes the definitions away.
func (w *world) uninstalls(t *testing.T) {
	s := w.scene(t, "uninstalls")
	s.create(zone("a", 1), zone("b", 1))
	s.change(revision("2"))
	s.settled() // and has a Lease
	w.uninstall(t)
	if left := w.traces(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

func (w *world) uninstall(t *testing.T) {
	t.Helper()
	w.run(t, "delete", "-k", kustomization(t, manifests, images.Operator))
	w.run(t, "delete", "leases", "--all-namespaces", "--selector=lockstep.dev/hold")
	w.run(t, "delete", "-f", manifests+"/crds")
}

// traces returns every object of the cluster whose name, namespace or labels say that
// it is lockstep's.
func (w *world) traces(t *testing.T) []string {
	t.Helper()
	client, err := metadata.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := listable(w.admin.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, kind := range kinds {
		objects, err := client.Resource(kind).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("list %s: %v", kind, err)
		}
		for _, object := range objects.Items {
			if ofLockstep(&object) {
				found = append(found, fmt.Sprintf("%s %s/%s", kind.Resource, object.Namespace, object.Name))
			}
		}
	}
	return found
}

func ofLockstep(object *metav1.PartialObjectMetadata) bool {
	return strings.Contains(object.Name, "lockstep") || object.Namespace == home ||
		strings.HasSuffix(object.Name, ".rollout-operator.grafana.com") || object.Labels["app.kubernetes.io/name"] == "lockstep"
}

// listable returns the kinds of objects that are kept, events left out.
func listable(client discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && resource.Name != "events" {
				kinds = append(kinds, version.WithResource(resource.Name))
			}
		}
	}
	return kinds, nil
}
