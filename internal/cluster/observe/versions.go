package observe

import "k8s.io/client-go/tools/cache"

// Versions returns, by resource, the version up to which each cache shows the cluster. The
// version of a cache that has not been filled is empty.
func (o *Observer) Versions() map[string]string {
	versions := map[string]string{}
	add := func(name string, informer cache.SharedIndexInformer) {
		versions[name] = informer.GetStore().LastStoreSyncResourceVersion()
	}
	add("pods", o.pods)
	add("statefulsets", o.zones)
	add("leases", o.holds.Informer())
	if o.namespaces != nil {
		add("namespaces", o.namespaces)
	}
	for resource, informer := range o.labelled {
		add(resource, informer)
	}
	return versions
}
