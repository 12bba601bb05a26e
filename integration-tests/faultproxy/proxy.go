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
	authority   []byte // the certificate, PEM
	address     string

	mu     sync.Mutex
	target *url.URL
	caches *url.URL     // where what a cache may answer goes
	server *http.Server // nil while away
	script Script
	late   map[string]time.Duration // by resource
	counts Counts
	writes []Request
	gaps   gaps
	agent  string // what is added to who clients say they are
}

// Counts are how many requests of each kind, watches of each resource, of these such as
// tell late, and faults of each name there were. A fault counts when it has its effect,
// not when the script chooses it.
type Counts struct {
	Requests map[Kind]int
	Watches  map[string]int
	Late     map[string]int
	Faults   map[string]int
}

// requestTimeout bounds a request to the API server whose client may be gone.
const requestTimeout = 30 * time.Second

// Start starts a proxy before an API server at target; authority is the certificate
// (PEM) to know it by, nil for one without TLS. The caller calls Close.
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
		ErrorLog:       silence, // of a killed operator's connections
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

// URL is where the proxy listens.
func (p *Proxy) URL() string { return "https://" + p.address }

// Authority is the certificate (PEM) that clients know the proxy by.
func (p *Proxy) Authority() []byte { return p.authority }

// CacheAt lets another API server, which has the same certificate, answer from now on
// what one may answer from its cache: watches, and lists that are content with any
// version. Watches that have begun stay where they are; Leave and Return cut them.
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

// Sign adds a name to who clients say they are (User-Agent), for what comes from now on,
// so that audit logs tell the clients of one proxy from those of another, and those before
// from those after, however late their requests arrive.
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

// Play lets a script choose faults from now on; nil ends that.
func (p *Proxy) Play(script Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = script
}

// DelayWatches hands on late what watches of a resource tell, as far as they begin
// from now on.
func (p *Proxy) DelayWatches(resource string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late[resource] = d
}

// Counts returns what was counted so far.
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
		_ = server.Close() // an error is one of a connection
	}
}

// Return listens again, at the same address.
func (p *Proxy) Return() error {
	const patience = 10 * time.Second // somebody else may have taken the port for a moment
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

// connection is the key of a request's connection in its context, and played that of the
// fault that a watch meets.
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
	go func() { _ = server.ServeTLS(listener, "", "") }() // it ends with an error, always
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
	case fault.tellsToComeAgain():
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

// passOn is for requests with one answer.
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

// choose numbers a request and asks the script for its fault.
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

// happens counts a fault, if it is one, at its effect.
func (p *Proxy) happens(fault Fault) {
	if fault.name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Faults[fault.name]++
}

// hold waits. A write arrives whether or not its client is still there; for all else it
// returns false when the client is gone meanwhile.
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

// cut closes the connection that a request came on and ends its handler.
func cut(r *http.Request) {
	if c, ok := r.Context().Value(connection{}).(net.Conn); ok {
		_ = c.Close()
	}
	panic(http.ErrAbortHandler)
}

// answer is a whole answer of the API server.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// pass sends a request to the API server and waits for the answer, whether or not
// the client still does.
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
	_, _ = w.Write(a.body) // the client may be gone
}
