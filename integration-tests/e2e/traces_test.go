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
)

func (w *world) wantNoTraces(t *testing.T) {
	t.Helper()
	switch there, err := w.traces(t.Context()); {
	case err != nil:
		t.Fatal(err)
	case len(there) > 0:
		t.Fatalf("of lockstep there is %q", there)
	}
}

// traces returns every object of the cluster whose name, namespace or labels belong to lockstep.
func (w *world) traces(ctx context.Context) ([]string, error) {
	client, err := metadata.NewForConfig(w.config)
	if err != nil {
		return nil, err
	}
	kinds, err := listable(w.admin.Discovery())
	if err != nil {
		return nil, err
	}
	var found []string
	for _, kind := range kinds {
		objects, err := client.Resource(kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		for _, object := range objects.Items {
			if ofLockstep(&object) && !w.ofANode(object.Name) {
				found = append(found, fmt.Sprintf("%s %s/%s", kind.Resource, object.Namespace, object.Name))
			}
		}
	}
	return found, nil
}

// ofANode reports whether an object is named after a node. A node may have lockstep in its name.
func (w *world) ofANode(name string) bool {
	return slices.ContainsFunc(w.allNodes, func(node string) bool { return strings.Contains(name, node) })
}

func ofLockstep(object *metav1.PartialObjectMetadata) bool {
	return named(object.Name) || object.Namespace == home || object.Labels["app.kubernetes.io/name"] == "lockstep"
}

// named reports whether lockstep gives such names.
func named(name string) bool {
	return strings.Contains(name, "lockstep") || strings.HasSuffix(name, ".rollout-operator.grafana.com")
}

// listable returns the kinds of stored objects, except Events.
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
