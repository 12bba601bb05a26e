package apiserver_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
)

// balancer forwards requests to operators, like a Service whose clients open a new connection for
// each request. It calls the operators in turn and skips an operator that cannot be reached.
type balancer struct {
	*httptest.Server
	operators *http.Client

	mu    sync.Mutex
	to    []string
	next  int
	calls map[string]int // answered calls, by path
}

// newBalancer returns a balancer that verifies operators by a CA.
func newBalancer(t *testing.T, ca []byte) *balancer {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	b := &balancer{calls: map[string]int{}, operators: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 50,
	}}}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(b.pass))
	b.EnableHTTP2 = true
	b.StartTLS()
	t.Cleanup(b.Close)
	return b
}

// ca returns the CA by which the API server verifies the balancer.
func (b *balancer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
}

// leadsTo replaces the addresses of the operators.
func (b *balancer) leadsTo(addresses ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = addresses
}

// inTurn returns the addresses of all operators, beginning with the next one.
func (b *balancer) inTurn() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for i := range b.to {
		all = append(all, b.to[(b.next+i)%len(b.to)])
	}
	b.next++
	return all
}

// answered returns how many calls of each path were answered so far.
func (b *balancer) answered() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.calls)
}

func (b *balancer) pass(w http.ResponseWriter, r *http.Request) {
	review, err := io.ReadAll(r.Body)
	if err != nil {
		return // the API server has closed the connection
	}
	err = errors.New("no operator can be reached")
	for _, address := range b.inTurn() {
		var answer *http.Response
		answer, err = b.send(r, address, review)
		if err == nil {
			b.count(r.URL.Path)
			copyAnswer(w, answer)
			return
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			break // the operator may have begun to process it
		}
	}
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func (b *balancer) count(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[path]++
}

func (b *balancer) send(r *http.Request, address string, review []byte) (*http.Response, error) {
	url := "https://" + address + r.URL.RequestURI()
	request, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(review))
	if err != nil {
		return nil, err
	}
	request.Header = r.Header.Clone()
	return b.operators.Do(request)
}

func copyAnswer(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // the API server or the operator may have closed the connection
}
