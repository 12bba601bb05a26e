package apiserver_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// receiver is called instead of the operator. It allows all requests and records its calls.
type receiver struct {
	*httptest.Server

	mu    sync.Mutex
	calls []string // "no-downscale statefulsets/scale"
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(r.review))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) review(w http.ResponseWriter, q *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(q.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	about := review.Request.Resource.Resource
	if review.Request.SubResource != "" {
		about += "/" + review.Request.SubResource
	}
	r.mu.Lock()
	r.calls = append(r.calls, strings.TrimPrefix(q.URL.Path, "/admission/")+" "+about)
	r.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(w).Encode(review) // the API server may have closed the connection
}

// taken returns the calls since its last call, without duplicates. The API server repeats a call if
// another client has written in between.
func (r *receiver) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.calls = nil }()
	slices.Sort(r.calls)
	return slices.Compact(r.calls)
}

// receive makes the API server call the receiver according to the manifests, for one namespace
// only.
func (s *scene) receive(r *receiver) {
	s.t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	readManifest(s.t, "no-downscale.yaml", &validating)
	readManifest(s.t, "prepare-downscale.yaml", &mutating)
	for i := range validating.Webhooks {
		s.redirect(r, &validating.Webhooks[i].ClientConfig, validating.Webhooks[i].NamespaceSelector)
	}
	for i := range mutating.Webhooks {
		s.redirect(r, &mutating.Webhooks[i].ClientConfig, mutating.Webhooks[i].NamespaceSelector)
	}
	validating.ObjectMeta, mutating.ObjectMeta = metav1.ObjectMeta{Name: s.name}, metav1.ObjectMeta{Name: s.name}
	hooks := s.world.admin.AdmissionregistrationV1()
	if _, err := hooks.ValidatingWebhookConfigurations().Create(s.t.Context(), &validating, createOptions); err != nil {
		s.t.Fatal(err)
	}
	if _, err := hooks.MutatingWebhookConfigurations().Create(s.t.Context(), &mutating, createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.receiveNothing)
}

func (s *scene) receiveNothing() {
	hooks, ctx := s.world.admin.AdmissionregistrationV1(), context.WithoutCancel(s.t.Context())
	if err := hooks.ValidatingWebhookConfigurations().Delete(ctx, s.name, deleteOptions); err != nil {
		s.t.Error(err)
	}
	if err := hooks.MutatingWebhookConfigurations().Delete(ctx, s.name, deleteOptions); err != nil {
		s.t.Error(err)
	}
}

func (s *scene) redirect(r *receiver, client *admissionregistrationv1.WebhookClientConfig, namespaces *metav1.LabelSelector) {
	url := r.URL + *client.Service.Path
	*client = admissionregistrationv1.WebhookClientConfig{
		URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}),
	}
	namespaces.MatchLabels = map[string]string{"kubernetes.io/metadata.name": s.name}
}

func readManifest(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(manifest + "webhooks/listener/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestTheWebhooksOfTheManifestsCoverExactlyRequestsThatMayRemovePods(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	r := newReceiver(t)
	s.create(zone("zone-a", 1))
	replicas := int32(0)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
	deployment.Spec.Template = zone("web", 1).Spec.Template
	deployment.Spec.Template.Labels = map[string]string{"app": "web"}
	deployments := s.world.admin.AppsV1().Deployments(s.name)
	if _, err := deployments.Create(t.Context(), deployment, createOptions); err != nil {
		t.Fatal(err)
	}
	s.receive(r)
	sets := s.world.admin.AppsV1().StatefulSets(s.name)
	preparing := []string{"prepare-downscale statefulsets"}
	both := func(about string) []string { return []string{"no-downscale " + about, "prepare-downscale " + about} }
	s.eventually("the API server calls both", func(present) error {
		r.taken()
		for _, n := range []int32{2, 1} {
			if _, err := sets.UpdateScale(t.Context(), "zone-a", scaleTo(s.name, "zone-a", n), updateOptions); err != nil {
				return err
			}
		}
		if got := r.taken(); !slices.Equal(got, both("statefulsets/scale")) {
			return fmt.Errorf("it calls for %q", got)
		}
		return nil
	})

	patch := func(text string) func() error {
		return func() error {
			_, err := sets.Patch(t.Context(), "zone-a", types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		}
	}
	scale := func(n int32) func() error {
		return func() error {
			_, err := sets.UpdateScale(t.Context(), "zone-a", scaleTo(s.name, "zone-a", n), updateOptions)
			return err
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"an increase", patch(`{"spec":{"replicas":3}}`), nil},
		{"a decrease", patch(`{"spec":{"replicas":2}}`), both("statefulsets")},
		{"another first ordinal", patch(`{"spec":{"ordinals":{"start":1}}}`), preparing},
		{"a scale-up next to it", patch(`{"spec":{"replicas":4}}`), nil},
		{"a downscale next to it", patch(`{"spec":{"replicas":2}}`), both("statefulsets")},
		{"no first ordinal, which is 0", patch(`{"spec":{"ordinals":{"start":null}}}`), preparing},
		{"no ordinals, which is the same", patch(`{"spec":{"ordinals":null}}`), nil},
		{"another annotation", patch(`{"metadata":{"annotations":{"a":"b"}}}`), nil},
		{"another status", func() error {
			_, err := sets.Patch(t.Context(), "zone-a", types.MergePatchType, []byte(`{"status":{"observedGeneration":0}}`), metav1.PatchOptions{}, "status")
			return err
		}, nil},
		{"a scale that is smaller", scale(1), both("statefulsets/scale")},
		{"a scale that is the same", scale(1), nil},
		{"a scale to zero", scale(0), both("statefulsets/scale")},
		{"a scale from zero", scale(2), nil},
		{"a decrease to zero", patch(`{"spec":{"replicas":0}}`), both("statefulsets")},
		{"an increase from zero", patch(`{"spec":{"replicas":1}}`), nil},
		{"no number, which is 1", patch(`{"spec":{"replicas":null}}`), nil},
		{"a scale of a Deployment from zero", func() error {
			_, err := deployments.UpdateScale(t.Context(), "web", scaleTo(s.name, "web", 1), updateOptions)
			return err
		}, nil},
		{"a scale of a Deployment to zero", func() error {
			_, err := deployments.UpdateScale(t.Context(), "web", scaleTo(s.name, "web", 0), updateOptions)
			return err
		}, []string{"no-downscale deployments/scale"}},
	} {
		s.cached("zone-a")
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		got := slices.DeleteFunc(r.taken(), func(call string) bool { return strings.HasSuffix(call, "replicasets") }) // by the Deployment's controller
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: called for %q, want %q", step.name, got, step.want)
		}
	}
}

// cached waits until the API server's own cache has the stored zone. Until then, the API server
// tries a patch on the older state first, and calls webhooks for its result.
func (s *scene) cached(zone string) {
	s.t.Helper()
	s.eventually("the API server's cache has "+zone+" as it is", func(present) error {
		sets := s.world.admin.AppsV1().StatefulSets(s.name)
		known, err := sets.Get(s.t.Context(), zone, metav1.GetOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		stored, err := sets.Get(s.t.Context(), zone, metav1.GetOptions{})
		if err == nil && known.ResourceVersion != stored.ResourceVersion {
			err = fmt.Errorf("it has version %s, %s is stored", known.ResourceVersion, stored.ResourceVersion)
		}
		return err
	})
}

func scaleTo(namespace, name string, replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}
