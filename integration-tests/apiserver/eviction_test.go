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
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// evictor evicts pods of a scene as a drain does, and keeps what it is warned of.
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

func (e *evictor) warned() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() { e.warnings = nil }()
	return e.warnings
}

// evictions is a scene in which the API server asks the shared operator about
// evictions, which are bound to pods unless a test says else.
func evictions(t *testing.T, unbound ...bool) *evictor {
	t.Helper()
	e := &evictor{scene: managed(t)}
	config := e.world.cluster.AdminConfig()
	config.WarningHandler = e
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	e.client = client
	ca, address, bound := e.world.ca(t), webhookAddress(t, e.operator), len(unbound) == 0
	if bound {
		e.boundBy(address, ca)
	}
	e.evictedBy(address, ca)
	e.begin(zone("probe", 1, inGroup("probe"), readyAfter(time.Hour)))
	e.eventually("the API server asks both webhooks", func(present) error {
		if err := e.evict("probe-0", dryEviction); err != nil {
			return err
		}
		if warned := e.warned(); (len(warned) == 0) != bound {
			return fmt.Errorf("warned of %q", warned)
		}
		return nil
	})
	e.remove("probe")
	return e
}

// evictedBy lets the API server ask about evictions in the scene.
func (e *evictor) evictedBy(address string, ca []byte) {
	e.t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(e.t, "pod-eviction.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: e.name + "-evictions"}
	c.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: new("https://" + address + *c.Webhooks[0].ClientConfig.Service.Path), CABundle: ca,
	}
	e.validates(&c)
}

// validates registers webhooks for the scene alone.
func (e *evictor) validates(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
	e.t.Helper()
	for i := range c.Webhooks {
		c.Webhooks[i].NamespaceSelector = e.here()
	}
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

// boundBy lets the API server have evictions in the scene bound to pods.
func (e *evictor) boundBy(address string, ca []byte) {
	e.t.Helper()
	var c admissionregistrationv1.MutatingWebhookConfiguration
	readManifest(e.t, "pod-eviction-pin.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: e.name + "-evictions"}
	c.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: new("https://" + address + *c.Webhooks[0].ClientConfig.Service.Path), CABundle: ca,
	}
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

// evict asks once.
func (e *evictor) evict(pod string, more ...func(*policyv1.Eviction)) error {
	e.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: pod}}
	for _, change := range more {
		change(eviction)
	}
	return e.client.PolicyV1().Evictions(e.name).Evict(e.t.Context(), eviction)
}

// evictDryByQuery asks for a dry run beside the object.
func (e *evictor) evictDryByQuery(pod string) error {
	e.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: pod}}
	return e.client.CoreV1().RESTClient().Post().Namespace(e.name).Resource("pods").Name(pod).SubResource("eviction").
		Param("dryRun", metav1.DryRunAll).Body(eviction).Do(e.t.Context()).Error()
}

// dryEviction asks for a dry run in the object.
func dryEviction(e *policyv1.Eviction) {
	e.DeleteOptions = &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
}

// refused asks for a refusal for now, with these words.
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

// pod is how the witness knows a pod.
func (e *evictor) pod(name string) *corev1.Pod {
	e.t.Helper()
	pod := e.witness.now().pods[name]
	if pod == nil {
		e.t.Fatalf("there is no %s", name)
	}
	return pod
}

// comesBack waits until another pod of that name serves.
func (e *evictor) comesBack(formerly *corev1.Pod) {
	e.t.Helper()
	e.eventually("another "+formerly.Name+" serves", func(now present) error {
		pod := now.pods[formerly.Name]
		if pod == nil || pod.UID == formerly.UID || !judge.PodOf(pod).Up() {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestAPodIsEvictedUnderTheHoldOfItsGroup(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	if err := e.evict("zone-a-1"); err != nil {
		t.Fatal(err)
	}
	e.comesBack(before)
	e.settled()
	history, err := e.witness.Facts()
	if err != nil {
		t.Fatal(err)
	}
	noted := false
	for _, f := range history {
		if f.Hold != nil && f.Hold.Holder == "eviction/zone-a" && len(f.Hold.Notes) == 1 && f.Hold.Notes[0].UID == string(before.UID) {
			noted = true
		}
		if f.Pod != nil && f.Pod.UID == string(before.UID) && (f.Pod.Leaving || f.Pod.Gone) && !noted {
			t.Fatalf("%s leaves before its eviction is noted", before.Name)
		}
	}
	if warned := e.warned(); !noted || len(warned) > 0 {
		t.Errorf("noted %t, warned of %q", noted, warned)
	}
}

func TestEvictionsInTwoZonesTakeTurns(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2, readyAfter(2*short)), zone("zone-b", 2))
	first, second := e.pod("zone-a-0"), e.pod("zone-b-0")
	if err := e.evict(first.Name); err != nil {
		t.Fatal(err)
	}
	e.refused(e.evict("zone-a-1"), "1 pod ", " in zone-a; eviction of zone-a-1 in zone-a is refused (")
	e.refused(e.evict(second.Name), "1 pod ", " in zone-a; eviction of zone-b-0 in zone-b is refused (GroupHeld", "another operation holds the group")
	e.refused(e.evict("zone-a-1"), "eviction of zone-a-1 in zone-a is refused (OthersCameFirst zone-b", "s at most")
	e.eventually("zone-b waits in the queue", func(now present) error {
		lease := now.leases["lockstep-group-"+defaultGroup]
		if lease == nil || !strings.Contains(lease.Annotations["lockstep.dev/waiting"], "zone-b") {
			return errors.New("not yet")
		}
		return nil
	})
	e.eventually("its turn comes", func(present) error { return e.evict(second.Name) })
	e.comesBack(first)
	e.comesBack(second)
	e.settled()
}

func TestAPodThatIsDownIsEvictedWhoeverHasTheHold(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.begin(zone("zone-a", 2, readyAfter(2*short)), zone("zone-b", 1, gated()))
	e.eventually("the gate of a pod is open", func(now present) error {
		if now.pods["zone-b-0"] == nil {
			return errors.New("there is no pod")
		}
		e.gate("zone-b-0", corev1.ConditionTrue)
		return nil
	})
	e.settled()
	down := e.pod("zone-b-0")
	if err := e.evict("zone-a-0"); err != nil {
		t.Fatal(err)
	}
	e.gate(down.Name, corev1.ConditionFalse)
	e.eventually("it is evicted", func(present) error { return e.evict(down.Name) })
	e.eventually("it is gone", func(now present) error {
		if pod := now.pods[down.Name]; pod != nil && pod.UID == down.UID {
			return errors.New("not yet")
		}
		return nil
	})
	if warned := e.warned(); len(warned) > 0 {
		t.Errorf("warned of %q", warned)
	}
}

func TestADryRunOfAnEvictionLeavesNothing(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	for _, err := range []error{e.evict("zone-a-0", dryEviction), e.evictDryByQuery("zone-a-0")} {
		if err != nil {
			t.Error(err)
		}
	}
	e.stays("no Lease is made", aWhile, func(now present) error {
		if len(now.leases) > 0 {
			return fmt.Errorf("there is %q", sortedKeys(now.leases))
		}
		return nil
	})
}

func TestAnEvictionThatIsBoundToNoPodIsGrantedWithAWarning(t *testing.T) {
	t.Parallel()
	e := evictions(t, true)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	if err := e.evict(before.Name); err != nil {
		t.Fatal(err)
	}
	if warned := e.warned(); len(warned) != 1 || !strings.Contains(warned[0], "pod-eviction-pin") {
		t.Errorf("warned of %q", warned)
	}
	e.comesBack(before)
	e.settled()
}

func TestADrainIsToldThatAPodIsGone(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	if err := e.evict("zone-a-0"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "pod-eviction.lockstep.dev") {
		t.Errorf("got %v", err)
	}
}

// Whoever replaces a pod between the yes and the deletion does not lose the
// replacement as well.
func TestAPodThatComesBetweenGrantAndDeletionSurvives(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.create(zone("zone-a", 2), zone("zone-b", 2))
	before := e.pod("zone-a-1")
	asked, goOn := e.asksBesides(before.Name)
	answer := make(chan error, 1)
	go func() { answer <- e.evict(before.Name) }()
	e.eventually("the API server asks, and the eviction is noted", func(now present) error {
		if free(now) == nil || len(asked) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	e.deletePod(before.Name)
	e.comesBack(before)
	goOn()
	if err := <-answer; !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict: it is not the pod that was judged", err)
	}
	after := e.pod(before.Name)
	e.settled()
	if now := e.pod(before.Name); now.UID != after.UID {
		t.Error("the replacement is gone")
	}
}

// asksBesides lets the API server ask somebody else about evictions as well, whom
// it waits for. It tells when it asks about one that is no dry run, as those of the
// pod that show that it does.
func (e *evictor) asksBesides(pod string) (asked <-chan struct{}, goOn func()) {
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
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, Warnings: []string{"asked besides"}}
		_ = json.NewEncoder(w).Encode(review) // the API server may have gone
	}))
	e.t.Cleanup(server.Close)
	e.t.Cleanup(goOn)
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(e.t, "pod-eviction.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: e.name + "-besides"}
	c.Webhooks[0].Name = "besides.example.com"
	c.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{
		URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	e.validates(&c)
	e.eventually("the API server asks besides", func(present) error {
		err := e.evictDryByQuery(pod)
		if err == nil && len(e.warned()) == 0 {
			err = errors.New("not yet")
		}
		return err
	})
	return asks, goOn
}
