package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/permission"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ScaleParents are the objects behind Scales: StatefulSets from the cache where
// that is as new as the Scale, everything else by one read of its metadata.
type ScaleParents struct {
	// Cached returns a StatefulSet from the cache.
	Cached func(namespace, name string) (observe.Set, bool)
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
			Why: "look at the labels of what is scaled through /scale",
		})
	}
	return needs
}

// NoDownscale implements Parents.
func (p ScaleParents) NoDownscale(ctx context.Context, c Change) (bool, error) {
	if c.Group != "apps" || !slices.Contains(scaledResources, c.Resource) {
		return false, fmt.Errorf("nothing is known of %.80q of group %.80q", c.Resource, c.Group)
	}
	if set, fresh := p.cached(c); fresh {
		return set.NoDownscale, nil
	}
	labels, err := p.read(ctx, c)
	return contract.NoDownscale(labels), err
}

// cached returns the StatefulSet if the cache has it in the state that the Scale
// shows, or in a later one.
func (p ScaleParents) cached(c Change) (observe.Set, bool) {
	if c.Resource != "statefulsets" {
		return observe.Set{}, false
	}
	set, known := p.Cached(c.Namespace, c.Name)
	shown, ordered := plan.ParseVersion(c.Old.Version)
	return set, known && ordered && set.UID == c.Old.UID && set.Version >= shown
}

// metadataOnly asks the API server for nothing but an object's metadata.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

func (p ScaleParents) read(ctx context.Context, c Change) (map[string]string, error) {
	text, err := p.Client.AppsV1().RESTClient().Get().
		Namespace(c.Namespace).Resource(c.Resource).Name(c.Name).
		SetHeader("Accept", metadataOnly).
		Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("read metadata of %s/%s: %w", c.Resource, c.Name, err)
	}
	var parent metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &parent); err != nil || parent.Name != c.Name {
		return nil, errors.New("the API server answered with something that is no metadata")
	}
	return parent.Labels, nil
}
