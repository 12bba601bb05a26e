package observe

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// PutInCache puts an object into the cache of its kind, as the watch of a running Observer does. It is
// for simulations, which replace the watches: they do not run the Observer, and PutInCache notifies no
// listener.
func (o *Observer) PutInCache(object runtime.Object) error {
	informer, trim, err := o.cacheOf(object)
	if err != nil {
		return err
	}
	kept, err := trim(object)
	if err != nil {
		return err
	}
	return informer.GetIndexer().Update(kept)
}

// RemoveFromCache removes an object from the cache of its kind. It is the inverse of PutInCache.
func (o *Observer) RemoveFromCache(object runtime.Object) error {
	informer, _, err := o.cacheOf(object)
	if err != nil {
		return err
	}
	return informer.GetIndexer().Delete(object)
}

// AdvanceCache sets the version up to which the cache of the object's kind shows the cluster.
func (o *Observer) AdvanceCache(version plan.Version, object runtime.Object) error {
	informer, _, err := o.cacheOf(object)
	if err != nil {
		return err
	}
	informer.GetIndexer().Bookmark(version.String())
	return nil
}

func (o *Observer) cacheOf(object runtime.Object) (cache.SharedIndexInformer, cache.TransformFunc, error) {
	switch object.(type) {
	case *corev1.Pod:
		return o.pods, o.keepPod, nil
	case *appsv1.StatefulSet:
		return o.zones, trimZone, nil
	case *corev1.Namespace:
		if o.namespaces != nil {
			return o.namespaces, trimNamespace, nil
		}
	}
	return nil, nil, fmt.Errorf("show %T: no cache is for it", object)
}
