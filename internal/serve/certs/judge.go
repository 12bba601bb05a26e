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

// findings are what a record turns out to hold.
type findings struct {
	authorities []*x509.Certificate
	serving     *tls.Certificate // nil: nothing that a client would accept
	next        *tls.Certificate // the same
	wrong       error            // why serving is nil
	nextWrong   error            // why next is nil
}

// judge looks at a record as a client will at that time.
func judge(r Record, now time.Time) findings {
	authorities, err := parseBundle(r.CA)
	if err != nil {
		err = fmt.Errorf("read %s: %w", keyCA, err)
		return findings{wrong: err, nextWrong: err}
	}
	f := findings{authorities: authorities}
	f.serving, f.wrong = r.Serving.accepted(authorities, now)
	f.next, f.nextWrong = r.Next.accepted(authorities, now)
	return f
}

// accepted returns the pair ready to be served, if a client that trusts the
// authorities accepts it at that time.
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

// parse returns the pair ready to be served, whether or not anybody accepts it.
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

// parseBundle reads certificates as PEM, one after the other and nothing else:
// the API server takes no bundle with anything else in it.
func parseBundle(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("this is not PEM")
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("this is a %s, not a certificate", block.Type)
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all, text = append(all, one), rest
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate")
	}
	return all, nil
}

// signerOf returns, as PEM, the first of the authorities by which alone the pair
// is accepted.
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

// intermediates are what is served behind the leaf.
func intermediates(served *tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, der := range served.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			p.AddCert(c)
		}
	}
	return p
}
