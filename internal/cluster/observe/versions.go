package observe

import "k8s.io/client-go/tools/cache"

// Versions returns up to which version of the cluster each cache shows it, by the
// resource; empty for one that is not filled yet.
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
