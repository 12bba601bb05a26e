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

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Kind is one of the two kinds of webhook configurations.
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

// configuration is what is known of one.
type configuration struct {
	key     Key
	version string
	labels  map[string]string
	clients []admissionregistrationv1.WebhookClientConfig // one for each webhook, in order
}

// read returns what is known of a cached object.
func read(object any) (configuration, bool) {
	switch o := object.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c := configuration{key: Key{Validating, o.Name}, version: o.ResourceVersion, labels: o.Labels}
		for _, hook := range o.Webhooks {
			c.clients = append(c.clients, hook.ClientConfig)
		}
		return c, true
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c := configuration{key: Key{Mutating, o.Name}, version: o.ResourceVersion, labels: o.Labels}
		for _, hook := range o.Webhooks {
			c.clients = append(c.clients, hook.ClientConfig)
		}
		return c, true
	}
	return configuration{}, false
}

// trim leaves of an object what read needs, and of one that does not ask for a CA
// nearly nothing.
func trim(keepAll bool) func(any) (any, error) {
	return func(object any) (any, error) {
		switch o := object.(type) {
		case *admissionregistrationv1.ValidatingWebhookConfiguration:
			small := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: trimMeta(o.ObjectMeta)}
			if keepAll || asks(o.Labels) {
				for _, hook := range o.Webhooks {
					small.Webhooks = append(small.Webhooks, admissionregistrationv1.ValidatingWebhook{ClientConfig: hook.ClientConfig})
				}
			}
			return small, nil
		case *admissionregistrationv1.MutatingWebhookConfiguration:
			small := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: trimMeta(o.ObjectMeta)}
			if keepAll || asks(o.Labels) {
				for _, hook := range o.Webhooks {
					small.Webhooks = append(small.Webhooks, admissionregistrationv1.MutatingWebhook{ClientConfig: hook.ClientConfig})
				}
			}
			return small, nil
		}
		return object, nil
	}
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	small := metav1.ObjectMeta{Name: m.Name, ResourceVersion: m.ResourceVersion}
	for _, name := range []string{contract.InjectLabel, contract.InjectLabelPredecessor, contract.InjectNamespaceLabel} {
		if value, there := m.Labels[name]; there {
			if small.Labels == nil {
				small.Labels = map[string]string{}
			}
			small.Labels[name] = value
		}
	}
	return small
}

// asks tells whether the labels ask some operator for a CA.
func asks(labels map[string]string) bool {
	return labels[contract.InjectLabel] == "true" || labels[contract.InjectLabelPredecessor] == "true"
}

// patch returns the JSON patch that gives every webhook the bundle; nil if all
// have it. It applies to this very version of the configuration.
func (c configuration) patch(bundle []byte) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	operations := []operation{{"test", "/metadata/resourceVersion", c.version}}
	for i, client := range c.clients {
		if !bytes.Equal(client.CABundle, bundle) {
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

// has tells whether every webhook has the bundle.
func (c configuration) has(bundle []byte) bool {
	return !slices.ContainsFunc(c.clients, func(client admissionregistrationv1.WebhookClientConfig) bool {
		return !bytes.Equal(client.CABundle, bundle)
	})
}

// services returns the names under which API servers call the Services that the
// webhooks name.
func (c configuration) services() []string {
	names := map[string]bool{}
	for _, client := range c.clients {
		s := client.Service
		if s == nil || len(validation.IsDNS1035Label(s.Name)) > 0 || len(validation.IsDNS1123Label(s.Namespace)) > 0 {
			continue // nobody can call that
		}
		names[s.Name+"."+s.Namespace+".svc"] = true
	}
	return slices.Sorted(maps.Keys(names))
}
