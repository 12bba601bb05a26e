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

// readEvery is how often files are read: a mounted Secret changes within a minute.
const readEvery = 5 * time.Second

// FileOptions say which files are served. The functions may be nil, Now is time.Now then.
type FileOptions struct {
	Cert, Key string // paths
	CA        string // path of what clients should trust; empty: somebody else sees to that
	Log       logrus.FieldLogger
	Now       func() time.Time // the API server's, whose clients judge the certificate
	Changed   func()           // the bundle is another one
	Expires   func(time.Time)  // another certificate is served, and until when
}

// Files serves a certificate from files and follows their content. All methods
// may be called from any goroutine.
type Files struct {
	options FileOptions

	mu      sync.Mutex
	content Record
	served  *tls.Certificate
	trouble error
}

// NewFiles reads the files.
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

// Watch does nothing: files are read by Run.
func (f *Files) Watch(context.Context) {}

// Run follows the files until ctx ends. What cannot be served keeps what is
// served in place.
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
		before := f.trouble
		f.trouble = err
		f.mu.Unlock()
		if err != nil && (before == nil || before.Error() != err.Error()) {
			f.options.Log.WithError(err).Error("webhook certificate files are unusable; the previous certificate is still served")
		}
	}
}

// GetCertificate is for tls.Config.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served, nil
}

// Bundle returns what clients should trust; nil: somebody else sees to that.
func (f *Files) Bundle() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.content.CA
}

// Confirm returns the bundle.
func (f *Files) Confirm(context.Context) ([]byte, error) { return f.Bundle(), nil }

// Look does nothing: what the files are valid for is for their owner to say.
func (f *Files) Look() {}

// Ready says why no client would accept what is served, or nil.
func (f *Files) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.served.Leaf.NotAfter; !f.options.Now().Before(end) {
		return errors.Join(fmt.Errorf("the certificate in %s expired at %s", f.options.Cert, end.Format(time.RFC3339)), f.trouble)
	}
	return nil
}

// Trouble says why the files are not served as they are now, or nil.
func (f *Files) Trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble
}

// load serves the files as they are now, or leaves all as it was.
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

// signedBy says why no client that trusts the authorities accepts the pair at any
// time. That it has expired is another matter, which Ready tells.
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
