package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// readEvery is the interval at which files are read. A mounted Secret changes within a minute.
const readEvery = 5 * time.Second

// FileOptions name the files to serve. The functions can be nil; the default of Now is time.Now.
type FileOptions struct {
	Cert, Key string // paths
	CA        string // path of the CA bundle for clients; if empty, the user publishes the bundle
	Log       logrus.FieldLogger
	Now       func() time.Time // the time of the API server, which verifies the certificate
	Changed   func()           // called after the bundle has changed
	Expires   func(time.Time)  // called with the expiry of each certificate that is served
}

// Files serves a certificate from files and reloads the files when their content changes.
// All methods are safe for concurrent use.
type Files struct {
	options FileOptions

	mu      sync.Mutex
	content Record
	served  *tls.Certificate
	lastErr error
}

// NewFiles returns Files that serve the current content of the files.
func NewFiles(o FileOptions) (*Files, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Expires == nil {
		o.Expires = func(time.Time) {}
	}
	f := &Files{options: o}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Watch does nothing, because Run reads the files.
func (f *Files) Watch(context.Context) {}

// Run reloads the files until ctx ends. If the new content cannot be served, Files keeps
// the previous certificate.
func (f *Files) Run(ctx context.Context) {
	again := time.NewTicker(readEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		err := f.load()
		f.mu.Lock()
		before := f.lastErr
		f.lastErr = err
		f.mu.Unlock()
		if err != nil && (before == nil || before.Error() != err.Error()) {
			f.options.Log.WithError(err).Error("webhook certificate files are unusable; the previous certificate is still served")
		}
	}
}

// GetCertificate implements tls.Config.GetCertificate.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served, nil
}

// Bundle returns the CA bundle for clients, or nil if the user publishes it.
func (f *Files) Bundle() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.content.CA
}

// Confirm returns the bundle.
func (f *Files) Confirm(context.Context) ([]byte, error) { return f.Bundle(), nil }

// Recheck does nothing, because the user decides for which names the certificate is valid.
func (f *Files) Recheck() {}

// Ready returns an error if clients reject the served certificate.
func (f *Files) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.served.Leaf.NotAfter; !f.options.Now().Before(end) {
		return errors.Join(fmt.Errorf("the certificate in %s expired at %s", f.options.Cert, end.Format(time.RFC3339)), f.lastErr)
	}
	return nil
}

// RenewalError returns the error of the last reload, or nil.
func (f *Files) RenewalError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lastErr
}

// load serves the current content of the files. If it returns an error, nothing has changed.
func (f *Files) load() error {
	content, err := f.read()
	if err != nil {
		return err
	}
	served, err := content.Serving.parse()
	if err != nil {
		return fmt.Errorf("%s and %s: %w", f.options.Cert, f.options.Key, err)
	}
	if f.options.CA != "" {
		authorities, err := parseBundle(content.CA)
		if err != nil {
			return fmt.Errorf("%s: %w", f.options.CA, err)
		}
		if err := signedBy(content.Serving, served.Leaf, authorities, f.options.Now()); err != nil {
			return fmt.Errorf("%s does not go with %s: %w", f.options.Cert, f.options.CA, err)
		}
	}
	f.serve(content, served)
	return nil
}

// signedBy returns an error if a client that trusts the authorities rejects the pair at
// every time. Expiry is no such error: Ready reports it.
func signedBy(p Pair, leaf *x509.Certificate, authorities []*x509.Certificate, now time.Time) error {
	var err error
	for _, at := range []time.Time{leaf.NotBefore, leaf.NotAfter, now} {
		if _, err = p.accepted(authorities, at); err == nil {
			return nil
		}
	}
	return err
}

func (f *Files) read() (Record, error) {
	var r Record
	for _, one := range []struct {
		into *[]byte
		path string
	}{{&r.Serving.Cert, f.options.Cert}, {&r.Serving.Key, f.options.Key}, {&r.CA, f.options.CA}} {
		if one.path == "" {
			continue
		}
		text, err := os.ReadFile(one.path)
		if err != nil {
			return Record{}, fmt.Errorf("read webhook certificate: %w", err)
		}
		*one.into = text
	}
	return r, nil
}

func (f *Files) serve(content Record, served *tls.Certificate) {
	f.mu.Lock()
	before, had := f.content, f.served != nil
	f.content, f.served = content, served
	f.mu.Unlock()
	if !bytes.Equal(before.Serving.Cert, content.Serving.Cert) {
		f.options.Expires(served.Leaf.NotAfter)
		f.options.Log.WithField("expires", served.Leaf.NotAfter.Format(time.RFC3339)).Info("webhook certificate is served")
	}
	if had && !bytes.Equal(before.CA, content.CA) {
		f.options.Changed()
	}
}
