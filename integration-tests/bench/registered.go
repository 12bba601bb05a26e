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

// letCall registers a webhook of lockstep and of the floor, each for the namespace
// of one of the groups, and returns what the API server has counted by the time it
// calls them. knock makes it do so.
func (a *arena) letCall(ctx context.Context, e *endpoints, webhook string, groups map[string]*group, knock func(context.Context, *group) error) (map[string]buckets, error) {
	for name, g := range groups {
		if err := a.register(ctx, e, webhook, name, g.namespace); err != nil {
			return nil, err
		}
	}
	for name, g := range groups {
		err := a.await(ctx, "API servers that call "+webhookName(webhook, name), 1, func() (int, error) {
			if err := knock(ctx, g); err != nil {
				return 0, err
			}
			counted, err := a.admissionDurations(ctx, webhook)
			if err != nil || counted[name].all() == 0 {
				return 0, err
			}
			return 1, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return a.admissionDurations(ctx, webhook)
}

// webhookName is what the API server calls a racer's webhook.
func webhookName(webhook, racer string) string { return webhook + "." + racer + ".dev" }

// register lets the API server call a racer's webhook as the manifests say, for
// one namespace.
func (a *arena) register(ctx context.Context, e *endpoints, webhook, racer, namespace string) error {
	text, err := os.ReadFile(manifests + "/webhooks/listener/" + webhook + ".yaml")
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	text = []byte(strings.ReplaceAll(string(text), "name: "+webhook+".lockstep.dev", "name: "+webhookName(webhook, racer)))
	meta := metav1.ObjectMeta{Name: namespacePrefix + racer + "-" + webhook}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	client := admissionregistrationv1.WebhookClientConfig{
		URL: new("https://" + e.listeners[racer].address + "/admission/" + webhook), CABundle: e.bundle,
	}
	hooks := a.client.AdmissionregistrationV1()
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

// admissionDurations returns what the API server's own metric says of each
// racer's webhook.
func (a *arena) admissionDurations(ctx context.Context, webhook string) (map[string]buckets, error) {
	text, err := a.client.Discovery().RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("read metrics of the API server: %w", err)
	}
	counted := map[string]buckets{}
	for _, racer := range []string{floorName, lockstepName} {
		counted[racer], err = bucketsOf(string(text), "apiserver_admission_webhook_admission_duration_seconds", "name", webhookName(webhook, racer))
		if err != nil {
			return nil, err
		}
	}
	return counted, nil
}
