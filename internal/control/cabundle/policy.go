package cabundle

import (
	"cmp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Policy is the failurePolicy of a webhook.
type Policy struct {
	Namespace string // from the label of the configuration; empty if it has none
	Kind      Kind
	Webhook   string // its name
	Ignored   bool   // the policy is Ignore
}

// Policies returns the policies of this operator's configurations and of all configurations that
// are labelled for a managed namespace, whether or not they request a CA.
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
