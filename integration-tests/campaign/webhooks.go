package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// certificate is the Secret with the webhooks' certificate and its CA.
const certificate = "lockstep-webhook-certificate"

// registerWebhooks registers the webhooks of the manifests for the trial's namespace. While the
// service is closed, the API server refuses all reviewed requests, which shows that it calls the
// webhooks. Then the service opens.
func (t *trial) registerWebhooks(ctx context.Context) error {
	var ca []byte
	err := retry(ctx, "read the webhooks' CA", func(ctx context.Context) error {
		secret, err := t.client.CoreV1().Secrets(t.namespace).Get(ctx, certificate, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ca = secret.Data["ca"]; len(ca) == 0 {
			return errors.New("there is none yet")
		}
		return nil
	})
	if err != nil {
		return err
	}
	pod := t.plan.groups[0].zone(0) + "-0"
	if err := t.registerValidating(ctx, ca); err != nil {
		return err
	}
	if err := retry(ctx, "wait for a call of pod-eviction", t.expectRefusal("pod-eviction.lockstep.dev", func(ctx context.Context) error {
		return t.evict(ctx, pod, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})); err != nil {
		return err
	}
	if err := t.registerMutating(ctx, ca); err != nil {
		return err
	}
	if err := retry(ctx, "wait for a call of pod-eviction-pin", t.expectRefusal("pod-eviction-pin.lockstep.dev", func(ctx context.Context) error {
		return t.evict(ctx, pod, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})); err != nil {
		return err
	}
	if err := retry(ctx, "wait for a call of prepare-downscale", t.expectRefusal("prepare-downscale.lockstep.dev", t.downscaleDryRun)); err != nil {
		return err
	}
	t.service.open()
	return nil
}

// expectRefusal returns an attempt that succeeds when a webhook cannot be called.
func (t *trial) expectRefusal(webhook string, ask attempt) attempt {
	return func(ctx context.Context) error {
		err := ask(ctx)
		if err == nil || !strings.Contains(err.Error(), `"`+webhook+`"`) {
			return fmt.Errorf("%s was not called: %w", webhook, errors.Join(err, errors.New("not refused")))
		}
		return nil
	}
}

func (t *trial) downscaleDryRun(ctx context.Context) error {
	_, err := t.client.AppsV1().StatefulSets(t.namespace).Patch(ctx, t.plan.groups[0].zone(0), types.MergePatchType,
		[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func (t *trial) registerValidating(ctx context.Context, ca []byte) error {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := readManifest("pod-eviction.yaml", &c); err != nil {
		return err
	}
	c.ObjectMeta = metav1.ObjectMeta{Name: t.namespace}
	for i := range c.Webhooks {
		t.redirect(ca, &c.Webhooks[i].ClientConfig, &c.Webhooks[i].NamespaceSelector)
	}
	return retry(ctx, "register a validating webhook", func(ctx context.Context) error {
		_, err := t.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &c, metav1.CreateOptions{})
		return ignoreExisting(err)
	})
}

func (t *trial) registerMutating(ctx context.Context, ca []byte) error {
	var c admissionregistrationv1.MutatingWebhookConfiguration
	for _, file := range []string{"prepare-downscale.yaml", "pod-eviction-pin.yaml"} {
		var one admissionregistrationv1.MutatingWebhookConfiguration
		if err := readManifest(file, &one); err != nil {
			return err
		}
		c.Webhooks = append(c.Webhooks, one.Webhooks...)
	}
	c.Name = t.namespace
	for i := range c.Webhooks {
		t.redirect(ca, &c.Webhooks[i].ClientConfig, &c.Webhooks[i].NamespaceSelector)
	}
	return retry(ctx, "register mutating webhooks", func(ctx context.Context) error {
		_, err := t.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &c, metav1.CreateOptions{})
		return ignoreExisting(err)
	})
}

func (t *trial) redirect(ca []byte, client *admissionregistrationv1.WebhookClientConfig, namespaces **metav1.LabelSelector) {
	url := "https://" + t.service.address() + *client.Service.Path
	*client = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	*namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": t.namespace}}
}

func readManifest(name string, into any) error {
	text, err := os.ReadFile(manifests + "webhooks/listener/" + name)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		return fmt.Errorf("read manifest %s: %w", name, err)
	}
	return nil
}

// ignoreExisting ignores errors of a creation that succeeded in an earlier attempt.
func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
