package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// shrinkInVain measures PATCHes of /scale that end in the webhook: lockstep's
// refuses them; the floor's allows them, and as they are dry runs nothing is
// written. One follows the other, so no load of their own makes them wait.
func (a *arena) shrinkInVain(ctx context.Context, s *webhookStage) ([]row, error) {
	var rows []row
	for _, w := range []struct {
		name string
		own  *group
		code int32
	}{
		{noDownscale, s.barred, http.StatusForbidden},
		{prepareDownscale, s.lame, http.StatusTooManyRequests},
	} {
		groups := map[string]*group{floorName: s.floor[w.name], lockstepName: w.own}
		before, err := a.letCall(ctx, s, w.name, groups)
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", w.name, err)
		}
		took, err := a.patchInTurn(ctx, groups, w.code)
		if err != nil {
			return nil, fmt.Errorf("shrink through %s: %w", w.name, err)
		}
		a.say("%d PATCHes through %s", a.webhooks.patches, w.name)
		after, err := a.admissionDurations(ctx, w.name)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			decisionRow(fmt.Sprintf("PATCH of /scale that %s refuses, p50 / p99 of %d", w.name, a.webhooks.patches), 0, took),
			countedRow(before, after))
	}
	return rows, nil
}

// letCall registers a webhook of both and returns what the API server has counted
// by the time it calls them.
func (a *arena) letCall(ctx context.Context, s *webhookStage, webhook string, groups map[string]*group) (map[string]buckets, error) {
	for name, g := range groups {
		if err := a.register(ctx, s, webhook, name, g.namespace); err != nil {
			return nil, err
		}
	}
	for name, g := range groups {
		if err := a.awaitCalls(ctx, webhook, name, g); err != nil {
			return nil, err
		}
	}
	return a.admissionDurations(ctx, webhook)
}

// patchInTurn shrinks a zone of lockstep's group and one of the floor's in turn.
func (a *arena) patchInTurn(ctx context.Context, groups map[string]*group, code int32) (map[string][][]time.Duration, error) {
	took := map[string][][]time.Duration{floorName: {nil}, lockstepName: {nil}}
	for n := range a.webhooks.patches {
		for i := range 2 {
			name := []string{floorName, lockstepName}[(n+i)%2]
			began := time.Now()
			err := a.patchSmaller(ctx, groups[name], name == floorName)
			took[name][0] = append(took[name][0], time.Since(began))
			if err := wanted(err, name, code); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

// wanted says what is wrong with what came of a PATCH.
func wanted(err error, name string, code int32) error {
	if name == floorName {
		return err
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code == code {
		return nil
	}
	return errors.Join(fmt.Errorf("it is not refused with %d", code), err)
}

func (a *arena) patchSmaller(ctx context.Context, g *group, dryRun bool) error {
	var options metav1.PatchOptions
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, g.pods-1)
	_, err := a.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, g.zoneNames()[0], types.MergePatchType, patch, options, "scale")
	return err
}

// awaitCalls waits until the API server calls the webhook.
func (a *arena) awaitCalls(ctx context.Context, webhook, name string, g *group) error {
	return a.await(ctx, "API servers that call "+webhookName(webhook, name), 1, func() (int, error) {
		if err := a.patchSmaller(ctx, g, true); err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsForbidden(err) {
			return 0, fmt.Errorf("shrink %s: %w", g.key(), err)
		}
		counted, err := a.admissionDurations(ctx, webhook)
		if err != nil || counted[name].all() == 0 {
			return 0, err
		}
		return 1, nil
	})
}

// webhookName is what the API server calls a racer's webhook.
func webhookName(webhook, racer string) string { return webhook + "." + racer + ".dev" }

// register lets the API server call a racer's webhook as the manifests say, for
// one namespace.
func (a *arena) register(ctx context.Context, s *webhookStage, webhook, racer, namespace string) error {
	text, err := os.ReadFile(manifests + "/webhooks/listener/" + webhook + ".yaml")
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	text = []byte(strings.ReplaceAll(string(text), "name: "+webhook+".lockstep.dev", "name: "+webhookName(webhook, racer)))
	meta := metav1.ObjectMeta{Name: namespacePrefix + racer + "-" + webhook}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	client := admissionregistrationv1.WebhookClientConfig{
		URL: new("https://" + s.listeners[racer].address + "/admission/" + webhook), CABundle: s.bundle,
	}
	hooks := a.client.AdmissionregistrationV1()
	if webhook == noDownscale {
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

// countedRow is about what the API server counted between two looks.
func countedRow(before, after map[string]buckets) row {
	r := row{what: "of this the webhook, as the API server counts it, p99", cells: map[string]string{}}
	for name, b := range after {
		if bound := b.since(before[name]).quantile(0.99); bound > 0 {
			r.cells[name] = "≤ " + strconv.FormatFloat(1000*bound, 'f', -1, 64) + " ms"
		}
	}
	return r
}
