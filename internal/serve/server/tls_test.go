package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/lockstep-dev/lockstep/internal/serve/server"
)

// certificate returns a self-signed certificate for this machine.
func certificate(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// webhook is a TLS server and the certificate that it serves.
type webhook struct {
	url     string
	address string
	served  atomic.Pointer[tls.Certificate] // nil: none yet
	stop    context.CancelFunc
	leaving chan struct{} // closed when the server asks clients to close their connections
	ended   chan error
}

// Levels and Fire make webhook a hook of its log.
func (w *webhook) Levels() []logrus.Level { return logrus.AllLevels }
func (w *webhook) Fire(e *logrus.Entry) error {
	if e.Message == "asking clients to close their connections" {
		close(w.leaving)
	}
	return nil
}

// enough is a request limit that a slow machine can keep.
const enough = time.Minute

func serveTLS(t *testing.T, limit time.Duration, h http.HandlerFunc) *webhook {
	t.Helper()
	return serveTLSFor(t, time.Minute, limit, h)
}

func serveTLSFor(t *testing.T, drainClients, limit time.Duration, h http.HandlerFunc) *webhook {
	t.Helper()
	w := &webhook{ended: make(chan error, 1), leaving: make(chan struct{})}
	log := silent()
	log.AddHook(w)
	s, err := server.ListenTLS(t.Context(), server.TLSOptions{
		Host: "127.0.0.1", Handler: h, Limit: limit, DrainClients: drainClients, Log: log,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := w.served.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("none yet")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(t.Context())
	w.address, w.url = s.Address(), "https://"+s.Address()
	go func() { w.ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		w.stop()
		if err := <-w.ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return w
}

// trusting returns the TLS configuration of a client that trusts one certificate.
func trusting(c *tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(c.Leaf)
	return &tls.Config{RootCAs: roots}
}

// call sends a POST on a new connection.
func (w *webhook) call(ctx context.Context, trusted *tls.Certificate, most uint16, body io.Reader) (string, error) {
	config := trusting(trusted)
	config.MaxVersion = most
	return w.post(ctx, &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}, body)
}

func (w *webhook) post(ctx context.Context, transport *http.Transport, body io.Reader) (string, error) {
	client := &http.Client{Transport: transport}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, body)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

func TestNewCertificateIsServedToTheNextConnection(t *testing.T) {
	w := serveTLS(t, enough, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") })
	first, second := certificate(t), certificate(t)
	if _, err := w.call(t.Context(), first, tls.VersionTLS13, nil); err == nil {
		t.Error("a connection without any certificate")
	}
	w.served.Store(first)
	if got, err := w.call(t.Context(), first, tls.VersionTLS13, nil); err != nil || got != "yes" {
		t.Errorf("got %q, %v", got, err)
	}
	w.served.Store(second)
	if _, err := w.call(t.Context(), first, tls.VersionTLS13, nil); err == nil {
		t.Error("the first one is still served")
	}
	if got, err := w.call(t.Context(), second, tls.VersionTLS13, nil); err != nil || got != "yes" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTLSVersionIsAtLeast12(t *testing.T) {
	w := serveTLS(t, enough, func(http.ResponseWriter, *http.Request) {})
	w.served.Store(certificate(t))
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		if _, err := w.call(t.Context(), w.served.Load(), version, nil); (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestHandlerContextEndsShortlyBeforeTheRequestLimit(t *testing.T) {
	left := make(chan time.Duration, 1)
	w := serveTLS(t, 10*time.Minute, func(_ http.ResponseWriter, r *http.Request) {
		until, _ := r.Context().Deadline()
		left <- time.Until(until)
	})
	w.served.Store(certificate(t))
	if _, err := w.call(t.Context(), w.served.Load(), tls.VersionTLS13, nil); err != nil {
		t.Fatal(err)
	}
	if got := <-left; got > 9*time.Minute || got < 8*time.Minute {
		t.Errorf("it has %v of 10 minutes", got)
	}
}

func TestReviewSizeIsLimited(t *testing.T) {
	w := serveTLS(t, enough, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, " ", err)
	})
	w.served.Store(certificate(t))
	for size, want := range map[int]string{6 << 20: "6291456 <nil>", 8 << 20: "7340032 http: request body too large"} {
		got, err := w.call(t.Context(), w.served.Load(), tls.VersionTLS13, bytes.NewReader(make([]byte, size)))
		if err != nil || got != want {
			t.Errorf("%d bytes: got %q, %v; want %q", size, got, err, want)
		}
	}
}

func TestShutdownAnswersReviewsInProgress(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	w := serveTLS(t, enough, func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-release
		fmt.Fprint(w, "whole")
	})
	w.served.Store(certificate(t))
	answered := make(chan string, 1)
	go func() {
		got, err := w.call(t.Context(), w.served.Load(), tls.VersionTLS13, nil)
		answered <- fmt.Sprint(got, err)
	}()
	<-inside
	w.stop()
	close(release)
	if got := <-answered; got != "whole<nil>" {
		t.Errorf("got %q, want the complete answer", got)
	}
}

func TestShutdownAsksClientsToCloseConnections(t *testing.T) {
	for version, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(version, func(t *testing.T) {
			w := serveTLS(t, time.Minute, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
			w.served.Store(certificate(t))
			client := &http.Transport{TLSClientConfig: trusting(w.served.Load()), ForceAttemptHTTP2: http2, IdleConnTimeout: time.Minute}
			defer client.CloseIdleConnections()
			dialled := 0
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
				if !c.Reused {
					dialled++
				}
			}})
			for _, leaving := range []bool{false, true} {
				if leaving {
					w.stop()
					<-w.leaving
				}
				if got, err := w.post(ctx, client, nil); err != nil || !strings.HasPrefix(got, version) {
					t.Fatalf("leaving %t: got %q, %v", leaving, got, err)
				}
			}
			if dialled != 1 {
				t.Errorf("%d connections, want the same for both", dialled)
			}
			if err := <-w.ended; err != nil { // a minute before the limit: no connection is open
				t.Errorf("serve: %v", err)
			}
			w.ended <- nil
			if got, err := w.post(ctx, client, nil); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("after the end: got %q, %v", got, err)
			}
		})
	}
}

func TestShutdownDoesNotWaitForClientsThatKeepConnections(t *testing.T) {
	w := serveTLSFor(t, 50*time.Millisecond, time.Minute, func(http.ResponseWriter, *http.Request) {})
	w.served.Store(certificate(t))
	client := &http.Transport{TLSClientConfig: trusting(w.served.Load()), IdleConnTimeout: time.Minute}
	defer client.CloseIdleConnections()
	if _, err := w.post(t.Context(), client, nil); err != nil {
		t.Fatal(err)
	}
	w.stop()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	w.ended <- nil
}

func TestListenTLSFailsIfThePortIsInUse(t *testing.T) {
	w := serveTLS(t, time.Second, nil)
	_, text, _ := net.SplitHostPort(w.address)
	var port int
	if _, err := fmt.Sscan(text, &port); err != nil {
		t.Fatal(err)
	}
	_, err := server.ListenTLS(t.Context(), server.TLSOptions{Host: "127.0.0.1", Port: port, Log: silent(), Limit: time.Second})
	if err == nil || !strings.HasPrefix(err.Error(), "listen on "+w.address+": ") {
		t.Errorf("got %v", err)
	}
}
