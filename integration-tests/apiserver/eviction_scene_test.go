package apiserver_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// evictor evicts pods of a scene and keeps the warnings of the API server.
type evictor struct {
	*scene
	client kubernetes.Interface

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (e *evictor) HandleWarningHeader(_ int, _, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warnings = append(e.warnings, text)
}

// warned returns the warnings since its last call.
func (e *evictor) warned() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.warnings = nil }()
	return e.warnings
}

// evictorOf returns an evictor of pods of a scene.
func evictorOf(s *scene) *evictor {
	s.t.Helper()
	e := &evictor{scene: s}
	config := s.world.cluster.AdminConfig()
	config.WarningHandler = e
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	e.client = client
	return e
}

// evictions returns a scene in which the API server calls the shared operator about evictions, and
// a webhook binds them to pods.
func evictions(t *testing.T) *evictor {
	t.Helper()
	e := evictorOf(managed(t))
	e.evictedAndBoundBy(webhookAddress(t, e.operator), e.world.ca(t))
	return e
}

// unboundEvictions returns that scene without the webhook that binds evictions to pods.
func unboundEvictions(t *testing.T) *evictor {
	t.Helper()
	e := evictorOf(managed(t))
	e.evictedBy(webhookAddress(t, e.operator), e.world.ca(t))
	e.awaitsEvictions(false)
	return e
}

// evictedAndBoundBy registers the webhooks that judge the evictions of the scene and bind them to
// pods, and waits until the API server calls them. A warning that evictions are not bound yet shows
// that it calls the first one.
func (e *evictor) evictedAndBoundBy(address string, ca []byte) {
	e.t.Helper()
	e.evictedBy(address, ca)
	e.awaitsEvictions(false)
	e.boundBy(address, ca)
	e.awaitsEvictions(true)
}

// awaitsEvictions waits until the API server calls the registered webhooks, and evictions are bound
// or not.
func (e *evictor) awaitsEvictions(bound bool) {
	e.t.Helper()
	e.begin(zone("probe", 1, inGroup("probe"), readyAfter(time.Hour)))
	e.eventually(fmt.Sprintf("the API server calls the webhook, and evictions are bound: %t", bound), func(present) error {
		if err := e.evict("probe-0", dryEviction); err != nil {
			return err
		}
		if warned := e.warned(); (len(warned) == 0) != bound {
			return fmt.Errorf("warned of %q", warned)
		}
		return nil
	})
	e.remove("probe")
}

// evictedBy makes the API server call this address about evictions in the scene.
func (e *evictor) evictedBy(address string, ca []byte) {
	e.t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(e.t, "pod-eviction.yaml", &c)
	c.Name = e.name + "-evictions"
	c.Webhooks[0].ClientConfig = at(address, c.Webhooks[0].ClientConfig, ca)
	e.validates(&c)
}

// at returns the client config of a webhook outside the cluster.
func at(address string, c admissionregistrationv1.WebhookClientConfig, ca []byte) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: new("https://" + address + *c.Service.Path), CABundle: ca}
}

// validates registers webhooks for this scene only.
func (e *evictor) validates(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	e.t.Helper()
	c.Labels = e.injected().Labels
	c.Webhooks[0].NamespaceSelector = e.here()
	hooks := e.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(e.t.Context(), c, createOptions); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(e.t.Context()), c.Name, deleteOptions); err != nil {
			e.t.Error(err)
		}
	})
}

// boundBy registers the webhook that binds evictions in the scene to pods.
func (e *evictor) boundBy(address string, ca []byte) {
	e.t.Helper()
	var c admissionregistrationv1.MutatingWebhookConfiguration
	readManifest(e.t, "pod-eviction-pin.yaml", &c)
	c.Name, c.Labels = e.name+"-evictions", e.injected().Labels
	c.Webhooks[0].ClientConfig = at(address, c.Webhooks[0].ClientConfig, ca)
	c.Webhooks[0].NamespaceSelector = e.here()
	hooks := e.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := hooks.Create(e.t.Context(), &c, createOptions); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(e.t.Context()), c.Name, deleteOptions); err != nil {
			e.t.Error(err)
		}
	})
}

func (e *evictor) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": e.name}}
}

// evict requests the eviction of a pod once.
func (e *evictor) evict(pod string, more ...func(*policyv1.Eviction)) error {
	e.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: pod}}
	for _, change := range more {
		change(eviction)
	}
	return e.client.PolicyV1().Evictions(e.name).Evict(e.t.Context(), eviction)
}

// mayEvict waits until the operator sees that a pod may be evicted, which the observer may have
// seen earlier. Its requests are dry runs.
func (e *evictor) mayEvict(pod string) {
	e.t.Helper()
	e.eventually("the operator sees that "+pod+" may be evicted", func(present) error { return e.evict(pod, dryEviction) })
	e.warned() // drop the warnings of the dry runs
}

// evictDryByQuery requests a dry run by a query parameter instead of the object.
func (e *evictor) evictDryByQuery(pod string) error {
	e.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: pod}}
	return e.client.CoreV1().RESTClient().Post().Namespace(e.name).Resource("pods").Name(pod).SubResource("eviction").
		Param("dryRun", metav1.DryRunAll).Body(eviction).Do(e.t.Context()).Error()
}

// dryEviction requests a dry run in the object.
func dryEviction(e *policyv1.Eviction) {
	e.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
}

// refused fails the test unless err refuses a request for now, with these words.
func (e *evictor) refused(err error, words ...string) {
	e.t.Helper()
	for _, word := range words {
		if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), word) {
			e.t.Errorf("got %v, want 429 with %q", err, word)
		}
	}
	if seconds, suggested := apierrors.SuggestsClientDelay(err); suggested {
		e.t.Errorf("the client repeats the call by itself after %d s", seconds)
	}
}

// pod returns the pod that the observer received last.
func (e *evictor) pod(name string) *corev1.Pod {
	e.t.Helper()
	pod := e.witness.now().pods[name]
	if pod == nil {
		e.t.Fatalf("there is no %s", name)
	}
	return pod
}

// createOpen creates zones and opens the gates of their pods. The gate of a replacement stays
// closed.
func (e *evictor) createOpen(zones ...*appsv1.StatefulSet) {
	e.t.Helper()
	e.begin(zones...)
	for _, z := range zones {
		e.serve(judge.ZoneOf(z).Pods()...)
	}
	e.settled()
}

// opens opens the gate of the replacement of a pod.
func (e *evictor) opens(formerly *corev1.Pod) {
	e.t.Helper()
	e.isBroken(formerly.Name)
	e.gate(formerly.Name, corev1.ConditionTrue)
	e.comesBack(formerly)
}

// comesBack waits until another pod of that name is ready.
func (s *scene) comesBack(formerly *corev1.Pod) {
	s.t.Helper()
	s.eventually("another "+formerly.Name+" serves", func(now present) error {
		pod := now.pods[formerly.Name]
		if pod == nil || pod.UID == formerly.UID || !judge.PodOf(pod).Serving() {
			return errors.New("not yet")
		}
		return nil
	})
}

// replacedOnceGranted requests the eviction of a pod, and replaces the pod between the grant and
// the deletion. finish lets the eviction continue and returns its result.
func (e *evictor) replacedOnceGranted(pod *corev1.Pod) (finish func() error) {
	e.t.Helper()
	requested, goOn := e.secondWebhook(pod.Name)
	answer := make(chan error, 1)
	go func() { answer <- e.evict(pod.Name) }()
	e.eventually("the API server calls the webhook, and the eviction is recorded", func(now present) error {
		if free(now) == nil || len(requested) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	e.deletePod(pod.Name)
	e.comesBack(pod)
	return func() error {
		goOn()
		return <-answer
	}
}

// secondWebhook registers a second webhook for evictions, which answers after goOn was
// called. called receives a value when the API server calls it about an eviction that is
// not a dry run. The dry runs of the pod show that the API server calls the webhook.
func (e *evictor) secondWebhook(pod string) (called <-chan struct{}, goOn func()) {
	e.t.Helper()
	asks, answers := make(chan struct{}, 9), make(chan struct{})
	goOn = sync.OnceFunc(func() { close(answers) })
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(q.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if !*review.Request.DryRun {
			asks <- struct{}{}
			<-answers
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: []string{"called as well"}}
		_ = json.NewEncoder(w).Encode(review) // the API server may have closed the connection
	}))
	e.t.Cleanup(server.Close)
	e.t.Cleanup(goOn)
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(e.t, "pod-eviction.yaml", &c)
	c.Name = e.name + "-besides"
	c.Webhooks[0].Name = "besides.example.com"
	c.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	e.validates(&c)
	e.eventually("the API server calls the second webhook", func(present) error {
		err := e.evictDryByQuery(pod)
		if err == nil && len(e.warned()) == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	return asks, goOn
}
