package faultproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Proxy is a running proxy. Its methods may be called at any time.
type Proxy struct {
	transport   *http.Transport
	watching    *httputil.ReverseProxy
	certificate tls.Certificate
	authority   []byte // the certificate in PEM format
	address     string

	mu     sync.Mutex
	target *url.URL
	caches *url.URL     // receives the requests that a cache may answer
	server *http.Server // nil while away
	script Script
	late   map[string]time.Duration // by resource
	counts Counts
	writes []Request
	gaps   gaps
	agent  string // added to the User-Agent of clients
}

// Counts has the number of requests of each kind, of watches of each resource, of late watches of
// each resource, and of faults of each name. A fault counts when it takes effect, not when the
// script chooses it.
type Counts struct {
	Requests map[Kind]int
	Watches  map[string]int
	Late     map[string]int
	Faults   map[string]int
}

// requestTimeout limits a request to the API server, because its client may have disconnected.
const requestTimeout = 30 * time.Second

// Start starts a proxy for an API server at target. authority is its CA certificate in PEM format,
// or nil for an API server without TLS. The caller must call Close.
func Start(target string, authority []byte) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(authority)
	p := &Proxy{
		target: to, caches: to,
		transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 50,
		},
		late:   map[string]time.Duration{},
		gaps:   newGaps(),
		counts: Counts{Requests: map[Kind]int{}, Watches: map[string]int{}, Late: map[string]int{}, Faults: map[string]int{}},
	}
	p.watching = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(p.targetOf(r.In)); sign(r.Out.Header, p.signature()) },
		Transport:      p.transport,
		FlushInterval:  -1,
		ModifyResponse: p.alter,
		ErrorLog:       silence, // it would log the errors of a killed operator's connections
	}
	if p.certificate, p.authority, err = newCertificate(); err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	p.address = listener.Addr().String()
	p.serve(listener)
	return p, nil
}

var silence = log.New(io.Discard, "", 0)

// URL returns the address of the proxy.
func (p *Proxy) URL() string { return "https://" + p.address }

// Authority returns the certificate (PEM) with which clients verify the proxy.
func (p *Proxy) Authority() []byte { return p.authority }

// CacheAt makes another API server with the same certificate answer requests that a cache may
// answer from now on: watches, and lists that accept any version. Existing watches are not changed;
// Leave and Return cut them.
func (p *Proxy) CacheAt(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("lead to another API server: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caches = to
	return nil
}

func (p *Proxy) targetOf(r *http.Request) *url.URL {
	asked := r.URL.Query()
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked.Has("watch") || asked.Get("resourceVersion") == "0" {
		return p.caches
	}
	return p.target
}

// Sign adds a name to the User-Agent of clients from now on. In audit logs, it distinguishes the
// clients of different proxies, and the clients before and after the call, however late their
// requests arrive.
func (p *Proxy) Sign(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agent = name
}

func (p *Proxy) signature() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agent
}

func sign(header http.Header, agent string) {
	if agent != "" {
		header.Set("User-Agent", header.Get("User-Agent")+" ("+agent+")")
	}
}

// Play sets the script that chooses faults from now on; nil removes it.
func (p *Proxy) Play(script Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = script
}

// DelayWatches delays the events of watches of a resource that begin from now on.
func (p *Proxy) DelayWatches(resource string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late[resource] = d
}

// Counts returns the counts so far.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Counts{
		Requests: maps.Clone(p.counts.Requests), Watches: maps.Clone(p.counts.Watches),
		Late: maps.Clone(p.counts.Late), Faults: maps.Clone(p.counts.Faults),
	}
}

// Writes returns the counted writes so far, in order.
func (p *Proxy) Writes() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.writes...)
}

// Leave cuts all connections and refuses new ones until Return is called.
func (p *Proxy) Leave() {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server != nil {
		_ = server.Close() // it fails only if a connection could not be closed
	}
}

// Return listens again, at the same address.
func (p *Proxy) Return() error {
	const patience = 10 * time.Second // another program may use the port for a moment
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		listener, err := net.Listen("tcp", p.address)
		if err == nil {
			p.serve(listener)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("listen again: %w", err)
		}
	}
}

// Close ends the proxy.
func (p *Proxy) Close() {
	p.Leave()
	p.transport.CloseIdleConnections()
}

// Keys in the context of a request: connection for its connection, played for the fault of a watch.
type (
	connection struct{}
	played     struct{}
)

func (p *Proxy) serve(listener net.Listener) {
	server := &http.Server{
		Handler:   p,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{p.certificate}},
		ErrorLog:  silence,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, c)
		},
	}
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	go func() { _ = server.ServeTLS(listener, "", "") }() // it always ends with an error
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut(r)
	}
	request, fault := p.choose(read(r, body))
	came := time.Now()
	first := p.sentFirst(request)
	if fault.amid != nil {
		fault.amid()
	}
	if !p.hold(r.Context(), request, fault.hold) {
		cut(r)
	}
	switch {
	case fault.tellsToComeAgain() && !request.writes():
		p.sendsAgain(request, first)
	case fault.times > 0 && (fault.hold > 0 || first.Before(came)):
		p.arrives(request, first)
	}
	switch {
	case fault.before != nil:
		p.happens(fault)
		fault.before()
		cut(r)
	case fault.code != 0:
		p.happens(fault)
		refuse(w, request, fault.code)
	case request.Kind == Watch && fault.cut:
		p.happens(fault)
		cut(r)
	case request.Kind == Watch:
		p.watching.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), played{}, fault)))
	default:
		p.passOn(w, r, body, request.Agent, fault)
	}
}

// passOn forwards a request with one answer.
func (p *Proxy) passOn(w http.ResponseWriter, r *http.Request, body []byte, agent string, fault Fault) {
	var got *answer
	for range fault.times {
		var err error
		if got, err = p.pass(r, body, agent); err != nil {
			cut(r)
		}
	}
	p.happens(fault)
	if fault.after != nil {
		fault.after()
	}
	if fault.cut {
		cut(r)
	}
	got.hand(w)
}

// choose numbers a request and gets its fault from the script.
func (p *Proxy) choose(request Request) (Request, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Requests[request.Kind]++
	request.Number, request.Agent = p.counts.Requests[request.Kind], p.agent
	switch request.Kind {
	case Watch:
		p.counts.Watches[request.Resource]++
	case Write:
		p.writes = append(p.writes, request)
	case Read, Event, Leader:
	}
	if p.script != nil {
		if fault := p.script(request); fault.name != "" {
			return request, fault
		}
	}
	return request, Fault{times: 1}
}

// happens counts a fault when it takes effect.
func (p *Proxy) happens(fault Fault) {
	if fault.name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Faults[fault.name]++
}

// hold waits. A write continues even if its client has disconnected. For any other request, hold
// returns false if the client disconnects.
func (p *Proxy) hold(ctx context.Context, request Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	defer p.holds()()
	if request.writes() {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// cut closes the connection of a request and ends its handler.
func cut(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(net.Conn); ok {
		_ = c.Close()
	}
	panic(http.ErrAbortHandler)
}

// answer is a complete answer of the API server.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// pass sends a request to the API server and waits for the answer, even if the client has
// disconnected.
func (p *Proxy) pass(r *http.Request, body []byte, agent string) (*answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTimeout)
	defer cancel()
	out := r.Clone(ctx)
	target := p.targetOf(r)
	out.URL.Scheme, out.URL.Host = target.Scheme, target.Host
	out.Host, out.RequestURI = "", ""
	sign(out.Header, agent)
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	response, err := p.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, response.Header, content}, nil
}

func (a *answer) hand(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	for _, ofConnection := range []string{"Connection", "Keep-Alive", "Transfer-Encoding"} {
		w.Header().Del(ofConnection)
	}
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body) // the client may have disconnected
}
