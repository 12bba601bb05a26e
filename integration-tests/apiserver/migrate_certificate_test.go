package apiserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// inItsPlace lets lockstep work with the predecessor's account, with lockstep's rights and rights
// to the predecessor's Secret.
func (p *predecessor) inItsPlace() {
	p.t.Helper()
	p.withRole()
	ctx, roles := p.t.Context(), p.world.admin.RbacV1()
	secrets := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "certificate"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{formerCertificate}, Verbs: []string{"get", "list", "watch", "update"}},
	}}
	if _, err := roles.Roles(p.name).Create(ctx, secrets, createOptions); err != nil {
		p.t.Fatal(err)
	}
	if err := p.world.cluster.Apply(ctx, manifest+"webhooks/inject.yaml"); err != nil {
		p.t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: former, Namespace: p.name}}
	for _, role := range []string{"lockstep", "lockstep-home", "certificate"} {
		b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "of-" + role}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}}
		if _, err := roles.RoleBindings(p.name).Create(ctx, b, createOptions); err != nil {
			p.t.Fatal(err)
		}
	}
	b := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lockstep-webhooks"}}
	if _, err := roles.ClusterRoleBindings().Create(ctx, b, createOptions); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := roles.ClusterRoleBindings().Delete(context.WithoutCancel(p.t.Context()), p.name, deleteOptions); err != nil {
			p.t.Error(err)
		}
	})
}

// reviews posts reviews continuously, like an API server with one of the predecessor's
// configurations.
func (p *predecessor) reviews(address string) *calls {
	ctx, stop := context.WithCancel(p.t.Context())
	c := &calls{stop: stop}
	c.over.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			err := p.review(ctx, address)
			late := time.Since(began) > propagation // this client was slower than an API server may be
			c.count(ctx.Err() == nil && !late, err)
			time.Sleep(5 * time.Millisecond)
		}
	})
	return c
}

func (p *predecessor) review(ctx context.Context, address string) error {
	hooks := p.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	found, err := hooks.Get(ctx, formerMutating+p.name, getOptions)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(found.Webhooks[0].ClientConfig.CABundle)
	const body = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"x","operation":"UPDATE"}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/admission/no-downscale", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: p.serverName()}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// The key of the predecessor's CA is lost, so lockstep replaces the CA. Until then it serves the
// predecessor's certificate.
func TestThePredecessorsCertificateIsServedUntilAnotherHasTakenItsPlace(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.predecessor()
	p.registers()
	p.inItsPlace()
	op := s.startOperatorAs(former, slices.Concat(serveWebhooks(), []string{
		"-use-zone-tracker=true", "-zone-tracker.config-map-name=" + formerTracker, "-kubernetes.client-qps=5", "-reconcile.interval=5s",
		"-server-tls.self-signed-cert.secret-name=" + formerCertificate,
	})...)
	reviews := p.reviews(webhookAddress(t, op))
	s.eventually("it begins with the predecessor's certificate", func(present) error {
		if !strings.Contains(op.Logs(), `"serial":"400"`) {
			return errors.New(lastLines(op.Logs(), "certificate", 10))
		}
		return nil
	})
	s.eventually("there is another certificate, and one CA everywhere", func(present) error {
		now := p.certificate()
		if n := bytes.Count(now["ca"], []byte("BEGIN")); n != 1 || bytes.Equal(now["ca"], p.ca) || len(now["next-cert"]) > 0 {
			return fmt.Errorf("%d CAs, next %q", n, now["next-cert"])
		}
		for name, bundle := range p.bundles() {
			if !bytes.Equal(bundle, now["ca"]) {
				return errors.New(name + " has another CA")
			}
		}
		return nil
	})
	reviews.end(s)

	// The predecessor could continue with this certificate.
	now := p.certificate()
	pair, err := tls.X509KeyPair(now["cert"], now["key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(now["ca"])
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: p.serverName()}); err != nil {
		t.Error(err)
	}
}
