package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const noDownscale = "grafana.com/no-downscale"

// barredBy registers the webhook no-downscale of an operator for the scene.
func (s *scene) barredBy(o *operator, ca []byte) {
	s.t.Helper()
	s.barredAt(webhookAddress(s.t, o), ca)
}

// barredAt registers the webhook no-downscale for this scene only.
func (s *scene) barredAt(address string, ca []byte) {
	s.t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(s.t, "no-downscale.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: s.name}
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{
			URL: new("https://" + address + *hook.ClientConfig.Service.Path), CABundle: ca,
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

// ca returns the CA of the shared operator's certificate.
func (w *world) ca(t *testing.T) []byte {
	t.Helper()
	secret, err := w.admin.CoreV1().Secrets(home).Get(t.Context(), certificate, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Data["ca"]
}

// Workloads with the label keep their replicas, whichever way they are scaled.
func TestDownscalesAreForbiddenByTheLabel(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.barredBy(s.operator, s.world.ca(t))
	s.keepsReplicas()
}

func TestDownscalesAreForbiddenByTheLabelWithAnOperatorOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRole()
	s.withCertificate()
	operators := s.startWithWebhooks(1, "-webhooks.update-ca-bundle=false")
	s.wantOneCA(operators)
	s.barredBy(operators[0], s.secret().Data["ca"])
	s.keepsReplicas()
}

// others lists the resources with replicas that belong to no group.
var others = []string{"deployments", "replicasets"}

func (s *scene) keepsReplicas() {
	s.t.Helper()
	s.begin(zone("zone-a", 2, func(z *appsv1.StatefulSet) { set(&z.Labels, noDownscale, "true") }))
	s.beginOthers("web", map[string]string{noDownscale: "true"})
	s.beginOthers("free", nil)
	s.settled()
	s.eventually("the API server calls the webhook", func(present) error {
		if shrank := s.scaleBy(scaled, "zone-a", -1) == nil; shrank {
			return errors.Join(errors.New("not yet"), s.scaleBy(scaled, "zone-a", 1))
		}
		return nil
	})
	for what, scaleDown := range map[string]func() error{
		"deployments":                func() error { return s.scaleOther("deployments", "web", 1) },
		"all fields of deployments":  func() error { return s.patchOther("deployments", "web", `{"spec":{"replicas":1}}`) },
		"replicasets":                func() error { return s.scaleOther("replicasets", "web", 1) },
		"all fields of replicasets":  func() error { return s.patchOther("replicasets", "web", `{"spec":{"replicas":1}}`) },
		"statefulsets":               func() error { return s.scaleBy(scaled, "zone-a", -1) },
		"all fields of statefulsets": func() error { return s.scaleBy(updated, "zone-a", -1) },
	} {
		err := scaleDown()
		for apierrors.IsConflict(err) {
			err = scaleDown()
		}
		if !barredByLabel(err) {
			s.t.Errorf("%s: got %v, want 403 that names the label", what, err)
		}
	}
	if err := s.scaleBy(scaled, "zone-a", 1); err != nil {
		s.t.Errorf("an increase: %v", err)
	}
	s.refusesFromCaches()
	s.followsTheLabel()
}

// barredByLabel reports whether a downscale was refused because of the label.
func barredByLabel(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), noDownscale)
}

// beginOthers creates a Deployment and a ReplicaSet of two replicas.
func (s *scene) beginOthers(name string, labels map[string]string) {
	s.t.Helper()
	apps, ctx, pod := s.world.admin.AppsV1(), s.t.Context(), zone(name, 2).Spec.Template
	about := metav1.ObjectMeta{Name: name, Labels: labels}
	selector := &metav1.LabelSelector{MatchLabels: pod.Labels}
	if _, err := apps.Deployments(s.name).Create(ctx, &appsv1.Deployment{ObjectMeta: about,
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Selector: selector, Template: pod}}, createOptions); err != nil {
		s.t.Fatal(err)
	}
	if _, err := apps.ReplicaSets(s.name).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: about,
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(2)), Selector: selector, Template: pod}}, createOptions); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) scaleOther(resource, name string, replicas int) error {
	return s.patchOther(resource, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
}

func (s *scene) patchOther(resource, name, patch string, subresource ...string) error {
	return s.world.admin.AppsV1().RESTClient().Patch(types.MergePatchType).Namespace(s.name).
		Resource(resource).Name(name).SubResource(subresource...).Body([]byte(patch)).Do(s.t.Context()).Error()
}

// refusesFromCaches requests downscales of workloads with the label, and then of workloads without
// it. The operator reads only the latter live. While the status of a workload changes, caches may
// be late, so it may take several attempts.
func (s *scene) refusesFromCaches() {
	s.t.Helper()
	want := []string{"deployments/free", "replicasets/free"}
	s.eventually("the operator refuses without a request", func(present) error {
		before := len(s.readObjects())
		var errs []error
		for range 3 {
			for _, resource := range others {
				if err := s.scaleOther(resource, "web", 1); !barredByLabel(err) {
					s.t.Errorf("%s: got %v, want 403 that names the label", resource, err)
				}
			}
			if err := s.scaleBy(scaled, "zone-a", -1); !barredByLabel(err) {
				s.t.Errorf("statefulsets: got %v, want 403 that names the label", err)
			}
		}
		for _, resource := range others {
			errs = append(errs, s.scaleOther(resource, "free", 1), s.scaleOther(resource, "free", 2))
		}
		if err := errors.Join(errs...); err != nil {
			s.t.Fatalf("an object without the label may be scaled down: %v", err)
		}
		var got []string
		s.eventually("the audit log contains the last request", func(present) error {
			if got = s.readObjects()[before:]; !slices.Contains(got, want[1]) {
				return fmt.Errorf("%q", got)
			}
			return nil
		})
		if !slices.Equal(got, want) {
			return fmt.Errorf("it read %q, want %q", got, want)
		}
		return nil
	})
}

// readObjects returns the workloads that the operator read with a GET: "deployments/web".
func (s *scene) readObjects() []string {
	s.t.Helper()
	var all []string
	for _, r := range s.requests() {
		if r.User == s.operator.user && r.Verb == "get" && slices.Contains(append(others, "statefulsets"), r.Resource) {
			all = append(all, r.Resource+"/"+r.Name)
		}
	}
	return all
}

// followsTheLabel sets and removes the label, and requests a downscale at once.
func (s *scene) followsTheLabel() {
	s.t.Helper()
	for _, resource := range others {
		for range 10 {
			if err := s.patchOther(resource, "free", `{"metadata":{"labels":{"`+noDownscale+`":"true"}}}`); err != nil {
				s.t.Fatal(err)
			}
			if err := s.scaleOther(resource, "free", 1); !barredByLabel(err) {
				s.t.Fatalf("%s that just got the label: got %v, want 403 that names the label", resource, err)
			}
			if err := s.patchOther(resource, "free", `{"metadata":{"labels":{"`+noDownscale+`":null}}}`); err != nil {
				s.t.Fatal(err)
			}
			if err := errors.Join(s.scaleOther(resource, "free", 1), s.scaleOther(resource, "free", 2)); err != nil {
				s.t.Fatalf("%s that just lost the label: %v", resource, err)
			}
		}
	}
}
