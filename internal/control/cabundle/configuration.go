package cabundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Kind is the kind of a webhook configuration.
type Kind string

// The kinds.
const (
	Validating Kind = "ValidatingWebhookConfiguration"
	Mutating   Kind = "MutatingWebhookConfiguration"
)

// Key names a webhook configuration.
type Key struct {
	Kind Kind
	Name string
}

// String returns kind and name.
func (k Key) String() string { return string(k.Kind) + " " + k.Name }

// configuration is the cached part of a webhook configuration.
type configuration struct {
	key     Key
	version string
	labels  map[string]string // only the labels that lockstep reads
	hooks   []webhook         // in the order of the object
}

// webhook is one webhook of a configuration.
type webhook struct {
	name    string
	client  admissionregistrationv1.WebhookClientConfig
	ignored bool // its failurePolicy is Ignore
}

func newWebhook(name string, client admissionregistrationv1.WebhookClientConfig, policy *admissionregistrationv1.FailurePolicyType) webhook {
	return webhook{name, client, policy != nil && *policy == admissionregistrationv1.Ignore}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor, which the cache requires of its
// objects.
func (c *configuration) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: c.key.Name, ResourceVersion: c.version}
}

// trim returns a transform that converts objects before they are cached. If a configuration neither
// requests a CA nor names a namespace, trim drops its webhooks.
func trim(keepAll bool) cache.TransformFunc {
	return func(object any) (any, error) {
		var small *configuration
		switch o := object.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			small = newConfiguration(Validating, o.ObjectMeta)
			for _, hook := range o.Webhooks {
				small.hooks = append(small.hooks, newWebhook(hook.Name, hook.ClientConfig, hook.FailurePolicy))
			}
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			small = newConfiguration(Mutating, o.ObjectMeta)
			for _, hook := range o.Webhooks {
				small.hooks = append(small.hooks, newWebhook(hook.Name, hook.ClientConfig, hook.FailurePolicy))
			}
		case *configuration, cache.DeletedFinalStateUnknown:
			return object, nil
		default:
			return nil, fmt.Errorf("trim webhook configuration: unexpected %T", object)
		}
		if _, named := small.labels[contract.InjectNamespaceLabel]; !keepAll && !named && !requestsCA(small.labels) {
			small.hooks = nil
		}
		return small, nil
	}
}

func newConfiguration(kind Kind, o metav1.ObjectMeta) *configuration {
	c := &configuration{key: Key{kind, o.Name}, version: o.ResourceVersion}
	for _, name := range []string{contract.InjectLabel, contract.InjectLabelPredecessor, contract.InjectNamespaceLabel} {
		if value, there := o.Labels[name]; there {
			if c.labels == nil {
				c.labels = map[string]string{}
			}
			c.labels[name] = value
		}
	}
	return c
}

// requestsCA reports whether the labels request a CA from any operator.
func requestsCA(labels map[string]string) bool {
	return labels[contract.InjectLabel] == "true" || labels[contract.InjectLabelPredecessor] == "true"
}

// patch returns the JSON patch that gives every webhook the bundle, or nil if all have it. The
// patch applies only to this version of the configuration.
func (c *configuration) patch(bundle []byte) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	operations := []operation{{"test", "/metadata/resourceVersion", c.version}}
	for i, hook := range c.hooks {
		if !bytes.Equal(hook.client.CABundle, bundle) {
			operations = append(operations, operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	if len(operations) == 1 {
		return nil, nil
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("write patch: %w", err)
	}
	return text, nil
}

// has reports whether every webhook has the bundle.
func (c *configuration) has(bundle []byte) bool {
	return !slices.ContainsFunc(c.hooks, func(hook webhook) bool { return !bytes.Equal(hook.client.CABundle, bundle) })
}

// services returns the host names under which API servers call the Services of the
// webhooks.
func (c *configuration) services() []string {
	names := map[string]bool{}
	for _, hook := range c.hooks {
		s := hook.client.Service
		if s == nil || len(validation.IsDNS1035Label(s.Name)) > 0 || len(validation.IsDNS1123Label(s.Namespace)) > 0 {
			continue // API servers cannot call such a name
		}
		names[s.Name+"."+s.Namespace+".svc"] = true
	}
	return slices.Sorted(maps.Keys(names))
}
