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

// Order is what a certificate is made by.
type Order struct {
	Names        []string // DNS names and IP addresses, at least one
	Organisation string
	Life         time.Duration
}

// issued is a certificate that was made, and the CA that verifies it.
type issued struct {
	Pair
	ca []byte
}

// mostBackdated is how far before its making a certificate is valid, at most:
// API servers' clocks differ.
const mostBackdated = time.Hour

// issue makes a CA and a certificate. The key of the CA is gone when it returns.
func issue(o Order, now time.Time) (issued, error) {
	from, to := now.Add(-min(mostBackdated, o.Life/10)), now.Add(o.Life)
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

// sign makes a certificate; without a parent it signs itself.
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

// lacks returns the names that a certificate is not valid for.
func lacks(c *x509.Certificate, names []string) []string {
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
