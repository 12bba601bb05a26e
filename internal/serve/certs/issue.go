package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Order contains the properties of a certificate to be issued.
type Order struct {
	Names        []string // DNS names and IP addresses, at least one
	Organisation string
	Life         time.Duration
}

// issued is a new certificate and the CA that verifies it.
type issued struct {
	Pair
	ca []byte
}

// maxBackdated is the maximum time by which NotBefore precedes the time of issue. It
// allows for API servers whose clocks are slow.
const maxBackdated = time.Hour

// issue returns a new certificate and its new CA. The key of the CA is not kept.
func issue(o Order, now time.Time) (issued, error) {
	from, to := now.Add(-min(maxBackdated, o.Life/10)), now.Add(o.Life)
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issued{}, fmt.Errorf("make key of CA: %w", err)
	}
	ca, err := sign(&x509.Certificate{
		Subject:   pkix.Name{Organization: organisation(o), CommonName: "lockstep webhook CA " + rand.Text()[:8]},
		NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}, nil, caKey.Public(), caKey)
	if err != nil {
		return issued{}, fmt.Errorf("make CA: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return issued{}, fmt.Errorf("make key: %w", err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{Organization: organisation(o), CommonName: "lockstep"},
		NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	addNames(template, o.Names)
	leaf, err := sign(template, ca, key.Public(), caKey)
	if err != nil {
		return issued{}, fmt.Errorf("make certificate for %q: %w", o.Names, err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return issued{}, fmt.Errorf("encode key: %w", err)
	}
	return issued{
		ca:   encodePEM("CERTIFICATE", ca.Raw),
		Pair: Pair{Cert: encodePEM("CERTIFICATE", leaf.Raw), Key: encodePEM("PRIVATE KEY", secret)},
	}, nil
}

// sign returns a signed certificate. If parent is nil, the certificate is self-signed.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) (*x509.Certificate, error) {
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func organisation(o Order) []string {
	if o.Organisation == "" {
		return nil
	}
	return []string{o.Organisation}
}

func addNames(c *x509.Certificate, names []string) {
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil {
			c.IPAddresses = append(c.IPAddresses, ip.AsSlice())
			continue
		}
		c.DNSNames = append(c.DNSNames, name)
	}
}

// missingNames returns the names that c is not valid for.
func missingNames(c *x509.Certificate, names []string) []string {
	var missing []string
	for _, name := range names {
		if !slices.Contains(c.DNSNames, name) && c.VerifyHostname(name) != nil {
			missing = append(missing, name)
		}
	}
	return missing
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
