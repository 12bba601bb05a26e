package admission

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ScaleParents looks up the objects of Scales. It uses the cache if the cache is as new as
// the Scale, and reads the metadata from the API server otherwise. Of objects without the
// label, only StatefulSets are cached.
type ScaleParents struct {
	// Cached returns the scaled object from the cache: observe.Observer.Scaled.
	Cached func(resource, namespace, name string) (observe.Scaled, bool)
	Client kubernetes.Interface
}

// scaledResources are the resources that can have the label.
var scaledResources = []string{"statefulsets", "deployments", "replicasets"}

// Permissions returns the permissions for the reads of this package.
func Permissions() []permission.Need {
	needs := make([]permission.Need, 0, len(scaledResources))
	for _, resource := range scaledResources {
		needs = append(needs, permission.Need{
			APIGroup: "apps", Resource: resource, Verbs: []string{"get"},
			Why: "read the labels of objects that are scaled through /scale",
		})
	}
	return needs
}

// NoDownscale implements Parents.
func (p ScaleParents) NoDownscale(ctx context.Context, c Change) (bool, error) {
	if c.Group != "apps" || !slices.Contains(scaledResources, c.Resource) {
		return false, fmt.Errorf("look up the labels of %.80q of group %.80q: the resource must be one of %v of group apps", c.Resource, c.Group, scaledResources)
	}
	if cached, known := p.Cached(c.Resource, c.Namespace, c.Name); known && upToDate(cached, c.Old) {
		return cached.NoDownscale, nil
	}
	parent, err := p.read(ctx, c)
	return contract.NoDownscale(parent.Labels, parent.Annotations), err
}

// upToDate reports whether the cached object is at least as new as the Scale. If it is older,
// the label may have been added or removed since.
func upToDate(cached observe.Scaled, scale Object) bool {
	shown, ordered := plan.ParseVersion(scale.Version)
	return ordered && cached.UID == scale.UID && cached.Version >= shown
}

// metadataOnly requests only an object's metadata from the API server.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

func (p ScaleParents) read(ctx context.Context, c Change) (metav1.PartialObjectMetadata, error) {
	var parent metav1.PartialObjectMetadata
	text, err := p.Client.AppsV1().RESTClient().Get().
		Namespace(c.Namespace).Resource(c.Resource).Name(c.Name).
		SetHeader("Accept", metadataOnly).
		Do(ctx).Raw()
	if err != nil {
		return parent, fmt.Errorf("read metadata of %s/%s: %w", c.Resource, c.Name, err)
	}
	if err := json.Unmarshal(text, &parent); err != nil || parent.Name != c.Name {
		return metav1.PartialObjectMetadata{}, fmt.Errorf("read metadata of %s/%s: the API server's answer is not metadata", c.Resource, c.Name)
	}
	return parent, nil
}
