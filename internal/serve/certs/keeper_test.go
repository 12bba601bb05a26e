package certs_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/serve/certs"
)

const (
	host        = "lockstep.lockstep-system.svc"
	life        = 10 * 24 * time.Hour
	propagation = time.Minute
	// soon is the time after which every step without a wait has been taken.
	soon = 10 * time.Second
)

// cluster is an API server with replicas that serve the certificate of its Secret.
type cluster struct {
	*testing.T
	*apiServer
	lines *logtest.Hook
	log   *logrus.Logger
	ctx   context.Context //nolint:containedctx // the life of the replicas, which the test ends

	life, propagation time.Duration // 0: the defaults

	names     []string
	namesErr  error
	published func([]byte) error
	dryRun    bool

	mu      sync.Mutex
	expires time.Time
}

// inCluster runs a test in a synctest bubble.
func inCluster(t *testing.T, test func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		log, lines := logtest.NewNullLogger()
		o := &cluster{T: t, apiServer: newServer(), lines: lines, log: log, ctx: ctx, propagation: propagation, names: []string{host}}
		o.published = func([]byte) error { return nil }
		test(o)
		stop()
		synctest.Wait()
	})
}

// replica starts a replica.
func (o *cluster) replica() *certs.Keeper {
	o.Helper()
	clock := clock.New()
	k, err := certs.New(certs.Options{
		Client: apitest.Client(o.T, clock.Watch(o.apiServer)), Namespace: home, Name: name, Organisation: "test", Life: cmp.Or(o.life, life), Propagation: cmp.Or(o.propagation, propagation),
		Clock: clock, Log: o.log, DryRun: o.dryRun, Names: func() ([]string, error) { return o.names, o.namesErr }, Published: o.published,
		Expires: func(at time.Time) { o.mu.Lock(); defer o.mu.Unlock(); o.expires = at },
	})
	if err != nil {
		o.Fatal(err)
	}
	go k.Watch(o.ctx)
	go k.Run(o.ctx)
	return k
}

// leaf returns the certificate that a replica serves.
func (o *cluster) leaf(k *certs.Keeper) *x509.Certificate {
	o.Helper()
	served, err := k.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		o.Fatal(err)
	}
	return served.Leaf
}

// trusts returns an error if a client with the bundle rejects the leaf.
func trusts(bundle []byte, leaf *x509.Certificate, at time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("the bundle has no certificate")
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: at})
	return err
}

// works fails the test unless the replica is ready and the Secret's bundle verifies its certificate
// by the API server's clock.
func (o *cluster) works(k *certs.Keeper) {
	o.Helper()
	secret, _ := o.stored()
	if secret == nil {
		o.Fatal("there is no Secret")
	}
	if err := errors.Join(k.Ready(), trusts(secret.Data["ca"], o.leaf(k), o.now())); err != nil {
		o.Errorf("%v; the log:\n%s", err, o.said())
	}
	if !bytes.Equal(k.Bundle(), secret.Data["ca"]) {
		o.Error("the bundle to be injected is not the Secret's")
	}
}

func (o *cluster) said() string {
	var all strings.Builder
	for _, e := range o.lines.AllEntries() {
		line, err := e.String()
		if err != nil {
			o.Fatal(err)
		}
		all.WriteString(line)
	}
	return all.String()
}

func authorities(bundle []byte) int { return bytes.Count(bundle, []byte("BEGIN CERTIFICATE")) }

func TestReplicasThatStartTogetherAgreeOnOneCA(t *testing.T) {
	inCluster(t, func(o *cluster) {
		var all []*certs.Keeper
		for range 5 {
			all = append(all, o.replica())
		}
		time.Sleep(soon)
		secret, writes := o.stored()
		if writes != 1 || authorities(secret.Data["ca"]) != 1 {
			o.Errorf("%d writes and %d CAs", writes, authorities(secret.Data["ca"]))
		}
		for _, k := range all {
			o.works(k)
		}
		if strings.Contains(o.said(), "level=error") {
			o.Errorf("the replica that lost the race logs an error:\n%s", o.said())
		}
		if secret.Type != corev1.SecretTypeOpaque || len(secret.Data) != 3 {
			o.Errorf("a Secret of type %s with %d keys", secret.Type, len(secret.Data))
		}
	})
}

func TestIssuedCertificateHasTheExpectedFields(t *testing.T) {
	inCluster(t, func(o *cluster) {
		o.names = []string{host, "other.team.svc", "10.1.2.3", "fd00::1"}
		k := o.replica()
		time.Sleep(soon)
		leaf := o.leaf(k)
		for _, want := range o.names {
			if err := leaf.VerifyHostname(want); err != nil {
				o.Error(err)
			}
		}
		switch {
		case leaf.PublicKeyAlgorithm != x509.ECDSA, leaf.IsCA, leaf.KeyUsage != x509.KeyUsageDigitalSignature:
			o.Errorf("a leaf with %v, usage %v, CA %t", leaf.PublicKeyAlgorithm, leaf.KeyUsage, leaf.IsCA)
		case !leaf.NotBefore.Before(time.Now().Add(-30 * time.Minute)), time.Until(leaf.NotAfter).Round(time.Hour) != life:
			o.Errorf("valid from %v to %v", leaf.NotBefore, leaf.NotAfter)
		case !o.expires.Equal(leaf.NotAfter):
			o.Errorf("notified that it is valid until %v", o.expires)
		}
		secret, _ := o.stored()
		for key, value := range secret.Data {
			if key != "key" && bytes.Contains(value, []byte("PRIVATE")) {
				o.Errorf("%s holds a key", key)
			}
		}
	})
}

func TestCertificateIsNotIssuedBeforeAllNamesAreKnown(t *testing.T) {
	inCluster(t, func(o *cluster) {
		o.namesErr = errors.New("webhook configurations have not been read yet")
		k := o.replica()
		time.Sleep(soon)
		if err := k.Ready(); err == nil || !strings.Contains(err.Error(), "have not been read yet") {
			o.Errorf("ready: %v", err)
		}
		o.names, o.namesErr = append(o.names, "former.team.svc"), nil
		time.Sleep(soon)
		o.works(k)
		if err := o.leaf(k).VerifyHostname("former.team.svc"); err != nil {
			o.Error(err)
		}
		o.namesErr = errors.New("they are read again")
		time.Sleep(life*2/3 + time.Hour)
		secret, _ := o.stored()
		if _, writes := o.stored(); writes != 1 || !bytes.Equal(k.Bundle(), secret.Data["ca"]) {
			o.Errorf("%d writes", writes)
		}
	})
}

// publisher publishes the bundle to API servers that read it late.
type publisher struct {
	o       *cluster
	current []byte
	former  []byte
	until   time.Time
}

// publish sets the bundle. The tests call it at least once a second.
func (g *publisher) publish(bundle []byte) {
	if !bytes.Equal(g.current, bundle) {
		g.former, g.until, g.current = g.current, time.Now().Add(g.o.propagation), bundle
	}
}

// check fails the test if an API server rejects the leaf.
func (g *publisher) check(leaf *x509.Certificate) {
	g.o.Helper()
	for _, bundle := range [][]byte{g.current, g.former} {
		if len(bundle) == 0 || &bundle[0] != &g.current[0] && !time.Now().Before(g.until) {
			continue
		}
		if err := trusts(bundle, leaf, time.Now()); err != nil {
			g.o.Fatalf("an API server rejects the served certificate: %v", err)
		}
	}
}

// publishFor publishes and checks at least once a second for the duration d.
func (g *publisher) publishFor(d time.Duration, replicas ...*certs.Keeper) {
	g.o.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(min(time.Second, g.o.propagation/10)) {
		g.publish(replicas[0].Bundle())
		for _, k := range replicas {
			g.check(g.o.leaf(k))
		}
	}
}

func (g *publisher) published(bundle []byte) error {
	if !bytes.Equal(g.current, bundle) {
		return errors.New("not printed yet")
	}
	return nil
}

func TestRotationAtTwoThirdsOfTheLifetimeFailsNoRequest(t *testing.T) {
	inCluster(t, func(o *cluster) {
		g := &publisher{o: o}
		o.published = g.published
		replicas := []*certs.Keeper{o.replica(), o.replica(), o.replica()}
		time.Sleep(soon)
		first := o.leaf(replicas[0])
		g.publishFor(soon, replicas...)
		renew := first.NotAfter.Add(-first.NotAfter.Sub(first.NotBefore) / 3)
		time.Sleep(time.Until(renew) - soon)
		if !o.leaf(replicas[0]).Equal(first) {
			o.Error("it was rotated before its time")
		}
		g.publishFor(10*propagation, replicas...)
		for _, k := range replicas {
			o.works(k)
			if o.leaf(k).Equal(first) {
				o.Errorf("the first certificate is still served; the log:\n%s", o.said())
			}
		}
		if secret, _ := o.stored(); authorities(secret.Data["ca"]) != 1 || trusts(secret.Data["ca"], first, time.Now()) == nil {
			o.Error("the first CA is still trusted")
		}
	})
}

// The predecessor's own tests give certificates 45 seconds.
func TestShortLivedCertificatesAreRenewedInTime(t *testing.T) {
	for sentence, short := range map[string]struct {
		life   time.Duration
		unseen bool // no configuration shows whether API servers have the CA
	}{
		"45 seconds": {life: 45 * time.Second},
		"45 seconds, and no configuration shows whether API servers have the CA": {life: 45 * time.Second, unseen: true},
		"10 seconds": {life: 10 * time.Second},
		"10 seconds, and no configuration shows whether API servers have the CA": {life: 10 * time.Second, unseen: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			inCluster(t, func(o *cluster) {
				o.life, o.propagation = short.life, short.life/15 // as package config shortens it
				g := &publisher{o: o}
				if o.published = g.published; short.unseen {
					o.published = nil
				}
				replicas := []*certs.Keeper{o.replica(), o.replica()}
				synctest.Wait()
				served := map[string]bool{}
				for range 20 {
					g.publishFor(o.life/2, replicas...)
					served[o.leaf(replicas[0]).SerialNumber.String()] = true
					o.works(replicas[1])
				}
				if len(served) < 10 {
					o.Errorf("%d certificates in the time of 10 lives; the log:\n%s", len(served), o.said())
				}
			})
		})
	}
}

func TestRotateAnnotationStartsOneRotation(t *testing.T) {
	inCluster(t, func(o *cluster) {
		g := &publisher{o: o}
		o.published = g.published
		k := o.replica()
		time.Sleep(soon)
		seen := map[string]bool{o.leaf(k).SerialNumber.String(): true}
		for _, value := range []string{"once", "again"} {
			o.change(func(s *corev1.Secret) *corev1.Secret {
				metav1.SetMetaDataAnnotation(&s.ObjectMeta, contract.RotateAnnotation, value)
				return s
			})
			g.publishFor(5*propagation, k)
			if secret, _ := o.stored(); secret.Annotations[contract.RotatedAnnotation] != value {
				o.Errorf("requested %q, answered %q", value, secret.Annotations[contract.RotatedAnnotation])
			}
			serial := o.leaf(k).SerialNumber.String()
			if seen[serial] {
				o.Error("the same certificate is served")
			}
			seen[serial] = true
		}
		g.publishFor(time.Hour, k)
		if !seen[o.leaf(k).SerialNumber.String()] {
			o.Error("it was rotated once more")
		}
	})
}

func TestRotationWaitsForConfigurationsWithoutTheNewCA(t *testing.T) {
	inCluster(t, func(o *cluster) {
		var missing error
		o.published = func([]byte) error { return missing }
		k := o.replica()
		time.Sleep(soon)
		first := o.leaf(k)
		missing = errors.New("the configuration x does not have the CA yet")
		o.names = append(o.names, "new.team.svc")
		k.Recheck()
		time.Sleep(time.Hour)
		if !o.leaf(k).Equal(first) || authorities(k.Bundle()) != 2 {
			o.Errorf("served is another one, or the bundle has %d CAs", authorities(k.Bundle()))
		}
		if err := k.RenewalError(); err == nil || !strings.Contains(err.Error(), "configuration x") || k.Ready() != nil {
			o.Errorf("trouble %v, ready %v", err, k.Ready())
		}
		missing = nil
		time.Sleep(10 * propagation)
		if err := errors.Join(k.RenewalError(), o.leaf(k).VerifyHostname("new.team.svc")); err != nil {
			o.Error(err)
		}
	})
}

// secretOf returns a Secret that replaces lockstep's.
func secretOf(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name}, Type: corev1.SecretTypeOpaque, Data: data,
	}
}

// made returns a Secret that a replica of another cluster created.
func made(o *cluster) map[string][]byte {
	o.Helper()
	other := &cluster{T: o.T, apiServer: newServer(), log: o.log, names: []string{host}, published: func([]byte) error { return nil }}
	ctx, stop := context.WithCancel(o.ctx)
	other.ctx = ctx
	other.replica()
	time.Sleep(soon)
	stop()
	secret, _ := other.stored()
	return secret.Data
}

func TestUnusableCertificateIsReplaced(t *testing.T) {
	for sentence, tc := range map[string]struct {
		spoil func(data map[string][]byte)
		later time.Duration
		says  string
	}{
		"garbage instead of a certificate": {spoil: func(d map[string][]byte) { d["cert"] = []byte("garbage") }, says: "read certificate and key"},
		"garbage instead of a key":         {spoil: func(d map[string][]byte) { d["key"] = []byte{0, 1, 2} }, says: "read certificate and key"},
		"garbage instead of a CA":          {spoil: func(d map[string][]byte) { d["ca"] = []byte("garbage") }, says: "read ca"},
		"garbage behind a CA":              {spoil: func(d map[string][]byte) { d["ca"] = append(d["ca"], "garbage"...) }, says: "read ca"},
		"no key":                           {spoil: func(d map[string][]byte) { delete(d, "key") }, says: "is missing"},
		"an empty Secret":                  {spoil: func(d map[string][]byte) { clear(d) }, says: "the bundle contains no certificate"},
		"a certificate that has expired":   {spoil: func(map[string][]byte) {}, later: life + time.Hour, says: "expired"},
	} {
		t.Run(sentence, func(t *testing.T) {
			inCluster(t, func(o *cluster) {
				data := made(o)
				tc.spoil(data)
				time.Sleep(tc.later)
				o.change(func(*corev1.Secret) *corev1.Secret { return secretOf(data) })
				o.lines.Reset()
				k := o.replica()
				time.Sleep(soon)
				o.works(k)
				if !strings.Contains(o.said(), tc.says) {
					o.Errorf("the log does not say %q:\n%s", tc.says, o.said())
				}
			})
		})
	}
}

func TestKeyOfAnotherCertificateIsUnusable(t *testing.T) {
	inCluster(t, func(o *cluster) {
		data := made(o)
		data["key"] = made(o)["key"]
		o.change(func(*corev1.Secret) *corev1.Secret { return secretOf(data) })
		k := o.replica()
		time.Sleep(soon)
		o.works(k)
	})
}

func TestInvalidSecretIsRepairedWithoutAFailedRequest(t *testing.T) {
	for sentence, spoil := range map[string]func(*corev1.Secret) *corev1.Secret{
		"by garbage": func(s *corev1.Secret) *corev1.Secret {
			s.Data["cert"], s.Data["ca"] = []byte("garbage"), nil
			return s
		},
		"by deleting it": func(*corev1.Secret) *corev1.Secret { return nil },
		"by emptying it": func(s *corev1.Secret) *corev1.Secret { s.Data = nil; return s },
	} {
		t.Run(sentence, func(t *testing.T) {
			inCluster(t, func(o *cluster) {
				g := &publisher{o: o}
				o.published = g.published
				replicas := []*certs.Keeper{o.replica(), o.replica()}
				time.Sleep(soon)
				first := o.leaf(replicas[0])
				g.publishFor(2*propagation, replicas...)
				o.change(spoil)
				g.publishFor(10*propagation, replicas...)
				for _, k := range replicas {
					o.works(k)
					if o.leaf(k).Equal(first) {
						o.Error("the discarded certificate is still served")
					}
				}
			})
		})
	}
}

func TestUnwritableSecretErrorSaysWhatToDo(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*corev1.Secret)
		serves bool
		says   string
	}{
		"of another type": {func(s *corev1.Secret) { s.Type, s.Data = corev1.SecretTypeTLS, nil }, false, "its type is kubernetes.io/tls"},
		"immutable":       {func(s *corev1.Secret) { s.Immutable = new(true) }, true, "is immutable"},
	} {
		t.Run(sentence, func(t *testing.T) {
			inCluster(t, func(o *cluster) {
				secret := secretOf(made(o))
				tc.change(secret)
				o.change(func(*corev1.Secret) *corev1.Secret { return secret })
				k := o.replica()
				time.Sleep(soon)
				notified := errors.Join(k.Ready(), k.RenewalError())
				if notified == nil || !strings.Contains(notified.Error(), tc.says) || !strings.Contains(notified.Error(), "delete it") {
					o.Errorf("notified %v", notified)
				}
				if (k.Ready() == nil) != tc.serves {
					o.Errorf("ready: %v", k.Ready())
				}
				if _, writes := o.stored(); writes != 1 {
					o.Errorf("it was written %d times", writes-1)
				}
				o.change(func(*corev1.Secret) *corev1.Secret { return nil })
				time.Sleep(soon)
				o.works(k)
			})
		})
	}
}

func TestMissingPermissionIsReportedUntilItIsGranted(t *testing.T) {
	inCluster(t, func(o *cluster) {
		o.intercept(func(r *http.Request) *http.Response {
			if r.Method != http.MethodPost {
				return nil
			}
			return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		})
		k := o.replica()
		time.Sleep(time.Minute)
		if err := k.Ready(); err == nil || !strings.Contains(err.Error(), "Forbidden") {
			o.Errorf("ready: %v", err)
		}
		if n := strings.Count(o.said(), "level=error"); n != 1 {
			o.Errorf("%d lines about one finding:\n%s", n, o.said())
		}
		o.intercept(nil)
		time.Sleep(soon)
		o.works(k)
	})
}

func TestMissingNamespaceIsReported(t *testing.T) {
	inCluster(t, func(o *cluster) {
		o.intercept(func(r *http.Request) *http.Response {
			if r.Method != http.MethodPost {
				return nil
			}
			return apitest.Refusal(http.StatusNotFound, metav1.StatusReasonNotFound)
		})
		k := o.replica()
		time.Sleep(time.Minute)
		if err := k.Ready(); err == nil || !strings.Contains(err.Error(), "NotFound") {
			o.Errorf("ready: %v", err)
		}
	})
}

func TestCertificatesUseTheTimeOfTheAPIServer(t *testing.T) {
	for sentence, ahead := range map[string]time.Duration{
		"years ahead":  20 * 365 * 24 * time.Hour,
		"years behind": -20 * 365 * 24 * time.Hour,
	} {
		t.Run(sentence, func(t *testing.T) {
			inCluster(t, func(o *cluster) {
				o.ahead = ahead
				k := o.replica()
				time.Sleep(soon)
				o.works(k)
				if !strings.Contains(o.said(), "the clock of this machine differs") {
					o.Errorf("the log does not contain that:\n%s", o.said())
				}
				if _, writes := o.stored(); writes != 1 {
					o.Errorf("%d writes", writes)
				}
			})
		})
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	inCluster(t, func(o *cluster) {
		o.dryRun = true
		k := o.replica()
		time.Sleep(time.Hour)
		if secret, _ := o.stored(); secret != nil || k.Ready() == nil {
			o.Errorf("there is %v, ready: %v", secret, k.Ready())
		}
		data := made(o)
		o.change(func(*corev1.Secret) *corev1.Secret { return secretOf(data) })
		time.Sleep(soon)
		o.works(k)
	})
}

func TestConfirmReadsTheBundleFromTheAPIServer(t *testing.T) {
	inCluster(t, func(o *cluster) {
		k := o.replica()
		time.Sleep(soon)
		other := made(o)
		o.intercept(func(*http.Request) *http.Response {
			o.intercept(nil)
			o.change(func(*corev1.Secret) *corev1.Secret { return secretOf(other) }) // before the watch shows it
			return nil
		})
		got, err := k.Confirm(o.ctx)
		if err != nil || !slices.Equal(got, other["ca"]) {
			o.Errorf("got %q, %v", got, err)
		}
		o.intercept(func(r *http.Request) *http.Response {
			if r.Method != http.MethodPost {
				return nil
			}
			return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden) // so that lockstep does not replace it
		})
		o.change(func(*corev1.Secret) *corev1.Secret { return nil })
		if got, err := k.Confirm(o.ctx); err == nil {
			o.Errorf("without a Secret: %q", got)
		}
	})
}
