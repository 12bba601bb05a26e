package observe

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metadataclient "k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Scaled identifies an object with replicas and says whether it may be scaled down.
type Scaled struct {
	UID         string
	Version     plan.Version
	NoDownscale bool // its label or annotation no-downscale forbids a scale-down
}

// Scaled returns an object of apps/v1 from the cache: any StatefulSet, or a Deployment or
// ReplicaSet with the label no-downscale, whatever its value. It makes no request.
func (o *Observer) Scaled(resource, namespace, name string) (Scaled, bool) {
	if resource == "statefulsets" {
		set, known := o.Set(namespace, name)
		return Scaled{UID: set.UID, Version: set.Version, NoDownscale: set.NoDownscale}, known
	}
	informer, watched := o.labelled[resource]
	if !watched {
		return Scaled{}, false
	}
	item, exists, err := informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return Scaled{}, false
	}
	r, ok := item.(*labelledRecord)
	if !ok {
		return Scaled{}, false
	}
	return r.scaled, true
}

// labelledResources are watched by the label no-downscale.
var labelledResources = []string{"deployments", "replicasets"}

// watchLabelled returns the caches of objects with the label no-downscale. The API server sends
// only these objects, and only their metadata.
func watchLabelled(client metadataclient.Interface, namespace string) map[string]cache.SharedIndexInformer {
	labelled := map[string]cache.SharedIndexInformer{}
	for _, resource := range labelledResources {
		labelled[resource] = metadatainformer.NewFilteredMetadataInformer(
			client, appsv1.SchemeGroupVersion.WithResource(resource), namespace, 0, cache.Indexers{},
			func(l *metav1.ListOptions) { l.LabelSelector = contract.NoDownscaleLabel },
		).Informer()
	}
	return labelled
}

// labelledRecord is the cache's record of a Deployment or ReplicaSet.
type labelledRecord struct {
	namespace, name string
	scaled          Scaled
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (r *labelledRecord) GetObjectMeta() metav1.Object {
	return metadata(r.namespace, r.name, r.scaled.UID, r.scaled.Version)
}

func trimLabelled(object any) (any, error) {
	switch o := object.(type) {
	case *metav1.PartialObjectMetadata:
		return &labelledRecord{
			namespace: o.Namespace, name: o.Name,
			scaled: Scaled{UID: string(o.UID), Version: versionOf(o), NoDownscale: contract.NoDownscale(o.Labels, o.Annotations)},
		}, nil
	case *labelledRecord, cache.DeletedFinalStateUnknown:
		return object, nil
	}
	return nil, fmt.Errorf("trim metadata: unexpected %T", object)
}
