package apiserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// predecessor has the objects of rollout-operator in a scene's namespace, and a client with its
// rights. It is not a program: tests make the changes that rollout-operator would have made.
type predecessor struct {
	*scene
	client kubernetes.Interface
	ca     []byte // in PEM format
}

// The names of its objects in its own manifests.
const (
	former            = "rollout-operator" // Deployment, Service, service account
	formerCertificate = "rollout-operator-self-signed-certificate"
	formerTracker     = "rollout-operator-zone-tracker"
)

// predecessor creates its objects, except the webhook configurations.
func (s *scene) predecessor() *predecessor {
	s.t.Helper()
	if err := s.world.cluster.ApplyIn(s.t.Context(), s.name, "testdata/predecessor.yaml"); err != nil {
		s.t.Fatal(err)
	}
	p := &predecessor{scene: s}
	kubeconfig, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), s.name, former)
	if err != nil {
		s.t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("its role counts", func(present) error {
		_, err := p.client.AppsV1().StatefulSets(s.name).List(s.t.Context(), listOptions)
		return err
	})
	p.certify()
	return p
}

// released is the Deployment's name in an installation by Helm.
const released = "store-" + former

// comesFromHelm gives its Deployment the name and the labels of its chart.
func (p *predecessor) comesFromHelm() {
	p.t.Helper()
	deployments := p.world.admin.AppsV1().Deployments(p.name)
	d, err := deployments.Get(p.t.Context(), former, getOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	d.ObjectMeta = metav1.ObjectMeta{Name: released}
	d.Spec.Template.Labels = map[string]string{chartLabel: former, "app.kubernetes.io/instance": "store"}
	d.Spec.Selector = metav1.SetAsLabelSelector(d.Spec.Template.Labels)
	if _, err := deployments.Create(p.t.Context(), d, createOptions); err != nil {
		p.t.Fatal(err)
	}
	if err := deployments.Delete(p.t.Context(), former, deleteOptions); err != nil {
		p.t.Fatal(err)
	}
	p.eventually("it runs", func(now present) error {
		if n := p.running(now); n != 1 {
			return fmt.Errorf("it has %d pods", n)
		}
		return nil
	})
}

// chartLabel is the label of its pods in an installation by Helm.
const chartLabel = "app.kubernetes.io/name"

// running counts its pods in an installation by Helm.
func (p *predecessor) running(now present) int {
	n := 0
	for _, pod := range now.pods {
		if pod.Labels[chartLabel] == former {
			n++
		}
	}
	return n
}

// formerKeys returns the keys of its CA and its certificate. They are shared, because their
// creation takes long.
var formerKeys = sync.OnceValues(func() (keys [2]*rsa.PrivateKey, err error) {
	for i := range keys {
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return keys, err
		}
	}
	return keys, nil
})

// certify creates the Secret with its certificate. The key of the CA is not kept.
func (p *predecessor) certify() {
	p.t.Helper()
	keys, err := formerKeys()
	if err != nil {
		p.t.Fatal(err)
	}
	year := x509.Certificate{
		NotBefore: time.Now(), NotAfter: time.Now().Add(365 * 24 * time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	ca, leaf := year, year
	ca.SerialNumber, ca.Subject = big.NewInt(2022), pkix.Name{Organization: []string{"Example"}}
	ca.IsCA, ca.KeyUsage = true, x509.KeyUsageDigitalSignature|x509.KeyUsageCertSign
	leaf.SerialNumber, leaf.Subject = big.NewInt(1024), pkix.Name{CommonName: former}
	leaf.DNSNames, leaf.KeyUsage = []string{p.serverName()}, x509.KeyUsageDigitalSignature
	signed := func(what, by *x509.Certificate, key *rsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, what, by, &key.PublicKey, keys[0])
		if err != nil {
			p.t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	p.ca = signed(&ca, &ca, keys[0])
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: formerCertificate}, Data: map[string][]byte{
		"ca":   p.ca,
		"cert": signed(&leaf, &ca, keys[1]),
		"key":  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(keys[1])}),
	}}
	if _, err := p.world.admin.CoreV1().Secrets(p.name).Create(p.t.Context(), secret, createOptions); err != nil {
		p.t.Fatal(err)
	}
}

// serverName returns its name in requests of API servers.
func (p *predecessor) serverName() string { return former + "." + p.name + ".svc" }

// Its webhook configurations, without the name of the namespace that follows.
var (
	formerValidating = []string{"no-downscale-", "pod-eviction-", "zpdb-validation-"}
	formerMutating   = "prepare-downscale-"
)

// registers creates its webhook configurations. No server answers them, so from then on
// StatefulSets of the namespace cannot be updated.
func (p *predecessor) registers() {
	p.t.Helper()
	ctx, hooks := p.t.Context(), p.world.admin.AdmissionregistrationV1()
	about := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name + p.name, Labels: map[string]string{
			"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": p.name,
		}}
	}
	rules := map[string]admissionregistrationv1.RuleWithOperations{
		"no-downscale-":      rule("apps", admissionregistrationv1.Update, "statefulsets", "statefulsets/scale"),
		"prepare-downscale-": rule("apps", admissionregistrationv1.Update, "statefulsets", "statefulsets/scale"),
		"pod-eviction-":      rule("", admissionregistrationv1.Create, "pods/eviction"),
		"zpdb-validation-":   rule("rollout-operator.grafana.com", admissionregistrationv1.Create, "zoneawarepoddisruptionbudgets"),
	}
	for _, name := range formerValidating {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: about(name), Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name + p.name + ".grafana.com", ClientConfig: p.called(name), Rules: []admissionregistrationv1.RuleWithOperations{rules[name]},
			NamespaceSelector: p.here(), FailurePolicy: new(admissionregistrationv1.Fail), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(10)),
		}}}
		if _, err := hooks.ValidatingWebhookConfigurations().Create(ctx, c, createOptions); err != nil {
			p.t.Fatal(err)
		}
	}
	c := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: about(formerMutating), Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: formerMutating + p.name + ".grafana.com", ClientConfig: p.called(formerMutating),
		Rules:             []admissionregistrationv1.RuleWithOperations{rules[formerMutating]},
		NamespaceSelector: p.here(), FailurePolicy: new(admissionregistrationv1.Fail), SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(10)),
	}}}
	if _, err := hooks.MutatingWebhookConfigurations().Create(ctx, c, createOptions); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.unregister)
}

func (p *predecessor) here() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": p.name}}
}

func (p *predecessor) called(name string) admissionregistrationv1.WebhookClientConfig {
	path := "/admission/" + name[:len(name)-1]
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: p.name, Name: former, Path: &path}, CABundle: p.ca,
	}
}

func rule(group string, operation admissionregistrationv1.OperationType, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{operation},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources},
	}
}

// unregister deletes the remaining ones of its webhook configurations.
func (p *predecessor) unregister() {
	ctx, hooks := context.WithoutCancel(p.t.Context()), p.world.admin.AdmissionregistrationV1()
	all := []error{hooks.MutatingWebhookConfigurations().Delete(ctx, formerMutating+p.name, deleteOptions)}
	for _, name := range formerValidating {
		all = append(all, hooks.ValidatingWebhookConfigurations().Delete(ctx, name+p.name, deleteOptions))
	}
	for _, err := range all {
		if err != nil && !apierrors.IsNotFound(err) {
			p.t.Error(err)
		}
	}
}

// isForgotten waits until the API server does not call its webhooks any more.
func (p *predecessor) isForgotten() {
	p.t.Helper()
	p.eventually("the predecessor is not called any more", func(present) error { return p.updateOnTrial() })
}

// isAway waits until the API server calls its webhooks, which do not answer.
func (p *predecessor) isAway() {
	p.t.Helper()
	p.eventually("the predecessor is called, and does not answer", func(present) error {
		if err := p.updateOnTrial(); !apierrors.IsInternalError(err) {
			return errors.New(fmt.Sprint("got ", err))
		}
		return nil
	})
}

// updateOnTrial updates a zone in a dry run.
func (p *predecessor) updateOnTrial() error {
	_, err := p.world.admin.AppsV1().StatefulSets(p.name).Patch(p.t.Context(), p.zones[0], types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// bundles returns the CAs in its existing webhook configurations.
func (p *predecessor) bundles() map[string][]byte {
	p.t.Helper()
	hooks, found := p.world.admin.AdmissionregistrationV1(), map[string][]byte{}
	ofNamespace := metav1.ListOptions{LabelSelector: "grafana.com/inject-rollout-operator-ca=true,grafana.com/namespace=" + p.name}
	validating, err := hooks.ValidatingWebhookConfigurations().List(p.t.Context(), ofNamespace)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range validating.Items {
		found[c.Name] = c.Webhooks[0].ClientConfig.CABundle
	}
	mutating, err := hooks.MutatingWebhookConfigurations().List(p.t.Context(), ofNamespace)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range mutating.Items {
		found[c.Name] = c.Webhooks[0].ClientConfig.CABundle
	}
	return found
}

// publishes writes its CA into its webhook configurations that have another one.
func (p *predecessor) publishes() error {
	hooks, ctx := p.world.admin.AdmissionregistrationV1(), p.t.Context()
	body := fmt.Appendf(nil, `[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, base64.StdEncoding.EncodeToString(p.ca))
	var all []error
	for name, bundle := range p.bundles() {
		if bytes.Equal(bundle, p.ca) {
			continue
		}
		_, err := hooks.ValidatingWebhookConfigurations().Patch(ctx, name, types.JSONPatchType, body, metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			_, err = hooks.MutatingWebhookConfigurations().Patch(ctx, name, types.JSONPatchType, body, metav1.PatchOptions{})
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// formerly sets the label by which it finds the pods of a zone.
func formerly(s *appsv1.StatefulSet) { s.Spec.Template.Labels["name"] = s.Name }

// apartByLabel sets the minimum time between downscales as a label, which it reads.
func apartByLabel(text string) option {
	return func(s *appsv1.StatefulSet) { set(&s.Labels, apartAnnotation, text) }
}

// removes deletes a pod by name, as the predecessor does.
func (p *predecessor) removes(pod string) {
	p.t.Helper()
	if err := p.client.CoreV1().Pods(p.name).Delete(p.t.Context(), pod, deleteOptions); err != nil {
		p.t.Fatal(err)
	}
}

// scalesDown scales a zone down.
func (p *predecessor) scalesDown(zone string, to int) {
	p.t.Helper()
	p.patches(zone, fmt.Sprintf(`{"spec":{"replicas":%d}}`, to))
}

// stamps writes the time of a zone's last downscale to the zone.
func (p *predecessor) stamps(zone string, at time.Time) {
	p.t.Helper()
	p.patches(zone, stampOf(at))
}

func stampOf(at time.Time) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, downscaledAnnotation, at.UTC().Format(time.RFC3339))
}

func (p *predecessor) patches(zone, body string) {
	p.t.Helper()
	if err := p.patch(zone, body); err != nil {
		p.t.Fatal(err)
	}
	set, err := p.client.AppsV1().StatefulSets(p.name).Get(p.t.Context(), zone, getOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	p.received(set)
}

func (p *predecessor) patch(zone, body string) error {
	_, err := p.client.AppsV1().StatefulSets(p.name).Patch(p.t.Context(), zone, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	return err
}

// tracks creates its ConfigMap with the times of the last downscales.
func (p *predecessor) tracks(times map[string]time.Time) {
	p.t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: formerTracker}, Data: map[string]string{}}
	for zone, at := range times {
		c.Data[zone] = fmt.Sprintf(`{"lastDownscaled":%q}`, at.UTC().Format(time.RFC3339))
	}
	if _, err := p.client.CoreV1().ConfigMaps(p.name).Create(p.t.Context(), c, createOptions); err != nil {
		p.t.Fatal(err)
	}
}

// tracked returns that ConfigMap.
func (p *predecessor) tracked() *corev1.ConfigMap {
	p.t.Helper()
	c, err := p.client.CoreV1().ConfigMaps(p.name).Get(p.t.Context(), formerTracker, getOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// seesReady writes to every pod when it was first observed as ready.
func (p *predecessor) seesReady() {
	p.t.Helper()
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{"grafana.com/ready-time":%q}}}`, time.Now().UTC().Format(time.RFC3339))
	for _, pod := range p.allPods() {
		if _, err := p.client.CoreV1().Pods(p.name).Patch(p.t.Context(), pod, types.StrategicMergePatchType, body, metav1.PatchOptions{}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// The stand-in has the rights to make the changes that the tests make in its name.
func TestThePredecessorStandInMayMakeItsChanges(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.predecessor()
	s.create(zone("zone-a", 2, formerly), zone("zone-b", 1, formerly))
	p.removes("zone-a-0")
	p.stamps("zone-a", time.Now())
	p.scalesDown("zone-a", 1)
	p.tracks(map[string]time.Time{"zone-a": time.Now()})
	s.settled()
	p.seesReady()
	p.registers()
	if n := len(p.bundles()); n != 4 {
		t.Errorf("it has %d webhook configurations", n)
	}
	p.isAway()
}
