package apiserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// expiries lists ways in which the webhooks' certificate expires. Each returns a trial with
// webhooks and two zones, and a function that provides a new certificate.
var expiries = map[string]func(*testing.T) (c *trial, renew func()){
	"in files of one's own":     expiredFiles,
	"in the Secret of lockstep": expiredSecret,
}

// twoZones creates the zones of these tests.
func (c *trial) twoZones() { c.create(zone("zone-a", 3, prepares), zone("zone-b", 2, prepares)) }

func TestARolloutContinuesWhileTheCertificateHasExpired(t *testing.T) {
	t.Parallel()
	for name, expired := range expiries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, renew := expired(t)
			c.changeAll(version(2))
			c.settled()
			c.wantDeletions(c.allPods()...)
			renew()
		})
	}
}

func TestADownscaleIsRefusedUntilTheExpiredCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	for name, expired := range expiries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, renew := expired(t)
			c.refusesAll("zone-a", apierrors.IsInternalError, "prepare-downscale.lockstep.dev", "tls: ")
			if err := c.scaleBarred(scaled, 1); err != nil {
				t.Errorf("a downscale that only the label forbids: %v", err)
			}
			renew()
			c.scalesDownAtLast(scaled, "zone-a")
			c.settled()
			c.removedPrepared("zone-a-2")
		})
	}
}

// expiredFiles serves files with a certificate that expires while the operator runs.
func expiredFiles(t *testing.T) (*trial, func()) {
	t.Helper()
	signer, dir := newSigner(t, time.Now().Add(time.Hour)), t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	provide := func(end time.Time) {
		cert, key := signer.sign(t, end)
		if err := errors.Join(os.WriteFile(keyFile, key, 0o600), os.WriteFile(certFile, cert, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	provide(time.Now().Add(time.Hour))
	c := onTrial(t, withoutElection, "-server-tls.cert-file="+certFile, "-server-tls.key-file="+keyFile)
	op := c.start()
	c.guardedAt(c.service.address, signer.ca)
	c.barsToo(signer.ca)
	c.twoZones()
	provide(time.Now().Add(-time.Minute))
	c.notReady(op.get, "certificate: the certificate in "+certFile+" expired at ")
	address := webhookAddress(t, op)
	c.service.leadTo(address) // a client verifies a certificate when a connection begins
	c.eventually("the API server begins another one", func(present) error {
		if err := c.tryDownscale("zone-a"); err == nil || !strings.Contains(err.Error(), "tls: ") {
			return errors.New(fmt.Sprint("got ", err))
		}
		return nil
	})
	return c, func() {
		provide(time.Now().Add(time.Hour))
		c.eventually("it is ready", func(present) error {
			if code, body := op.get("/ready"); code != http.StatusOK {
				return errors.New(body)
			}
			return nil
		})
		c.service.leadTo(address)
	}
}

// expiredSecret starts an operator after its certificate has expired. The operator cannot write
// another one yet.
func expiredSecret(t *testing.T) (*trial, func()) {
	t.Helper()
	c := onTrial(t, withoutElection, "-webhooks.update-ca-bundle=true")
	c.withWebhooks()
	op := c.start()
	c.isCalled()
	c.barsToo(c.secret().Data["ca"])
	c.injectedFromNowOn()
	c.twoZones()
	op.Kill()
	c.expire()
	c.proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind == faultproxy.Write && r.Resource == "secrets" {
			return faultproxy.Answered(http.StatusInternalServerError)
		}
		return faultproxy.Fault{}
	})
	b := c.begins()
	c.notReady(b.get, "certificate: ")
	return c, func() {
		c.proxy.Play(nil)
		b.ready()
		c.wantOneCA([]*operator{b.op})
	}
}

// injectedFromNowOn labels the scene's webhook configurations, so that the operator injects the CA.
func (c *trial) injectedFromNowOn() {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": c.injected().Labels}})
	if err != nil {
		c.t.Fatal(err)
	}
	hooks, ctx := c.world.admin.AdmissionregistrationV1(), c.t.Context()
	_, mutating := hooks.MutatingWebhookConfigurations().Patch(ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	_, validating := hooks.ValidatingWebhookConfigurations().Patch(ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err := errors.Join(mutating, validating); err != nil {
		c.t.Fatal(err)
	}
}

// expire replaces the certificate in the Secret with an expired one.
func (c *trial) expire() {
	c.t.Helper()
	end := time.Now().Add(-time.Minute)
	signer := newSigner(c.t, end)
	secret := c.secret()
	cert, key := signer.sign(c.t, end)
	secret.Data = map[string][]byte{"ca": signer.ca, "cert": cert, "key": key}
	if _, err := c.world.admin.CoreV1().Secrets(c.name).Update(c.t.Context(), secret, updateOptions); err != nil {
		c.t.Fatal(err)
	}
}

// signer is a CA.
type signer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	ca          []byte // in PEM format
}

func newSigner(t *testing.T, end time.Time) *signer {
	t.Helper()
	s := &signer{key: newKey(t)}
	s.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA of somebody's own"},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, s.certificate, s.certificate, s.key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return s
}

// sign creates a certificate for this machine, valid until end, and its key.
func (s *signer) sign(t *testing.T, end time.Time) (cert, key []byte) {
	t.Helper()
	own := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "lockstep"},
		NotBefore: end.Add(-2 * time.Hour), NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, s.certificate, own.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
