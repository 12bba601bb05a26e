package admission

import (
	"context"
	"errors"
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

// ScaleParents are the objects behind Scales: from the cache where that has them
// and is as new as the Scale, otherwise by one read of their metadata. What has no
// label is cached only if it is a StatefulSet.
type ScaleParents struct {
	// Cached returns what is scaled from the cache: observe.Observer.Scaled.
	Cached func(resource, namespace, name string) (observe.Scaled, bool)
	Client kubernetes.Interface
}

// scaledResources are those that may carry the label.
var scaledResources = []string{"statefulsets", "deployments", "replicasets"}

// Permissions are what the reads of this package need.
func Permissions() []permission.Need {
	needs := make([]permission.Need, 0, len(scaledResources))
	for _, resource := range scaledResources {
		needs = append(needs, permission.Need{
			APIGroup: "apps", Resource: resource, Verbs: []string{"get"},
			Why: "read the labels of an object that is scaled through /scale",
		})
	}
	return needs
}

// NoDownscale implements Parents.
func (p ScaleParents) NoDownscale(ctx context.Context, c Change) (bool, error) {
	if c.Group != "apps" || !slices.Contains(scaledResources, c.Resource) {
		return false, fmt.Errorf("nothing is known of %.80q of group %.80q", c.Resource, c.Group)
	}
	if cached, known := p.Cached(c.Resource, c.Namespace, c.Name); known && shows(cached, c.Old) {
		return cached.NoDownscale, nil
	}
	parent, err := p.read(ctx, c)
	return contract.NoDownscale(parent.Labels, parent.Annotations), err
}

// shows reports whether the cache has the object in the state that its Scale shows,
// or in a later one. Where it lags behind, a read decides: the label may have come,
// or have been taken off, and then the object may shrink at once.
func shows(cached observe.Scaled, scale Object) bool {
	shown, ordered := plan.ParseVersion(scale.Version)
	return ordered && cached.UID == scale.UID && cached.Version >= shown
}

// metadataOnly asks the API server for nothing but an object's metadata.
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
		return metav1.PartialObjectMetadata{}, errors.New("the API server answered with something that is not metadata")
	}
	return parent, nil
}
