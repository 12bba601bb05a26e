package apiserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	certificate = "lockstep-webhook-certificate"
	// propagation is how long the operator waits for clients to load a new CA.
	propagation = time.Second
)

// withWebhooks grants the scene the roles that webhooks need. Call withRole first.
func (s *scene) withWebhooks() {
	s.t.Helper()
	err := s.world.cluster.ApplyIn(s.t.Context(), s.name, manifest+"webhooks/certificate/role.yaml", manifest+"webhooks/inject.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	s.mayEverywhere("lockstep-webhooks") // if another scene applies the manifest, its binding belongs to that scene
}

// serveWebhooks returns the flags for an operator that serves webhooks on a port that it chooses.
func serveWebhooks() []string {
	return []string{
		"-log.level=debug", "-server-tls.enabled", "-server-tls.port=0", "-server-tls.self-signed-cert.dns-name=127.0.0.1",
		"-server-tls.self-signed-cert.propagation=" + propagation.String(),
	}
}

// startWithWebhooks starts operators that serve webhooks, concurrently.
func (s *scene) startWithWebhooks(n int, more ...string) []*operator {
	s.t.Helper()
	kubeconfig := s.kubeconfig()
	args := slices.Concat([]string{"-kubernetes.namespace=" + s.name, "-operator.namespace=" + s.name}, serveWebhooks(), impatient, more)
	all, errs := make([]*operator, n), make([]error, n)
	var starts sync.WaitGroup
	for i := range all {
		starts.Go(func() { all[i], errs[i] = s.world.startWith(s.t.Context(), kubeconfig, s.own.User, s.name, args...) })
	}
	starts.Wait()
	for _, op := range all {
		if op != nil {
			s.t.Cleanup(op.Kill)
			s.operator = op
		}
	}
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// webhookAddress returns the address at which an operator serves webhooks.
func webhookAddress(t *testing.T, o *operator) string {
	t.Helper()
	address := addressIn(o.Logs(), "serving webhooks")
	if address == "" {
		t.Fatalf("the log does not contain the address of the webhooks:\n%s", o.Logs())
	}
	return address
}

// addressIn returns the address in the first line of a log with that message.
func addressIn(log, message string) string {
	for line := range strings.Lines(log) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == message {
			return entry.Address
		}
	}
	return ""
}

// callee returns a webhook configuration that refers to operators by their addresses and matches no
// request.
func (s *scene) callee(operators []*operator) *admissionregistrationv1.ValidatingWebhookConfiguration {
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: s.injected()}
	for i, o := range operators {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.ValidatingWebhook{
			Name: fmt.Sprintf("replica-%d.lockstep.dev", i), AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Ignore),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: new("https://" + webhookAddress(s.t, o) + "/admission/no-downscale")},
		})
	}
	return c
}

// injected returns the scene's name, with the labels that request injection of the CA.
func (s *scene) injected() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: s.name, Labels: map[string]string{
		"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": s.name,
	}}
}

// secret reads the Secret with the certificate.
func (s *scene) secret() *corev1.Secret {
	s.t.Helper()
	secret, err := s.world.admin.CoreV1().Secrets(s.name).Get(s.t.Context(), certificate, getOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// wantOneCA waits until no rotation is in progress, and the Secret's only CA verifies the
// certificate of every operator.
func (s *scene) wantOneCA(operators []*operator) {
	s.t.Helper()
	s.eventually("there is one CA, and all replicas serve with it", func(present) error {
		secret := s.secret()
		if n := bytes.Count(secret.Data["ca"], []byte("BEGIN")); n != 1 || len(secret.Data["next-cert"]) > 0 {
			return fmt.Errorf("%d CAs, next %q", n, secret.Data["next-cert"])
		}
		for _, o := range operators {
			if err := review(s.t.Context(), webhookAddress(s.t, o), secret.Data["ca"]); err != nil {
				return err
			}
		}
		return nil
	})
}

// review posts a review, like an API server with that bundle.
func review(ctx context.Context, address string, bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	const body = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x","operation":"UPDATE"}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/admission/no-downscale", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func TestTheCertificateOfTheWebhooksIsSharedInjectedAndRotated(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRole()
	s.withWebhooks()
	operators := s.startWithWebhooks(2)
	s.wantOneCA(operators)
	first := s.secret()

	hooks := s.world.admin.AdmissionregistrationV1()
	if _, err := hooks.ValidatingWebhookConfigurations().Create(t.Context(), s.callee(operators), createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(hooks.ValidatingWebhookConfigurations().Delete(ctx, s.name, deleteOptions),
			hooks.MutatingWebhookConfigurations().Delete(ctx, s.name, deleteOptions))
		if err != nil {
			t.Error(err)
		}
	})
	s.eventually("the configuration has the CA", func(present) error {
		c, err := hooks.ValidatingWebhookConfigurations().Get(t.Context(), s.name, getOptions)
		if err != nil {
			return err
		}
		for _, hook := range c.Webhooks {
			if !bytes.Equal(hook.ClientConfig.CABundle, first.Data["ca"]) {
				return fmt.Errorf("%s has %q", hook.Name, hook.ClientConfig.CABundle)
			}
		}
		return nil
	})
	rotations, callers := 10, 1
	if everyFault() {
		rotations, callers = 100, 4 // 200 reviews a second and more
	}
	calls := s.callAllTheTime(operators, callers)
	s.pointToAService(operators)
	for n := range rotations {
		s.rotate(fmt.Sprint("request ", n), operators)
	}
	s.spoil(operators)
	calls.end(s)
}

// The predecessor's own tests expect a certificate that is valid for 45 seconds, and another one
// after that.
func TestACertificateThatLivesForSecondsIsRenewedUnnoticed(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRole()
	s.withWebhooks()
	operators := s.startWithWebhooks(1, "-server-tls.self-signed-cert.expiration=20s")
	s.wantOneCA(operators)
	first := s.secret()
	if n := strings.Count(operators[0].Logs(), "20s is short"); n != 1 {
		t.Errorf("it warns %d times of the short life", n)
	}
	hooks := s.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), s.callee(operators), createOptions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(t.Context()), s.name, deleteOptions); err != nil {
			t.Error(err)
		}
	})
	s.eventually("the configuration has a CA that verifies the certificate", func(present) error {
		counts, err := s.callOnce(t.Context(), 0, webhookAddress(t, operators[0]))
		if !counts {
			return errors.New("no call in time")
		}
		return err
	})
	calls := s.callAllTheTime(operators, 1)
	s.eventually("the certificate was renewed twice", func(present) error {
		if n := strings.Count(operators[0].Logs(), `"webhook certificate is served"`); n < 3 {
			return fmt.Errorf("%d certificates were served", n)
		}
		return nil
	})
	calls.end(s)
	if now := s.secret(); bytes.Equal(now.Data["cert"], first.Data["cert"]) {
		t.Error("the first certificate is still served")
	}
}

// pointToAService creates a configuration that calls a Service for which the certificate is not
// valid yet.
func (s *scene) pointToAService(operators []*operator) {
	s.t.Helper()
	c := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: s.injected()}
	c.Webhooks = []admissionregistrationv1.MutatingWebhook{{
		Name: "service.lockstep.dev", AdmissionReviewVersions: []string{"v1"},
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Ignore),
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}},
		ClientConfig:      admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: s.name, Name: "hooks"}},
	}}
	hooks := s.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := hooks.Create(s.t.Context(), c, createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the certificate is valid for the Service", func(present) error {
		served, err := tls.X509KeyPair(s.secret().Data["cert"], s.secret().Data["key"])
		if err != nil {
			return err
		}
		return served.Leaf.VerifyHostname("hooks." + s.name + ".svc")
	})
	s.wantOneCA(operators)
	s.eventually("this configuration has the CA as well", func(present) error {
		c, err := hooks.Get(s.t.Context(), s.name, getOptions)
		if err == nil && !bytes.Equal(c.Webhooks[0].ClientConfig.CABundle, s.secret().Data["ca"]) {
			err = errors.New("it has another one")
		}
		return err
	})
}

// rotate requests a rotation and waits until it has ended.
func (s *scene) rotate(request string, operators []*operator) {
	s.t.Helper()
	before := s.secret()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"lockstep.dev/rotate":%q}}}`, request)
	_, err := s.world.admin.CoreV1().Secrets(s.name).Patch(s.t.Context(), certificate, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the rotation was made", func(present) error {
		if answered := s.secret().Annotations["lockstep.dev/rotated"]; answered != request {
			return fmt.Errorf("answered is %q", answered)
		}
		return nil
	})
	s.wantOneCA(operators)
	if bytes.Equal(before.Data["ca"], s.secret().Data["ca"]) {
		s.t.Error("the CA is the former one")
	}
}

// spoil writes invalid data into the Secret and waits until the operator has replaced it.
func (s *scene) spoil(operators []*operator) {
	s.t.Helper()
	patch := []byte(`{"data":{"ca":"Z2FyYmFnZQ==","cert":"Z2FyYmFnZQ==","key":null}}`)
	_, err := s.world.admin.CoreV1().Secrets(s.name).Patch(s.t.Context(), certificate, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.wantOneCA(operators)
}

// calls posts reviews continuously, each with the bundle that the configuration contains at that
// time.
type calls struct {
	stop func()
	over sync.WaitGroup

	mu     sync.Mutex
	made   int
	failed []string
}

func (s *scene) callAllTheTime(operators []*operator, callers int) *calls {
	ctx, stop := context.WithCancel(s.t.Context())
	c := &calls{stop: stop}
	for i, o := range operators {
		address := webhookAddress(s.t, o)
		for range callers {
			c.over.Go(func() {
				for ctx.Err() == nil {
					counts, err := s.callOnce(ctx, i, address)
					c.count(counts, err)
					time.Sleep(5 * time.Millisecond)
				}
			})
		}
	}
	return c
}

// callOnce posts one review. The first result is false if the outcome does not count.
func (s *scene) callOnce(ctx context.Context, i int, address string) (bool, error) {
	began := time.Now()
	configuration, err := s.world.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, s.name, getOptions)
	if err == nil {
		err = review(ctx, address, configuration.Webhooks[i].ClientConfig.CABundle)
	}
	late := time.Since(began) > propagation // this client was slower than an API server may be
	return ctx.Err() == nil && !late, err
}

func (c *calls) count(counts bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts {
		c.made++
	}
	if counts && err != nil {
		c.failed = append(c.failed, time.Now().Format(time.StampMilli)+" "+err.Error())
	}
}

// end waits until at least 100 reviews have been posted, and fails the test unless all of them were
// answered.
func (c *calls) end(s *scene) {
	s.t.Helper()
	s.eventually("it has been called for a while", func(present) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.made < 100 {
			return fmt.Errorf("%d times, and %d failed", c.made, len(c.failed))
		}
		return nil
	})
	c.stop()
	c.over.Wait()
	s.t.Logf("%d reviews", c.made)
	if len(c.failed) > 0 {
		s.t.Errorf("of %d reviews %d failed:\n%s", c.made, len(c.failed), strings.Join(c.failed[:min(10, len(c.failed))], "\n"))
	}
}
