package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// findings are the certificates of a record that clients accept.
type findings struct {
	authorities []*x509.Certificate
	serving     *tls.Certificate // nil if clients would reject it
	next        *tls.Certificate // nil if clients would reject it
	servingErr  error            // why serving is nil
	nextErr     error            // why next is nil
}

// inspect verifies the certificates of a record as a client does at the time now.
func inspect(r Record, now time.Time) findings {
	authorities, err := parseBundle(r.CA)
	if err != nil {
		err = fmt.Errorf("read %s: %w", keyCA, err)
		return findings{servingErr: err, nextErr: err}
	}
	f := findings{authorities: authorities}
	f.serving, f.servingErr = r.Serving.accepted(authorities, now)
	f.next, f.nextErr = r.Next.accepted(authorities, now)
	return f
}

// accepted returns the pair as a tls.Certificate if a client that trusts the authorities
// accepts it at the time now.
func (p Pair) accepted(authorities []*x509.Certificate, now time.Time) (*tls.Certificate, error) {
	served, err := p.parse()
	if err != nil {
		return nil, err
	}
	_, err = served.Leaf.Verify(x509.VerifyOptions{
		Roots: pool(authorities), Intermediates: intermediates(served), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return nil, fmt.Errorf("verify certificate: %w", err)
	}
	return served, nil
}

// parse returns the pair as a tls.Certificate. It does not verify the certificate.
func (p Pair) parse() (*tls.Certificate, error) {
	if len(p.Cert) == 0 || len(p.Key) == 0 {
		return nil, errors.New("certificate or key is missing")
	}
	served, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate and key: %w", err)
	}
	return &served, nil
}

// parseBundle returns the certificates of a PEM bundle. Anything else in the bundle is
// an error, because the API server rejects such a bundle.
func parseBundle(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("the bundle is not PEM")
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("the bundle contains a %s; only CERTIFICATE is accepted", block.Type)
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all, text = append(all, one), rest
	}
	if len(all) == 0 {
		return nil, errors.New("the bundle contains no certificate")
	}
	return all, nil
}

// signerOf returns, as PEM, the first authority that verifies the pair without the others.
func signerOf(p Pair, authorities []*x509.Certificate, now time.Time) []byte {
	for _, ca := range authorities {
		if _, err := p.accepted([]*x509.Certificate{ca}, now); err == nil {
			return encodePEM("CERTIFICATE", ca.Raw)
		}
	}
	return nil
}

func pool(certificates []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certificates {
		p.AddCert(c)
	}
	return p
}

// intermediates returns the certificates that are served after the leaf.
func intermediates(served *tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, der := range served.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			p.AddCert(c)
		}
	}
	return p
}
