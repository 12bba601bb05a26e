package apiserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const noDownscale = "grafana.com/no-downscale"

// barredBy registers the webhook no-downscale of an operator for the scene.
func (s *scene) barredBy(o *operator, ca []byte) {
	s.t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(s.t, "no-downscale.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: s.name}
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{
			URL: new("https://" + webhookAddress(s.t, o) + *hook.ClientConfig.Service.Path), CABundle: ca,
		}
		hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.name}}
	}
	hooks := s.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(s.t.Context(), &c, createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(s.t.Context()), s.name, deleteOptions); err != nil {
			s.t.Error(err)
		}
	})
}

// ca is that of the shared operator's certificate.
func (w *world) ca(t *testing.T) []byte {
	t.Helper()
	secret, err := w.admin.CoreV1().Secrets(home).Get(t.Context(), certificate, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data["ca"]
}

// What carries the label keeps its replicas, whichever way it is scaled.
func TestWhatMustNotShrinkKeepsItsReplicas(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.barredBy(s.operator, s.world.ca(t))
	s.keepsReplicas()
}

func TestWhatMustNotShrinkKeepsItsReplicasByAnOperatorOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRole()
	s.withCertificate()
	operators := s.startWithWebhooks(1, "-webhooks.update-ca-bundle=false")
	s.wantOneCA(operators)
	s.barredBy(operators[0], s.secret().Data["ca"])
	s.keepsReplicas()
}

func (s *scene) keepsReplicas() {
	t := s.t
	t.Helper()
	apps, ctx := s.world.admin.AppsV1(), t.Context()
	pod := zone("web", 1).Spec.Template
	selector := &metav1.LabelSelector{MatchLabels: pod.Labels}
	labelled := metav1.ObjectMeta{Name: "web", Labels: map[string]string{noDownscale: "true"}}
	s.begin(zone("zone-a", 2, func(z *appsv1.StatefulSet) { set(&z.Labels, noDownscale, "true") }))
	if _, err := apps.Deployments(s.name).Create(ctx, &appsv1.Deployment{ObjectMeta: labelled,
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector, Template: pod}}, createOptions); err != nil {
		t.Fatal(err)
	}
	if _, err := apps.ReplicaSets(s.name).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: labelled,
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Selector: selector, Template: pod}}, createOptions); err != nil {
		t.Fatal(err)
	}
	s.eventually("the API server asks the webhook", func(present) error {
		if shrank := s.scaleBy(scaled, "zone-a", -1) == nil; shrank {
			return errors.Join(errors.New("not yet"), s.scaleBy(scaled, "zone-a", 1))
		}
		return nil
	})
	smaller := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 1}}
	for what, shrink := range map[string]func() error{
		"deployments": func() error {
			smaller := smaller.DeepCopy()
			smaller.Name, smaller.Namespace = "web", s.name
			_, err := apps.Deployments(s.name).UpdateScale(ctx, "web", smaller, updateOptions)
			return err
		},
		"replicasets": func() error {
			smaller := smaller.DeepCopy()
			smaller.Name, smaller.Namespace = "web", s.name
			_, err := apps.ReplicaSets(s.name).UpdateScale(ctx, "web", smaller, updateOptions)
			return err
		},
		"statefulsets":            func() error { return s.scaleBy(scaled, "zone-a", -1) },
		"statefulsets as a whole": func() error { return s.scaleBy(updated, "zone-a", -1) },
	} {
		err := shrink()
		for apierrors.IsConflict(err) {
			err = shrink()
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), noDownscale) {
			t.Errorf("%s: got %v, want 403 that names the label", what, err)
		}
	}
	if err := s.scaleBy(scaled, "zone-a", 1); err != nil {
		t.Errorf("an increase: %v", err)
	}
}
