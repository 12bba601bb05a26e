package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// drainable is a scene with two operators of its own. The API server calls them in turn about
// downscales and evictions.
type drainable struct {
	*scene
	kubeconfig string
	more       []string // further arguments of operators
	replicas   []*operator
	service    *balancer
}

// newDrainable returns that scene before it has operators.
func newDrainable(t *testing.T) *drainable {
	t.Helper()
	s := unmanaged(t)
	s.rules.guarded, s.rules.evicting, s.rules.unordered = true, true, true
	s.patience = longPatience
	s.withRole()
	s.withCertificate()
	return &drainable{scene: s, kubeconfig: s.kubeconfig()}
}

// answeredLate returns that scene with two operators. One answers webhooks and observes one
// resource late; the other one is the leader.
func answeredLate(t *testing.T, resource string, by time.Duration) *drainable {
	t.Helper()
	e := newDrainable(t)
	e.answersLate(resource, by)
	return e
}

// answersLate starts these two operators.
func (e *drainable) answersLate(resource string, by time.Duration) {
	e.t.Helper()
	leader := e.startReplica()
	proxy, late := e.proxied()
	proxy.DelayWatches(resource, by)
	e.kubeconfig = late
	answering := e.startReplica()
	e.guardBy(leader, answering)
	e.replicas = []*operator{answering}
	e.leads()
}

// evictedUnder returns that scene with operators and a disruption budget.
func evictedUnder(t *testing.T, b judge.Budget) *drainable {
	t.Helper()
	e := newDrainable(t)
	e.limits(b)
	e.guard()
	return e
}

// limits creates a disruption budget for the default group.
func (e *drainable) limits(b judge.Budget) {
	e.t.Helper()
	b.Group = defaultGroup
	spec := fmt.Sprintf(`{%s,"maxUnavailable":%d}`, store, b.Limit)
	if b.Partition != nil {
		regex := strings.TrimSuffix(strings.TrimPrefix(b.Partition.String(), "^"), "$")
		spec = fmt.Sprintf(`{%s,"maxUnavailable":%d,"podNamePartitionRegex":%q}`, store, b.Limit, regex)
	}
	if _, err := e.resources(budgets).Create(e.t.Context(), zpdb(e.t, defaultGroup, spec), createOptions); err != nil {
		e.t.Fatal(err)
	}
	e.rules.budgets = []judge.Budget{b}
}

// byPartition matches the partition of a pod: the pods of all zones with its ordinal.
var byPartition = regexp.MustCompile(`^zone-[a-c]-([0-9]+)$`)

// inBudget makes a budget cover the pods of a zone.
func inBudget(s *appsv1.StatefulSet) { s.Spec.Template.Labels[groupLabel] = s.Labels[groupLabel] }

// guard starts two operators and makes the API server call them.
func (e *drainable) guard() { e.t.Helper(); e.guardBy(e.startReplica(), e.startReplica()) }

// guardBy makes the API server call these operators.
func (e *drainable) guardBy(replicas ...*operator) {
	e.t.Helper()
	e.replicas = replicas
	e.wantOneCA(e.replicas)
	e.service = newBalancer(e.t, e.secret().Data["ca"])
	e.leads()
	e.registers()
	e.isCalled()
}

func (e *drainable) startReplica() *operator {
	e.t.Helper()
	return e.startOperatorWith(e.kubeconfig, slices.Concat(serveWebhooks(), impatient, []string{"-webhooks.update-ca-bundle=false"}, e.more)...)
}

// leads updates the addresses of the service.
func (e *drainable) leads() {
	e.t.Helper()
	var addresses []string
	for _, o := range e.replicas {
		addresses = append(addresses, webhookAddress(e.t, o))
	}
	e.service.leadsTo(addresses...)
}

// The paths of the webhooks in the manifests.
const (
	pathOfPrepare  = "/admission/prepare-downscale"
	pathOfEviction = "/admission/pod-eviction"
	pathOfPin      = "/admission/pod-eviction-pin"
)

// registers creates the webhook configurations of the manifests, for the service and for this
// namespace only.
func (e *drainable) registers() {
	e.t.Helper()
	var downscaling, pinning admissionregistrationv1.MutatingWebhookConfiguration
	var evicting admissionregistrationv1.ValidatingWebhookConfiguration
	readManifest(e.t, "prepare-downscale.yaml", &downscaling)
	readManifest(e.t, "pod-eviction-pin.yaml", &pinning)
	readManifest(e.t, "pod-eviction.yaml", &evicting)
	changing := slices.Concat(downscaling.Webhooks, pinning.Webhooks)
	for i := range changing {
		e.redirects(&changing[i].ClientConfig, &changing[i].NamespaceSelector)
	}
	for i := range evicting.Webhooks {
		e.redirects(&evicting.Webhooks[i].ClientConfig, &evicting.Webhooks[i].NamespaceSelector)
	}
	ours, hooks := metav1.ObjectMeta{Name: e.name}, e.world.admin.AdmissionregistrationV1()
	_, err := hooks.MutatingWebhookConfigurations().Create(e.t.Context(),
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: ours, Webhooks: changing}, createOptions)
	if err != nil {
		e.t.Fatal(err)
	}
	_, err = hooks.ValidatingWebhookConfigurations().Create(e.t.Context(),
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: ours, Webhooks: evicting.Webhooks}, createOptions)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(e.receiveNothing)
}

func (e *drainable) redirects(client *admissionregistrationv1.WebhookClientConfig, namespaces **metav1.LabelSelector) {
	url := e.service.URL + *client.Service.Path
	*client = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: e.service.ca()}
	*namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": e.name}}
}

// isCalled waits until the API server calls all webhooks. Its requests are dry runs.
func (e *drainable) isCalled() {
	e.t.Helper()
	e.begin(zone("probe", 1, inGroup("probe")))
	trial := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	e.eventually("the API server calls the webhooks", func(present) error {
		ctx, sets := e.t.Context(), e.world.admin.AppsV1().StatefulSets(e.name)
		_, scalesDown := sets.Patch(ctx, "probe", "application/merge-patch+json", []byte(`{"spec":{"replicas":0}}`), trial)
		evicts := e.evictOnTrial("probe-0")
		answered := e.service.answered()
		for _, path := range []string{pathOfPrepare, pathOfEviction, pathOfPin} {
			if answered[path] == 0 {
				return errors.Join(fmt.Errorf("%s was not called", path), scalesDown, evicts)
			}
		}
		return errors.Join(scalesDown, evicts)
	})
	e.remove("probe")
}

func (e *drainable) evictOnTrial(pod string) error {
	return e.evicts(e.t.Context(), pod, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// evicts requests the eviction of a pod once.
func (e *drainable) evicts(ctx context.Context, pod string, options *metav1.DeleteOptions) error {
	return e.world.admin.PolicyV1().Evictions(e.name).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.name, Name: pod}, DeleteOptions: options,
	})
}

// evicted returns the names of the pods that were evicted so far while they were ready, in order.
func (e *drainable) evicted() []string {
	e.t.Helper()
	var names []string
	for _, d := range e.departures() {
		if d.Evicted && d.WasServing {
			names = append(names, d.Pod)
		}
	}
	return names
}
