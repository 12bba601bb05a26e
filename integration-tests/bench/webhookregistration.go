package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// registerWebhooks registers a webhook of lockstep and of the floor, each for the namespace of one of
// the groups. It waits until the API server calls them, and returns what the API server has counted
// until then. trigger sends a request that the webhook reviews.
func (tb *testbed) registerWebhooks(ctx context.Context, e *endpoints, webhook string, groups map[string]*group, trigger func(context.Context, *group) error) (map[string]buckets, error) {
	for name, g := range groups {
		if err := tb.register(ctx, e, webhook, name, g.namespace); err != nil {
			return nil, err
		}
	}
	for name, g := range groups {
		err := tb.await(ctx, "API servers that call "+webhookName(webhook, name), 1, func() (int, error) {
			if err := trigger(ctx, g); err != nil {
				return 0, err
			}
			counted, err := tb.admissionDurations(ctx, webhook)
			if err != nil || counted[name].total() == 0 {
				return 0, err
			}
			return 1, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return tb.admissionDurations(ctx, webhook)
}

// webhookName returns the name of a contender's webhook at the API server.
func webhookName(webhook, contender string) string { return webhook + "." + contender + ".dev" }

// register creates the webhook configuration of the manifests for a contender and one namespace.
func (tb *testbed) register(ctx context.Context, e *endpoints, webhook, contender, namespace string) error {
	text, err := os.ReadFile(manifests + "/webhooks/listener/" + webhook + ".yaml")
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	text = []byte(strings.ReplaceAll(string(text), "name: "+webhook+".lockstep.dev", "name: "+webhookName(webhook, contender)))
	meta := metav1.ObjectMeta{Name: namespacePrefix + contender + "-" + webhook}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	client := admissionregistrationv1.WebhookClientConfig{
		URL: new("https://" + e.clients[contender].address + "/admission/" + webhook), CABundle: e.bundle,
	}
	hooks := tb.client.AdmissionregistrationV1()
	if webhook == noDownscale || webhook == podEviction {
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			return fmt.Errorf("read manifest: %w", err)
		}
		c.ObjectMeta, c.Webhooks[0].ClientConfig, c.Webhooks[0].NamespaceSelector = meta, client, only
		_, err = hooks.ValidatingWebhookConfigurations().Create(ctx, &c, metav1.CreateOptions{})
		return err
	}
	var c admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	c.ObjectMeta, c.Webhooks[0].ClientConfig, c.Webhooks[0].NamespaceSelector = meta, client, only
	_, err = hooks.MutatingWebhookConfigurations().Create(ctx, &c, metav1.CreateOptions{})
	return err
}

// admissionDurations returns the API server's histogram of each contender's webhook.
func (tb *testbed) admissionDurations(ctx context.Context, webhook string) (map[string]buckets, error) {
	text, err := tb.client.Discovery().RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("read metrics of the API server: %w", err)
	}
	counted := map[string]buckets{}
	for _, contender := range []string{floorName, lockstepName} {
		counted[contender], err = bucketsOf(string(text), "apiserver_admission_webhook_admission_duration_seconds", "name", webhookName(webhook, contender))
		if err != nil {
			return nil, err
		}
	}
	return counted, nil
}
