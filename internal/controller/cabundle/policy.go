package cabundle

import (
	"cmp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Policy is what API servers do with a request while a webhook does not answer.
type Policy struct {
	Namespace string // that the configuration is labelled for; empty: none
	Kind      Kind
	Webhook   string // its name
	Ignored   bool   // they go on without its answer
}

// Policies returns those of our configurations, and of those that are labelled for a managed
// namespace, whether they ask for a CA or not.
func (c *Controller) Policies() []Policy {
	var all []Policy
	for _, found := range c.cachedAll() {
		namespace := found.labels[contract.InjectNamespaceLabel]
		if !c.ours(found) && (namespace == "" || !c.options.Namespaces.Managed(namespace)) {
			continue
		}
		for _, hook := range found.hooks {
			all = append(all, Policy{namespace, found.key.Kind, hook.name, hook.ignored})
		}
	}
	slices.SortFunc(all, func(a, b Policy) int { return cmp.Compare(a.Webhook, b.Webhook) })
	return all
}
